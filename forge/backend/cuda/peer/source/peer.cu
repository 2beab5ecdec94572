/* Small tensors between devices, in one shot: each writes its elements into a mailbox of
   every other, and waits for theirs in its own. An element goes with the number of the
   turn in one word of eight bytes, so that who sees the number has the element, too. */
typedef unsigned long long mail;

INLINE void mail_put(mail *to, unsigned turn, const float *x, int width) {
  const mail mark = (mail)turn << 32;
  if (width == 1)
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(mark | __float_as_uint(x[0])) : "memory");
  else
    for (int i = 0; i < width; i += 2)
      asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to + i), "l"(mark | __float_as_uint(x[i])), "l"(mark | __float_as_uint(x[i + 1])) : "memory");
}

/* Whether the elements of a turn are there. */
INLINE bool mail_look(const mail *from, unsigned turn, float *x, int width) {
  mail a, b;
  bool all = true;
  if (width == 1) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(a) : "l"(from) : "memory");
    x[0] = __uint_as_float((unsigned)a);
    return a >> 32 == turn;
  }
  for (int i = 0; i < width; i += 2) {
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(from + i) : "memory");
    x[i] = __uint_as_float((unsigned)a), x[i + 1] = __uint_as_float((unsigned)b);
    all = all && a >> 32 == turn && b >> 32 == turn;
  }
  return all;
}

/* Whether the host has given the group up. */
INLINE bool mail_ended(const unsigned *word) {
  unsigned x;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(word) : "memory");
  return x != 0;
}

/* The mailboxes of all ranks have the same form: for even and for odd turns, from each
   rank, and in these a part for each block. A device writes for a turn when it has the
   elements of the turn before from all others, which have then read those of the turn
   before that. */
template <int ranks> struct mailboxes {
  mail *box[ranks], *own;
  unsigned *turns; /* of each block, of this rank */
  const unsigned *ended;
  int rank;
  /* Where the part of this block from a rank begins in a mailbox. */
  INLINE_MEMBER static i64 part(int from, unsigned turn) {
    return (((i64)(turn % 2) * ranks + from) * MAIL_BLOCKS + blockIdx.x) * MAIL_WORDS;
  }
};

/* The blocks that share a line are a cluster. Each has begun when all have come to the
   second of these. */
template <int blocks> INLINE void cluster_begin_() {
#if __CUDA_ARCH__ >= 900
  if (blocks > 1) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
template <int blocks> INLINE void cluster_begun_() {
#if __CUDA_ARCH__ >= 900
  if (blocks > 1) asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/* The sum of a number of each block of a cluster, in their order: each writes its own
   into the shared memory of all. */
template <int blocks> INLINE vf cluster_sum_(vf x) {
#if __CUDA_ARCH__ >= 900
  if (blocks > 1) {
    __shared__ float numbers[blocks];
    unsigned me, at = (unsigned)__cvta_generic_to_shared(numbers);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(me));
    if (threadIdx.x < blocks) {
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(at + 4 * me), "r"(threadIdx.x));
      asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(lane0_f32(x)) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    x = numbers[0];
    for (int b = 1; b < blocks; b++) x = v_add(x, numbers[b]);
  }
#endif
  return x;
}

/* The sum over the ranks, in their order, of a piece of length elements for each block; of
   the last one there may be fewer. With a second operand that is added to it, and with
   a weight a line, which has so many pieces, is then normalised by its root mean square. */
template <int ranks, int threads, int parts, int width, int pieces, bool adds, bool norms>
INLINE void all_reduce_(float *sum, float *normed, const float *x, const float *other, const float *weight, int length, i64 elements, float eps, const mailboxes<ranks> &m) {
  alignas(16) float own[parts][width], sums[parts][width], rest[adds ? parts : 1][width], w[norms ? parts : 1][width];
  const i64 piece = (i64)blockIdx.x * length;
  const int size = elements - piece < length ? (int)(elements - piece) : length;
  if (norms) {
    cluster_begin_<pieces>();
    _Pragma("unroll")
    for (int p = 0; p < parts; p++) {
      const int at = (p * threads + threadIdx.x) * width;
      if (at < size) move_<4 * width>(w[p], weight + blockIdx.x % pieces * length + at);
    }
  }
  ENTER;
  const unsigned turn = m.turns[blockIdx.x] + 1;
  _Pragma("unroll")
  for (int p = 0; p < parts; p++) {
    const int at = (p * threads + threadIdx.x) * width;
    if (at < size) move_<4 * width>(own[p], x + piece + at);
  }
  const i64 put = m.part(m.rank, turn);
  _Pragma("unroll")
  for (int r = 0; r < ranks; r++)
    if (r != m.rank)
      for (int p = 0; p < parts; p++) {
        const int at = (p * threads + threadIdx.x) * width;
        if (at < size) mail_put(m.box[r] + put + at, turn, own[p], width);
      }
  if (adds)
    _Pragma("unroll")
    for (int p = 0; p < parts; p++) {
      const int at = (p * threads + threadIdx.x) * width;
      if (at < size) move_<4 * width>(rest[p], other + piece + at);
    }
  _Pragma("unroll")
  for (int p = 0; p < parts; p++) {
    const int at = (p * threads + threadIdx.x) * width;
    if (at >= size) break;
    alignas(16) float y[ranks][width];
    const mail *from[ranks];
    _Pragma("unroll")
    for (int r = 0; r < ranks; r++) from[r] = m.own + m.part(r, turn) + at;
    for (unsigned n = 1;; n++) {
      bool all = true;
      _Pragma("unroll")
      for (int r = 0; r < ranks; r++)
        if (r != m.rank) all = mail_look(from[r], turn, y[r], width) && all;
      if (all || n % 512 == 0 && mail_ended(m.ended)) break;
    }
    _Pragma("unroll")
    for (int l = 0; l < width; l++) {
      vf s = 0 == m.rank ? own[p][l] : y[0][l];
      _Pragma("unroll")
      for (int r = 1; r < ranks; r++) s = v_add(s, r == m.rank ? own[p][l] : y[r][l]);
      sums[p][l] = lane0_f32(adds ? v_add(rest[p][l], s) : s);
    }
    move_<4 * width>(sum + piece + at, sums[p]);
  }
  if (norms) {
    vf squares = set(0.0f);
    _Pragma("unroll")
    for (int p = 0; p < parts; p++)
      if ((p * threads + threadIdx.x) * width < size)
        for (int l = 0; l < width; l++) squares = v_add(squares, v_mul(sums[p][l], sums[p][l]));
    squares = fold_sum_f32<threads>(squares);
    cluster_begun_<pieces>();
    squares = cluster_sum_<pieces>(squares);
    const vf scale = v_rsqrt(v_add(v_div(squares, (float)(length * pieces)), eps));
    _Pragma("unroll")
    for (int p = 0; p < parts; p++) {
      const int at = (p * threads + threadIdx.x) * width;
      if (at >= size) break;
      for (int l = 0; l < width; l++) sums[p][l] = lane0_f32(v_mul(v_mul(sums[p][l], scale), w[p][l]));
      move_<4 * width>(normed + piece + at, sums[p]);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) m.turns[blockIdx.x] = turn;
}
