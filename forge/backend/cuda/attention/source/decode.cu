/* Attention of up to 16 rows of one key head, on tensor cores of sm_80 and later. Keys and
   values go from memory straight to registers, in pieces of 16 bytes: both products are
   sums over something whose order is free, so that the pieces a lane reads can be taken
   for the elements that the instruction wants of it.

   Of a key, the lanes of a quad read neighbouring pieces of 8 channels, which are the
   channels of two steps of the first product; queries are read alike. Of values, a lane
   reads 8 channels of the four keys whose weights it has, and pairs those of two keys. */
namespace attention {

template <class S, int warps> struct decode {
  static constexpr int rows = 16, chunks = S::d / 32, halves = S::e / 64;

  INLINE void read(uint4 &x, const u16 *from, bool in) {
    x = make_uint4(0, 0, 0, 0);
    if (in) x = __ldg((const uint4 *)from);
  }

  INLINE void run(const operands<S> &p, float *scratch, unsigned *counters) {
    __shared__ partial<S, warps, rows> all;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, quad = lane % 4, eighth = lane / 4;
    const int splits = gridDim.x, split = blockIdx.x, b = blockIdx.z;
    constexpr int limit = S::queries * S::ratio, row_blocks = (limit + rows - 1) / rows;
    const int g = blockIdx.y / row_blocks, first = blockIdx.y % row_blocks * rows;
    const int last = first + rows < limit ? first + rows : limit;

    int most, least;
    seen_by(p, b, first, last, most, least);
    uint4 q[2][chunks];
    for (int half = 0; half < 2; half++) {
      const int row = first + eighth + 8 * half;
      const u16 *from = p.q + b * S::q_batch + (g * S::ratio + row % S::ratio) * S::q_head + (i64)(row / S::ratio) * S::q_row + quad * 8;
      #pragma unroll
      for (int c = 0; c < chunks; c++) read(q[half][c], from + c * 32, row < limit);
    }
    float o[halves * 8][4], top[2], sum[2] = {0, 0};
    top[0] = top[1] = lowest<float>();
    #pragma unroll
    for (int n = 0; n < halves * 8; n++)
      for (int c = 0; c < 4; c++) o[n][c] = 0;

    int from, to;
    const int active = share<16 * warps>(most, splits, split, from, to);
    if (split >= active) return;
    /* Where 16 neighbouring keys stand in one block, one look at the table is enough, and it
       is taken ahead. */
    constexpr bool together = !S::paged || S::block % 16 == 0;
    place next{0, -1};
    if (together) next = locate_any(p, b, from + warp * 16);
    for (int j = from + warp * 16; j < to; j += warps * 16) {
      uint4 k[2][chunks], v[halves][4];
      const place all_at = next;
      if (together) next = locate_any(p, b, j + warps * 16);
      auto where = [&](int key) {
        place at = together ? place{all_at.batch, all_at.row < 0 ? -1 : all_at.row + key - j} : locate_any(p, b, key);
        if (key >= to) at.row = -1;
        return at;
      };
      #pragma unroll
      for (int n = 0; n < 2; n++) {
        const place at = where(j + n * 8 + eighth);
        const u16 *row = p.k + at.batch * S::k_batch + g * S::k_head + at.row * S::k_row + quad * 8;
        #pragma unroll
        for (int c = 0; c < chunks; c++) read(k[n][c], row + c * 32, at.row >= 0);
      }
      #pragma unroll
      for (int t = 0; t < 4; t++) {
        const place at = where(j + quad * 2 + t % 2 + t / 2 * 8);
        const u16 *row = p.v + at.batch * S::v_batch + g * S::v_head + at.row * S::v_row + eighth * 8;
        #pragma unroll
        for (int w = 0; w < halves; w++) read(v[w][t], row + w * 64, at.row >= 0);
      }
      float s[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
      #pragma unroll
      for (int c = 0; c < chunks; c++) {
        const unsigned a[4] = {q[0][c].x, q[1][c].x, q[0][c].y, q[1][c].y}, a2[4] = {q[0][c].z, q[1][c].z, q[0][c].w, q[1][c].w};
        #pragma unroll
        for (int n = 0; n < 2; n++) {
          mma<S>(s[n], a, k[n][c].x, k[n][c].y);
          mma<S>(s[n], a2, k[n][c].z, k[n][c].w);
        }
      }
      if (S::masked || S::causal && S::strict || j + 16 > least) exclude(p, s, b, g, first + eighth, j);
      advance<S>(s, o, top, sum);
      unsigned a[4];
      weights<S>(a, s[0], s[1]);
      #pragma unroll
      for (int w = 0; w < halves; w++)
        #pragma unroll
        for (int n = 0; n < 8; n++) {
          const unsigned x[4] = {(&v[w][0].x)[n / 2], (&v[w][1].x)[n / 2], (&v[w][2].x)[n / 2], (&v[w][3].x)[n / 2]};
          const unsigned which = n % 2 ? 0x7632 : 0x5410;
          mma<S>(o[w * 8 + n], a, __byte_perm(x[0], x[1], which), __byte_perm(x[2], x[3], which));
        }
    }
    #pragma unroll
    for (int half = 0; half < 2; half++) {
      float total = sum[half];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      float *to_ = all.at[warp][eighth + 8 * half];
      #pragma unroll
      for (int w = 0; w < halves; w++)
        for (int n = 0; n < 8; n++)
          for (int c = 0; c < 2; c++) to_[w * 64 + (quad * 2 + c) * 8 + n] = o[w * 8 + n][half * 2 + c];
      if (quad == 0) {
        to_[S::e] = top[half] * exponent<S>::factor;
        to_[S::e + 1] = total;
      }
    }
    const int u = b * gridDim.y + blockIdx.y;
    auto place_of = [&](int row) {
      return b * S::out_batch + (g * S::ratio + row % S::ratio) * S::out_head + (i64)(row / S::ratio) * S::out_row;
    };
    finish<(S::queries > 1 || S::masked) && !S::strict>(all, p, b, g, first, limit, active, split, scratch + (i64)u * splits * row_words<S>(rows), counters + u, place_of);
  }
};

}  // namespace attention
