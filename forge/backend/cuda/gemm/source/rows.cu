/* Products of few rows, in which B streams through once. The warps of a block share its
   columns and divide k; blocks may divide it once more, and then the last of them to
   arrive adds up what all of them left, in order. */
/* Not as what never changes (ld.global.nc): a kernel that began early may see it being written. */
template <class T, int n> INLINE pack<T, n> stream(const T *p) {
  union { pack<T, n> x; unsigned w[sizeof(T) * n / 4]; } u;
  if (sizeof(T) * n == 16) asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(u.w[0]), "=r"(u.w[1]), "=r"(u.w[2]), "=r"(u.w[3]) : "l"(p));
  else if (sizeof(T) * n == 8) asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(u.w[0]), "=r"(u.w[1]) : "l"(p));
  else u.x = *(const pack<T, n> *)p;
  return u.x;
}

/* Sums of the warps, [warps][columns][M], become results. Slices of k are added up in order:
   by the blocks of a cluster, which read one another's sums, or by the last to arrive. */
template <class P> INLINE void join_warps(const P &p, typename P::Out *o, float *part, int *arrived, int z, int column, const float *sums, int shares) {
  constexpr int M = P::M, C = P::BN, threads = P::threads;
  __shared__ float own[P::clustered ? M * C : 1];
  float *mine = part + ((i64)blockIdx.y * P::batches + z) * M * P::N;
  __syncthreads();
#pragma unroll 1
  for (int u = threadIdx.x; u < M * C; u += threads) {
    const int m = u / C, n = u % C;
    float sum = 0;
    for (int w = 0; w < shares; w++) sum += sums[(w * C + n) * M + m];
    if (P::clustered) own[u] = sum;
    else if (column + n >= P::N) continue;
    else if (P::slices == 1) from_float(o[(i64)m * P::o_m + column + n], p.finish(sum, z, m, column + n));
    else mine[(i64)m * P::N + column + n] = sum;
  }
  if (P::slices == 1) return;
  int first = threadIdx.x, step = threads;
  if (P::clustered) {
    meet_cluster();
    first += blockIdx.y * threads;
    step *= P::slices;
  } else {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      int *word = arrived + (i64)z * gridDim.x + blockIdx.x;
      last = atomicAdd(word, 1) == P::slices - 1;
      if (last) *word = 0;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
  }
#pragma unroll 1
  for (int u = first; u < M * C; u += step) {
    const int m = u / C, n = u % C;
    if (column + n >= P::N) continue;
    float sum = 0;
#pragma unroll
    for (int s = 0; s < P::slices; s++) sum += P::clustered ? from_block(own + u, s) : __ldcg(part + (((i64)s * P::batches + z) * M + m) * P::N + column + n);
    from_float(o[(i64)m * P::o_m + column + n], p.finish(sum, z, m, column + n));
  }
  if (P::clustered) meet_cluster(); /* nobody leaves while others read its sums */
}

/* Numbers of f32 as sums of three of bf16: the first bits of each, of what is left, and what
   is left then, exact but for what is below the least of bf16. Pairs of them are in a register.
   The first of three is zero, infinite or NaN where the number is. */
INLINE unsigned first_bits(float &x) {
  const unsigned bits = __float_as_uint(x), first = bits & 0xffff0000u;
  x = (bits & 0x7f800000u) == 0x7f800000u ? 0 : x - __uint_as_float(first);
  return first;
}
INLINE unsigned first_term(float &x) {
  const unsigned least = x != 0 ? 0x00010000u : 0, nan = x != x ? 0x7fc00000u : 0;
  const unsigned first = first_bits(x) | nan;
  return first << 1 ? first : first | least;
}
template <int pairs> INLINE void in_three(unsigned (&to)[3][pairs], const float *x) {
#pragma unroll
  for (int i = 0; i < pairs; i++) {
    float even = x[2 * i], odd = x[2 * i + 1];
    const unsigned low = first_term(even);
    to[0][i] = low >> 16 | first_term(odd);
#pragma unroll
    for (int term = 1; term < 3; term++) {
      const unsigned low = first_bits(even);
      to[term][i] = low >> 16 | first_bits(odd);
    }
  }
}

/* Whether numbers of a pair of bf16 are infinite or NaN, and the pair with zeros for those:
   only the first of three terms is to meet them. */
INLINE unsigned not_finite(unsigned w) { return ((w & 0x7f807f80u) + 0x00800080u) & 0x80008000u; }
INLINE unsigned finite_part(unsigned w) { return w & ~((not_finite(w) >> 15) * 0xffffu); }

/* The part of a row that a thread multiplies: pairs of k from k on. */
template <int pairs> INLINE void load_pairs(unsigned (&to)[1][pairs], const void *a, bool in) {
#pragma unroll
  for (int i = 0; i < pairs; i += 2) {
    const uint2 x = in ? *(const uint2 *)((const char *)a + i * 4) : uint2{0, 0};
    to[0][i] = x.x; to[0][i + 1] = x.y;
  }
}
template <int pairs> INLINE void load_pairs(unsigned (&to)[3][pairs], const void *a, bool in) {
  float x[2 * pairs];
#pragma unroll
  for (int i = 0; i < 2 * pairs; i += 4) *(float4 *)(x + i) = in ? *(const float4 *)((const float *)a + i) : float4{0, 0, 0, 0};
  in_three<pairs>(to, x);
}

/* Adds products to sums. Of three terms those of an instruction are added up by themselves,
   since it drops bits of small products beside a large sum. */
template <class T, int stride> INLINE void add_terms(float (&sum)[4], const unsigned *w, const unsigned (&x)[1][stride], int at) { mma_of<T>::step(sum, w, x[0] + at); }
template <class T, int stride> INLINE void add_terms(float (&sum)[4], const unsigned *w, const unsigned (&x)[3][stride], int at) {
  unsigned v[4] = {w[0], w[1], w[2], w[3]};
  if (not_finite(w[0]) | not_finite(w[1]) | not_finite(w[2]) | not_finite(w[3])) {
#pragma unroll
    for (int q = 0; q < 4; q++) v[q] = finite_part(w[q]);
  }
  float d[4] = {};
  mma_of<T>::step(d, v, x[2] + at);
  mma_of<T>::step(d, v, x[1] + at);
  mma_of<T>::step(d, w, x[0] + at);
#pragma unroll
  for (int q = 0; q < 4; q++) sum[q] += d[q];
}

/* By the tensor cores: columns are the rows of the instruction, and the few rows its
   columns. Which k stands where does not matter as long as both matrices agree, so that
   what a thread has loaded is its part of the operands. Rows of f32 are three of bf16. */
template <class P> INLINE void rows_mma(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, float *part, int *arrived) {
  typedef typename P::B T;
  constexpr int eights = (P::M + 7) / 8, W = P::threads / 32, U = P::unroll, C = P::BN, terms = sizeof(typename P::A) == 4 ? 3 : 1;
  const int z = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int column = blockIdx.x * C, k0 = blockIdx.y * P::slice, k1 = min(P::K, k0 + P::slice);
  a += P::a_at(z);
  b += P::b_at(z);
  o += P::o_at(z);
  __shared__ float sums[W * C * P::M];
  constexpr int tiles = C / 16;
  float sum[tiles][eights][4] = {};
  constexpr int depth = P::b_along ? 32 : 16; /* of k in a step of a warp */
  for (int kb = k0 + warp * depth * U; kb < k1; kb += W * depth * U) {
    if (P::b_along) {
      unsigned w[U][tiles * 2][4], x[U][eights][terms][4];
#pragma unroll
      for (int u = 0; u < U; u++) {
        const int k = kb + u * 32 + t * 8;
        const bool in = P::slice % (32 * U * W) == 0 && P::K % P::slice == 0 || k < k1;
#pragma unroll
        for (int i = 0; i < tiles * 2; i++) {
          const int n = min(column + i * 8 + g, P::N - 1);
          uint4 y{0, 0, 0, 0};
          if (in) {
            const pack<T, 8> l = stream<T, 8>(b + (i64)n * P::b_n + k);
            y = *(const uint4 *)&l;
          }
          w[u][i][0] = y.x; w[u][i][1] = y.y; w[u][i][2] = y.z; w[u][i][3] = y.w;
        }
#pragma unroll
        for (int e = 0; e < eights; e++) load_pairs<4>(x[u][e], a + (i64)(e * 8 + g) * P::a_m + k, in && e * 8 + g < P::M);
      }
#pragma unroll
      for (int u = 0; u < U; u++)
#pragma unroll
        for (int h = 0; h < 4; h += 2)
#pragma unroll
          for (int i = 0; i < tiles; i++) {
            const unsigned f[4] = {w[u][2 * i][h], w[u][2 * i + 1][h], w[u][2 * i][h + 1], w[u][2 * i + 1][h + 1]};
#pragma unroll
            for (int e = 0; e < eights; e++) add_terms<T>(sum[i][e], f, x[u][e], h);
          }
    } else {
      /* A thread has four of k and C / 8 columns; tile i has of it columns 2i and 2i + 1. */
      constexpr int V = C / 8;
      pack<T, V> w[U][4];
      unsigned x[U][eights][terms][2];
#pragma unroll
      for (int u = 0; u < U; u++) {
        const int k = kb + u * 16 + t * 4, n = column + g * V;
        const bool in = n < P::N;
#pragma unroll
        for (int q = 0; q < 4; q++) {
          if (in && k + q < k1) w[u][q] = stream<T, V>(b + (i64)(k + q) * P::b_k + n);
          else w[u][q] = pack<T, V>{};
        }
#pragma unroll
        for (int e = 0; e < eights; e++) load_pairs<2>(x[u][e], a + (i64)(e * 8 + g) * P::a_m + k, k < k1 && e * 8 + g < P::M);
      }
#pragma unroll
      for (int u = 0; u < U; u++)
#pragma unroll
        for (int i = 0; i < tiles; i++) {
          unsigned f[4];
#pragma unroll
          for (int h = 0; h < 2; h++) {
            f[2 * h] = w[u][2 * h].at[2 * i].bits | (unsigned)w[u][2 * h + 1].at[2 * i].bits << 16;
            f[2 * h + 1] = w[u][2 * h].at[2 * i + 1].bits | (unsigned)w[u][2 * h + 1].at[2 * i + 1].bits << 16;
          }
#pragma unroll
          for (int e = 0; e < eights; e++) add_terms<T>(sum[i][e], f, x[u][e], 0);
        }
    }
  }
#pragma unroll
  for (int i = 0; i < tiles; i++)
#pragma unroll
    for (int e = 0; e < eights; e++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int m = e * 8 + t * 2 + q % 2, n = P::b_along ? i * 16 + g + q / 2 * 8 : g * (C / 8) + 2 * i + q / 2;
        if (m < P::M) sums[(warp * C + n) * P::M + m] = sum[i][e][q];
      }
  join_warps(p, o, part, arrived, z, column, sums, W);
}

/* In f32. Each thread has a ring of units of 16 bytes in shared memory that it fills itself
   some steps ahead, so that many bytes are on their way without registers for them. The
   first are of B alone, which the kernels before do not write, and are asked for before
   those have ended. A follows, where there is room for it. */
template <class P> INLINE const float *rows_held(const P &p, const typename P::A *a, float *to, int k0, int k1) {
  if constexpr (P::begins) {
    p.begin(to, k0, k1);
    __syncthreads();
    return to;
  }
  /* Many loads at once, of four elements where they are neighbours. */
  constexpr int V = P::a_along && P::a_whole ? 4 : 1, line = P::slice / V, all = P::M * line;
  constexpr int rounds = (all + P::threads - 1) / P::threads, batch = rounds < 8 ? rounds : 8;
#pragma unroll 1
  for (int first = threadIdx.x; first < all; first += batch * P::threads) {
    pack<typename P::A, V> x[batch];
#pragma unroll
    for (int i = 0; i < batch; i++) {
      const int u = first + i * P::threads, k = k0 + u % line * V;
      if (u < all && k < k1) x[i] = *(const pack<typename P::A, V> *)(a + (i64)(u / line) * P::a_m + (i64)k * P::a_k);
      else x[i] = pack<typename P::A, V>{};
    }
#pragma unroll
    for (int i = 0; i < batch; i++) {
      const int u = first + i * P::threads;
      pack<float, V> y;
#pragma unroll
      for (int v = 0; v < V; v++) y.at[v] = to_float(x[i].at[v]);
      if (u < all) *(pack<float, V> *)(to + u * V) = y;
    }
  }
  __syncthreads();
  return to;
}

/* With lanes along k where memory is; a block has P::columns columns. */
template <class P> INLINE void rows_along(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, float *part, int *arrived, char *memory) {
  typedef typename P::B T;
  constexpr int V = 16 / sizeof(T), W = P::threads / 32, C = P::columns, D = P::ahead, M = P::M;
  const int z = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int column = blockIdx.x * P::BN, k0 = blockIdx.y * P::slice, k1 = min(P::K, k0 + P::slice);
  a += P::a_at(z);
  b += P::b_at(z);
  o += P::o_at(z);
  const uint4 *ring = (const uint4 *)memory + threadIdx.x;
  const unsigned to = shared_address(ring);
  auto fill = [&](int t) { /* step t is a unit of each column */
    asm volatile("" ::: "memory");
    const int k = k0 + (t * P::threads + threadIdx.x) * V;
#pragma unroll
    for (int c = 0; c < C; c++) {
      const int n = P::N % C == 0 ? column + c : min(column + c, P::N - 1);
      copy16(to + (t % D * C + c) * (P::threads * 16), k < k1 ? b + (i64)n * P::b_n + k : b, k < k1);
    }
    commit_copies();
  };
#pragma unroll
  for (int t = 0; t < D - 1; t++) fill(t);
  if constexpr (P::begins) p.begin_ahead(k0, k1);
  if (P::enters) AWAIT;
  const float *xs = P::held ? rows_held(p, a, (float *)(memory + D * C * P::threads * 16), k0, k1) : nullptr;
  float sum[C][M] = {};
  const int count = (k1 - k0 + P::threads * V - 1) / (P::threads * V);
  for (int t = 0; t < count; t++) {
    fill(t + D - 1);
    wait_copies<D - 1>();
    const int k = (t * P::threads + threadIdx.x) * V;
    if (k >= k1 - k0) break;
    pack<T, V> w[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
      const uint4 bits = ring[(t % D * C + c) * P::threads];
      w[c] = *(const pack<T, V> *)&bits;
    }
#pragma unroll
    for (int m = 0; m < M; m++) {
      float x[V];
      if (P::held) {
#pragma unroll
        for (int v = 0; v < V; v += 4) *(float4 *)(x + v) = *(const float4 *)(xs + m * P::slice + k + v);
      } else {
        const pack<typename P::A, V> y = *(const pack<typename P::A, V> *)(a + (i64)m * P::a_m + k0 + k);
#pragma unroll
        for (int v = 0; v < V; v++) x[v] = to_float(y.at[v]);
      }
#pragma unroll
      for (int c = 0; c < C; c++)
#pragma unroll
        for (int v = 0; v < V; v++) sum[c][m] = __fmaf_rn(x[v], to_float(w[c].at[v]), sum[c][m]);
    }
  }
  wait_copies<0>();
  READY;
  __syncthreads();
  float *sums = (float *)memory; /* [W][C][M] */
#pragma unroll
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
      for (int d = 16; d > 0; d /= 2) sum[c][m] += __shfl_xor_sync(~0u, sum[c][m], d);
      if (lane == 0) sums[(warp * P::BN + c) * M + m] = sum[c][m];
    }
  join_warps(p, o, part, arrived, z, column, sums, W);
}

/* With lanes along the columns: P::lanes of them side by side, the others at other k. */
template <class P> INLINE void rows_across(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, float *part, int *arrived, char *memory) {
  typedef typename P::B T;
  constexpr int V = 16 / sizeof(T), W = P::threads / 32, LN = P::lanes, LK = 32 / LN, U = P::unroll, D = P::ahead, M = P::M;
  const int z = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32, l = lane / LN;
  const int column = blockIdx.x * P::BN, first = lane % LN * V, k0 = blockIdx.y * P::slice, k1 = min(P::K, k0 + P::slice);
  a += P::a_at(z);
  b += P::b_at(z);
  o += P::o_at(z);
  const bool in = P::N % P::BN == 0 || column + first < P::N;
  const uint4 *ring = (const uint4 *)memory + threadIdx.x;
  const unsigned to = shared_address(ring);
  const T *from = in ? b + column + first : b;
  auto fill = [&](int t) { /* step t is U units of this thread */
    asm volatile("" ::: "memory");
#pragma unroll
    for (int u = 0; u < U; u++) {
      const int k = k0 + ((t * U + u) * W + warp) * LK + l;
      const bool there = in && k < k1;
      copy16(to + (t % D * U + u) * (P::threads * 16), there ? from + (i64)k * P::b_k : from, there);
    }
    commit_copies();
  };
#pragma unroll
  for (int t = 0; t < D - 1; t++) fill(t);
  if constexpr (P::begins) p.begin_ahead(k0, k1);
  if (P::enters) AWAIT;
  const float *xs = P::held ? rows_held(p, a, (float *)(memory + D * U * P::threads * 16), k0, k1) : nullptr;
  float sum[M][V] = {};
  const int count = (k1 - k0 + W * LK * U - 1) / (W * LK * U);
  for (int t = 0; t < count; t++) {
    fill(t + D - 1);
    wait_copies<D - 1>();
#pragma unroll
    for (int u = 0; u < U; u++) {
      const uint4 bits = ring[(t % D * U + u) * P::threads];
      const pack<T, V> w = *(const pack<T, V> *)&bits;
      const int k = ((t * U + u) * W + warp) * LK + l;
#pragma unroll
      for (int m = 0; m < M; m++) {
        float x = 0;
        if (k < k1 - k0) x = P::held ? xs[m * P::slice + k] : to_float(a[(i64)m * P::a_m + (i64)(k0 + k) * P::a_k]);
#pragma unroll
        for (int v = 0; v < V; v++) sum[m][v] = __fmaf_rn(x, to_float(w.at[v]), sum[m][v]);
      }
    }
  }
  wait_copies<0>();
  READY;
  __syncthreads();
  float *sums = (float *)memory; /* [W][BN][M] */
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int v = 0; v < V; v++) {
#pragma unroll
      for (int d = 16; d >= LN; d /= 2) sum[m][v] += __shfl_xor_sync(~0u, sum[m][v], d);
      if (l == 0) sums[(warp * P::BN + first + v) * M + m] = sum[m][v];
    }
  join_warps(p, o, part, arrived, z, column, sums, W);
}
