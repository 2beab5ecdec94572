/* Attention of many queries without tensor cores, for every type and any number of
   channels. A warp has some rows, and a block those of its warps; keys and values come to
   shared memory 32 at a time. Of the first product a lane has one key, of the second every
   32nd channel. */
namespace attention {

template <class S, int warps, int own> struct by_lanes {
  typedef typename S::real real;
  static constexpr int threads = 32 * warps, rows = warps * own, each = row_state<S>::each;
  static constexpr int k_width = 33, v_width = 32 * each, d4 = (S::d + 3) / 4 * 4;
  real k[d4][k_width], v[32][v_width], q[rows][d4], p[warps][own][32];

  INLINE void run(const operands<S> &p) {
    extern __shared__ __align__(16) unsigned char lanes_memory[];
    ((by_lanes *)lanes_memory)->attend(p);
  }

  __device__ __forceinline__ void attend(const operands<S> &ops) {
    constexpr real log2e = (real)1.4426950408889634;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int b = blockIdx.z, g = blockIdx.y;
    const int first = ((int)gridDim.x - 1 - (int)blockIdx.x) * rows;  // the rows that see most begin first
    constexpr int all = S::queries * S::ratio;
    const int last = first + rows < all ? first + rows : all;
    int most, least;
    seen_by(ops, b, first, last, most, least);
    for (int u = threadIdx.x; u < rows * d4; u += threads) {
      const int at = first + u / d4, c = u % d4;
      const bool in = at < all && c < S::d;
      q[u / d4][c] = in ? get<S>(ops.q + b * S::q_batch + (g * S::ratio + at % S::ratio) * S::q_head + (i64)(at / S::ratio) * S::q_row + c * S::q_step) : 0;
    }
    real o[own][each], top[own], sum[own];
    int seen[own];
    #pragma unroll
    for (int r = 0; r < own; r++) {
      const int at = first + warp * own + r;
      seen[r] = at < all ? visible(ops, b, at / S::ratio) : 0;
      top[r] = lowest<real>();
      sum[r] = 0;
      for (int c = 0; c < each; c++) o[r][c] = 0;
    }
    for (int from = 0; from < most; from += 32) {
      __syncthreads();
      for (int u = threadIdx.x; u < 32 * d4; u += threads) {
        const int j = from + u / d4, c = u % d4;
        const place at = j < most ? locate(ops, b, j) : place{0, -1};
        k[c][u / d4] = at.row >= 0 && c < S::d ? get<S>(ops.k + at.batch * S::k_batch + g * S::k_head + at.row * S::k_row + c * S::k_step) : 0;
      }
      for (int u = threadIdx.x; u < 32 * v_width; u += threads) {
        const int j = from + u / v_width, c = u % v_width;
        const place at = j < most ? locate(ops, b, j) : place{0, -1};
        v[u / v_width][c] = at.row >= 0 && c < S::e ? get<S>(ops.v + at.batch * S::v_batch + g * S::v_head + at.row * S::v_row + c * S::v_step) : 0;
      }
      __syncthreads();
      real s[own];
      #pragma unroll
      for (int r = 0; r < own; r++) s[r] = 0;
      #pragma unroll 2
      for (int c = 0; c < d4; c += 4) {
        const real key[4] = {k[c][lane], k[c + 1][lane], k[c + 2][lane], k[c + 3][lane]};
        #pragma unroll
        for (int r = 0; r < own; r++)
          for (int t = 0; t < 4; t++) s[r] = fused(q[warp * own + r][c + t], key[t], s[r]);
      }
      #pragma unroll
      for (int r = 0; r < own; r++) {
        const int at = first + warp * own + r, i = at / S::ratio, h = g * S::ratio + at % S::ratio, j = from + lane;
        bool excluded = j >= seen[r];
        const real score = excluded ? lowest<real>() : masked(ops, s[r] * (real)S::scale, b, h, i, j, excluded);
        const real scaled = score * log2e, now = larger(top[r], warp_max(scaled));
        const real base = now == lowest<real>() ? 0 : now, shrink = power(top[r] - base), weight = power(scaled - base);
        top[r] = now;
        sum[r] = sum[r] * shrink + warp_sum(weight);
        #pragma unroll
        for (int c = 0; c < each; c++) o[r][c] *= shrink;
        p[warp][r][lane] = weight;
      }
      __syncwarp();
      #pragma unroll 2
      for (int t = 0; t < 32; t += 4) {
        real x[4][each];
        #pragma unroll
        for (int a = 0; a < 4; a++)
          for (int c = 0; c < each; c++) x[a][c] = v[t + a][lane + 32 * c];
        #pragma unroll
        for (int r = 0; r < own; r++)
          for (int a = 0; a < 4; a++) {
            const real w = p[warp][r][t + a];
            for (int c = 0; c < each; c++) o[r][c] = fused(w, x[a][c], o[r][c]);
          }
      }
    }
    #pragma unroll
    for (int r = 0; r < own; r++) {
      const int at = first + warp * own + r, i = at / S::ratio, h = g * S::ratio + at % S::ratio;
      if (at >= all) continue;
      bool bad = false;
      typename S::out_elem *out = ops.out + b * S::out_batch + h * S::out_head + (i64)i * S::out_row;
      #pragma unroll
      for (int c = 0; c < each; c++) {
        const real x = finished<S>(o[r][c], sum[r]);
        bad = bad || lane + 32 * c < S::e && x != x;
        if (lane + 32 * c < S::e) put<S>(out + (lane + 32 * c) * S::out_step, x);
      }
      /* A value that is no number has reached rows that do not see it, with weight zero. */
      if constexpr ((S::causal || S::cached || S::masked) && !S::strict)
        if (__any_sync(~0u, bad)) {
          __syncwarp();
          attend_row(ops, b, h, i);
        }
    }
  }
};

}  // namespace attention
