/* Attention of many queries with the wide products of sm_90a, whose second operand, and
   here the first one of the first product too, is read from shared memory. Each group of
   four warps but the last has 64 rows; the last one only brings keys and values, so that
   the others need not wait for one another. A group computes the scores of the next keys
   while it makes weights of these.

   Rows in shared memory are 64 channels, 128 bytes, long, one part of the channels behind
   the other; of a row, piece c of 16 bytes stands at place c ^ row % 8. There is room for
   two tiles of keys and of values. For each a barrier tells when it is full, and one when
   it has been read. */
namespace attention {

/* Rows of 128 bytes in groups of eight; for values, whose rows are the inner dimension, the
   step to the next 64 channels too. */
INLINE unsigned long long descriptor(unsigned at, int part) {
  return (unsigned long long)(at & 0x3ffff) >> 4 | (unsigned long long)(part >> 4 & 0x3fff) << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}
INLINE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INLINE void products_sent() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left> INLINE void products_done() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory"); }

INLINE void barrier_new(unsigned at, int arrivals) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory"); }
INLINE void barrier_arrive(unsigned at) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory"); }
INLINE void barrier_wait(unsigned at, int parity) {
  asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone: }" ::"r"(at), "r"(parity) : "memory");
}
/* What a thread has written to shared memory may be read by wide products. */
INLINE void written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

template <class S, int groups, int columns> struct flash_wide {
  static constexpr int rows = 64 * groups;
  static constexpr int q_bytes = rows * S::d * 2, tile = columns * S::d * 2;  // of D == E
  static constexpr int k_at = q_bytes, v_at = q_bytes + 2 * tile, bars = q_bytes + 4 * tile;
  /* Barriers of a tile of keys or values: full and read. */
  INLINE unsigned full(unsigned memory, int value, int t) { return memory + bars + (value * 2 + t % 2) * 16; }
  INLINE unsigned empty(unsigned memory, int value, int t) { return full(memory, value, t) + 8; }

  template <int count, int threads, class F> INLINE void fill(unsigned to, int thread, F source) {
    constexpr int pieces = S::d / 8;
    #pragma unroll 8
    for (int u = thread; u < count * pieces; u += threads) {
      const int row = u / pieces, c = u % pieces;
      const u16 *from = source(row);
      copy16(to + c / 8 * count * 128 + row * 128 + (c % 8 ^ row % 8) * 16, from + c * 8, from ? 16 : 0);
    }
  }

  /* Brings the tiles, keys one ahead of values, with two in flight. */
  INLINE void bring(const operands<S> &p, unsigned memory, int b, int g, int most) {
    const int thread = threadIdx.x % 128, count = (most + columns - 1) / columns;
    auto load = [&](unsigned to, int from, const u16 *base, i64 batch, i64 head, i64 step) {
      fill<columns, 128>(to, thread, [&](int r) -> const u16 * {
        const place at = locate_any(p, b, from + r);
        return from + r >= most || at.row < 0 ? nullptr : base + at.batch * batch + g * head + at.row * step;
      });
      copies_begun();
    };
    auto key = [&](int t) {
      if (t >= 2) barrier_wait(empty(memory, 0, t), (t / 2 - 1) & 1);
      load(memory + k_at + t % 2 * tile, t * columns, p.k, S::k_batch, S::k_head, S::k_row);
    };
    auto value = [&](int t) {
      if (t >= 2) barrier_wait(empty(memory, 1, t), (t / 2 - 1) & 1);
      load(memory + v_at + t % 2 * tile, t * columns, p.v, S::v_batch, S::v_head, S::v_row);
    };
    auto tell = [&](int value, int t) {
      written();
      barrier_arrive(full(memory, value, t));
    };
    if (count == 0) return;
    key(0);
    copies_done<0>();
    tell(0, 0);
    for (int t = 0; t < count; t++) {
      if (t + 1 < count) key(t + 1);
      value(t);
      if (t + 1 < count) {
        copies_done<1>();
        tell(0, t + 1);
      }
      copies_done<0>();
      tell(1, t);
    }
  }

  INLINE void compute(const operands<S> &p, unsigned memory, int b, int g, int first, int most, int least) {
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int count = (most + columns - 1) / columns;
    constexpr int all = S::queries * S::ratio;
    const int mine = first + group * 64;
    fill<64, 128>(memory + group * 64 * S::d * 2, threadIdx.x % 128, [&](int r) -> const u16 * {
      const int at = mine + r;
      return at < all ? p.q + b * S::q_batch + (g * S::ratio + at % S::ratio) * S::q_head + (i64)(at / S::ratio) * S::q_row : nullptr;
    });
    copies_begun();
    float o[S::e / 8][4], s[columns / 8][4], top[2], sum[2] = {0, 0};
    top[0] = top[1] = lowest<float>();
    #pragma unroll
    for (int n = 0; n < S::e / 8; n++)
      for (int c = 0; c < 4; c++) o[n][c] = 0;
    copies_done<0>();
    written();
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");

    auto score = [&](float (&to)[columns / 8][4], int t) {
      #pragma unroll
      for (int k = 0; k < S::d / 16; k++) {
        const unsigned q = memory + group * 64 * S::d * 2 + k / 4 * 64 * 128 + k % 4 * 32;
        const unsigned key = memory + k_at + t % 2 * tile + k / 4 * columns * 128 + k % 4 * 32;
        wide_scores<S::kind, columns>::add(to, descriptor(q, 16), descriptor(key, 16), k > 0);
      }
      products_sent();
    };
    auto read = [&](int value, int t) {
      if (lane == 0) barrier_arrive(empty(memory, value, t));
    };
    if (count > 0) {
      barrier_wait(full(memory, 0, 0), 0);
      products_begin();
      score(s, 0);
      products_done<0>();
      read(0, 0);
    }
    for (int t = 0; t < count; t++) {
      float next[columns / 8][4];
      if (t + 1 < count) {
        barrier_wait(full(memory, 0, t + 1), (t + 1) / 2 & 1);
        products_begin();
        score(next, t + 1);
      }
      if (S::masked || S::causal && S::strict || t * columns + columns > least) exclude(p, s, b, g, mine + warp * 16 + lane / 4, t * columns);
      advance<S>(s, o, top, sum);
      unsigned a[columns / 16][4];
      #pragma unroll
      for (int k = 0; k < columns / 16; k++) weights<S>(a[k], s[2 * k], s[2 * k + 1]);
      barrier_wait(full(memory, 1, t), t / 2 & 1);
      products_begin();
      #pragma unroll
      for (int k = 0; k < columns / 16; k++)
        wide_values<S::kind, S::e>::add(o, a[k], descriptor(memory + v_at + t % 2 * tile + k * 16 * 128, columns * 128));
      products_sent();
      products_done<1>();
      if (t + 1 < count) read(0, t + 1);
      products_done<0>();
      read(1, t);
      #pragma unroll
      for (int n = 0; n < columns / 8; n++)
        for (int c = 0; c < 4; c++) s[n][c] = next[n][c];
    }
    store(p, o, sum, b, g, mine + warp * 16 + lane / 4);
  }

  INLINE void run(const operands<S> &p) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const unsigned memory = shared_address(bytes);
    const int b = blockIdx.z, g = blockIdx.y;
    const int first = ((int)gridDim.x - 1 - (int)blockIdx.x) * rows;  // the rows that see most begin first
    constexpr int all = S::queries * S::ratio;
    int most, least;
    seen_by(p, b, first, first + rows < all ? first + rows : all, most, least);
    if (threadIdx.x == 0) {
      for (int i = 0; i < 4; i++) {
        barrier_new(memory + bars + i * 16, 128);
        barrier_new(memory + bars + i * 16 + 8, 4 * groups);
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 128 * groups) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(groups > 2 ? 32 : 40));
      bring(p, memory, b, g, most);
    } else {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(groups > 2 ? 160 : groups > 1 ? 232 : 240));
      compute(p, memory, b, g, first, most, least);
    }
  }
};

}  // namespace attention
