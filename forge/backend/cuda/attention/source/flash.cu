/* Attention of many queries on tensor cores of sm_80 and later. A block has rows of one
   key head, each a query of one of the heads that share it, and goes through the keys
   that its last row sees, columns of them at a time: while scores are computed the values
   come, and while values are added up the next keys come.

   A warp has 16 * tiles rows. Its scores become weights where they are, in registers, in
   the layout that the second product takes them in. Weights are rounded to the type of
   the values; their sum is of those before rounding.

   Rows in shared memory are 16 bytes longer than their channels, so that the eight rows
   of a matrix lie in different banks. */
namespace attention {

template <class S, int warps, int tiles, int columns> struct flash {
  static constexpr int threads = 32 * warps, rows = 16 * warps * tiles;
  static constexpr int dp = (S::d + 15) / 16 * 16, ep = (S::e + 15) / 16 * 16;
  static constexpr int k_width = dp + 8, v_width = ep + 8;
  static constexpr int k_at = rows * k_width, v_at = k_at + columns * k_width;

  /* Rows of 16-byte pieces to shared memory; source gives the first element of a row, or
     null for zeros. */
  template <int count, int width, int channels, int padded, i64 step, class F>
  INLINE void fill(u16 *to, F source) {
    constexpr int pieces = padded / 8;
    #pragma unroll
    for (int u = threadIdx.x; u < count * pieces; u += threads) {
      const int row = u / pieces, c = u % pieces * 8;
      const u16 *from = source(row);
      if constexpr (S::vector) {
        const bool in = from && c < channels;
        copy16(shared_address(to + row * width + c), in ? from + c : (const u16 *)nullptr, in ? 16 : 0);
      } else {
        u16 x[8];
        for (int t = 0; t < 8; t++) x[t] = from && c + t < channels ? from[(c + t) * step] : (u16)0;
        *(uint4 *)(to + row * width + c) = *(const uint4 *)x;
      }
    }
  }

  INLINE void run(const operands<S> &p) {
    extern __shared__ __align__(128) u16 memory[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int b = blockIdx.z, g = blockIdx.y;
    const int first = ((int)gridDim.x - 1 - (int)blockIdx.x) * rows;  // the rows that see most begin first
    constexpr int all = S::queries * S::ratio;

    const int last = first + rows < all ? first + rows : all;
    int most, least;
    seen_by(p, b, first, last, most, least);

    auto key_row = [&](int j, const u16 *from, i64 batch, i64 head, i64 row) -> const u16 * {
      const place at = locate_any(p, b, j);
      return j >= most || at.row < 0 ? nullptr : from + at.batch * batch + g * head + at.row * row;
    };
    auto load_keys = [&](int from) {
      fill<columns, k_width, S::d, dp, S::k_step>(memory + k_at, [&](int r) { return key_row(from + r, p.k, S::k_batch, S::k_head, S::k_row); });
      copies_begun();
    };
    auto load_values = [&](int from) {
      fill<columns, v_width, S::e, ep, S::v_step>(memory + v_at, [&](int r) { return key_row(from + r, p.v, S::v_batch, S::v_head, S::v_row); });
      copies_begun();
    };

    fill<rows, k_width, S::d, dp, S::q_step>(memory, [&](int r) -> const u16 * {
      const int at = first + r;
      return at < all ? p.q + b * S::q_batch + (g * S::ratio + at % S::ratio) * S::q_head + (i64)(at / S::ratio) * S::q_row : nullptr;
    });
    load_keys(0);

    float o[tiles][ep / 8][4], top[tiles][2], sum[tiles][2];
    #pragma unroll
    for (int t = 0; t < tiles; t++) {
      for (int n = 0; n < ep / 8; n++)
        for (int c = 0; c < 4; c++) o[t][n][c] = 0;
      top[t][0] = top[t][1] = lowest<float>();
      sum[t][0] = sum[t][1] = 0;
    }
    const int own = first + warp * 16 * tiles + lane / 4;  // and 8 more, and 16 more for each tile
    const unsigned q_at = shared_address(memory + (warp * 16 * tiles + lane % 16) * k_width + lane / 16 * 8);
    const unsigned key_at = shared_address(memory + k_at + (lane / 16 * 8 + lane % 8) * k_width + lane / 8 % 2 * 8);
    const unsigned value_at = shared_address(memory + v_at + (lane / 8 % 2 * 8 + lane % 8) * v_width + lane / 16 * 8);

    for (int from = 0; from < most; from += columns) {
      copies_done<0>();
      __syncthreads();
      load_values(from);
      float s[tiles][columns / 8][4];
      #pragma unroll
      for (int t = 0; t < tiles; t++)
        for (int n = 0; n < columns / 8; n++)
          for (int c = 0; c < 4; c++) s[t][n][c] = 0;
      #pragma unroll
      for (int k = 0; k < dp / 16; k++) {
        unsigned a[tiles][4];
        #pragma unroll
        for (int t = 0; t < tiles; t++) ldmatrix(a[t], q_at + 2 * (t * 16 * k_width + k * 16));
        #pragma unroll
        for (int n = 0; n < columns / 16; n++) {
          unsigned f[4];
          ldmatrix(f, key_at + 2 * (n * 16 * k_width + k * 16));
          #pragma unroll
          for (int t = 0; t < tiles; t++) {
            mma<S>(s[t][2 * n], a[t], f[0], f[1]);
            mma<S>(s[t][2 * n + 1], a[t], f[2], f[3]);
          }
        }
      }
      copies_done<0>();
      __syncthreads();
      if (from + columns < most) load_keys(from + columns);

      #pragma unroll
      for (int t = 0; t < tiles; t++) {
        if (S::masked || S::causal && S::strict || from + columns > least) exclude(p, s[t], b, g, own + 16 * t, from);
        advance<S>(s[t], o[t], top[t], sum[t]);
      }
      #pragma unroll
      for (int k = 0; k < columns / 16; k++) {
        unsigned a[tiles][4];
        #pragma unroll
        for (int t = 0; t < tiles; t++) weights<S>(a[t], s[t][2 * k], s[t][2 * k + 1]);
        #pragma unroll
        for (int n = 0; n < ep / 16; n++) {
          unsigned f[4];
          ldmatrix_turned(f, value_at + 2 * (k * 16 * v_width + n * 16));
          #pragma unroll
          for (int t = 0; t < tiles; t++) {
            mma<S>(o[t][2 * n], a[t], f[0], f[1]);
            mma<S>(o[t][2 * n + 1], a[t], f[2], f[3]);
          }
        }
      }
    }

    #pragma unroll
    for (int t = 0; t < tiles; t++) store(p, o[t], sum[t], b, g, own + 16 * t);
  }
};

}  // namespace attention
