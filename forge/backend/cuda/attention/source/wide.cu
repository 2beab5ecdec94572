/* Attention of many queries with the wide products of sm_90a, whose second operand, and
   here the first one of the first product too, is read from shared memory. Each of the
   groups of four warps of a block has 64 rows. The scores of the next keys are computed
   while the weights of these are, and the values of these are added up.

   Rows in shared memory are 64 channels, 128 bytes, long, one part of the channels behind
   the other; of a row, piece c of 16 bytes stands at place c ^ row % 8. */
namespace attention {

/* Rows of 128 bytes in groups of eight; for values, whose rows are the inner dimension, the
   step to the next 64 channels too. */
INLINE unsigned long long descriptor(unsigned at, int part) {
  return (unsigned long long)(at & 0x3ffff) >> 4 | (unsigned long long)(part >> 4 & 0x3fff) << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}
INLINE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INLINE void products_sent() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left> INLINE void products_done() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory"); }

template <class S, int groups, int columns> struct flash_wide {
  static constexpr int threads = 128 * groups, rows = 64 * groups, parts = S::d / 64;
  static constexpr int q_bytes = rows * S::d * 2, tile = columns * S::d * 2;  // of D == E
  static constexpr int k_at = q_bytes, v_at = q_bytes + 2 * tile;

  template <int count, class F> INLINE void fill(unsigned to, F source) {
    constexpr int pieces = S::d / 8;
    #pragma unroll
    for (int u = threadIdx.x; u < count * pieces; u += threads) {
      const int row = u / pieces, c = u % pieces;
      const u16 *from = source(row);
      copy16(to + c / 8 * count * 128 + row * 128 + (c % 8 ^ row % 8) * 16, from ? from + c * 8 : nullptr, from ? 16 : 0);
    }
  }

  INLINE void run(const operands<S> &p) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const unsigned memory = shared_address(bytes);
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int b = blockIdx.z, g = blockIdx.y;
    const int first = ((int)gridDim.x - 1 - (int)blockIdx.x) * rows;  // the rows that see most begin first
    constexpr int all = S::queries * S::ratio;
    const int last = first + rows < all ? first + rows : all;
    int most, least;
    seen_by(p, b, first, last, most, least);

    auto load = [&](unsigned to, int from, const u16 *base, i64 batch, i64 head, i64 step) {
      fill<columns>(to, [&](int r) -> const u16 * {
        if (from + r >= most) return nullptr;
        const place at = locate(p, b, from + r);
        return at.row < 0 ? nullptr : base + at.batch * batch + g * head + at.row * step;
      });
    };
    auto load_keys = [&](int t) { load(memory + k_at + t % 2 * tile, t * columns, p.k, S::k_batch, S::k_head, S::k_row); };
    auto load_values = [&](int t) { load(memory + v_at + t % 2 * tile, t * columns, p.v, S::v_batch, S::v_head, S::v_row); };

    const int count = (most + columns - 1) / columns;
    fill<rows>(memory, [&](int r) -> const u16 * {
      const int at = first + r;
      return at < all ? p.q + b * S::q_batch + (g * S::ratio + at % S::ratio) * S::q_head + (i64)(at / S::ratio) * S::q_row : nullptr;
    });
    load_keys(0);
    copies_begun();
    if (count > 1) load_keys(1);
    load_values(0);
    copies_begun();

    float o[S::e / 8][4], s[columns / 8][4], top[2], sum[2] = {0, 0};
    top[0] = top[1] = lowest<float>();
    #pragma unroll
    for (int n = 0; n < S::e / 8; n++)
      for (int c = 0; c < 4; c++) o[n][c] = 0;
    const int own = first + group * 64 + warp * 16 + lane / 4;

    /* s = Q K^T for tile t. */
    auto score = [&](float (&to)[columns / 8][4], int t) {
      #pragma unroll
      for (int k = 0; k < S::d / 16; k++) {
        const unsigned q = memory + k / 4 * rows * 128 + group * 64 * 128 + k % 4 * 32;
        const unsigned key = memory + k_at + t % 2 * tile + k / 4 * columns * 128 + k % 4 * 32;
        wide_scores<S::kind, columns>::add(to, descriptor(q, 16), descriptor(key, 16), k > 0);
      }
    };
    copies_done<1>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (count > 0) {
      products_begin();
      score(s, 0);
      products_sent();
      products_done<0>();
    }
    for (int t = 0; t < count; t++) {
      copies_done<0>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      if (t + 2 < count) load_keys(t + 2);
      if (t + 1 < count) load_values(t + 1);
      copies_begun();
      float next[columns / 8][4];
      if (t + 1 < count) {
        products_begin();
        score(next, t + 1);
        products_sent();
      }
      if (S::masked || S::causal && S::strict || t * columns + columns > least) exclude(p, s, b, g, own, t * columns);
      advance<S>(s, o, top, sum);
      unsigned a[columns / 16][4];
      #pragma unroll
      for (int k = 0; k < columns / 16; k++) weights<S>(a[k], s[2 * k], s[2 * k + 1]);
      products_begin();
      #pragma unroll
      for (int k = 0; k < columns / 16; k++)
        wide_values<S::kind, S::e>::add(o, a[k], descriptor(memory + v_at + t % 2 * tile + k * 16 * 128, columns * 128));
      products_sent();
      products_done<0>();
      #pragma unroll
      for (int n = 0; n < columns / 8; n++)
        for (int c = 0; c < 4; c++) s[n][c] = next[n][c];
    }
    copies_done<0>();
    store(p, o, sum, b, g, own);
  }
};

}  // namespace attention
