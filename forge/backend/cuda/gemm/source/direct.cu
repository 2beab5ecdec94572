/* Small products in f32: operands come straight to registers, many at a time, and the
   warps of a block divide k among them, so that little time passes between the first load
   and the last. A thread has TM x TN results. */
template <class T, bool along, bool whole, int count> struct direct_part {
  /* Four of k for so many of the other direction, in runs of unit that lie apart. */
  static constexpr int unit = count < 4 ? count : 4;
  float at[count][4];
  template <int C> INLINE_MEMBER void load(const T *p, int k, int k1, int c0, int apart, i64 step_k, i64 step_c) {
    if (whole && along) {
#pragma unroll
      for (int j = 0; j < count; j++) {
        const int c = c0 + j / unit * apart + j % unit;
        pack<T, 4> x;
        const bool in = k < k1 && (C == 0 || c < C);
        if (in) x = *(const pack<T, 4> *)(p + k * step_k + c * step_c);
#pragma unroll
        for (int q = 0; q < 4; q++) at[j][q] = in ? to_float(x.at[q]) : 0;
      }
    } else if (whole) {
#pragma unroll
      for (int q = 0; q < 4; q++)
#pragma unroll
        for (int j = 0; j < count; j += unit) {
          const int c = c0 + j / unit * apart;
          pack<T, unit> x;
          const bool in = k + q < k1 && (C == 0 || c < C);
          if (in) x = *(const pack<T, unit> *)(p + (k + q) * step_k + c * step_c);
#pragma unroll
          for (int h = 0; h < unit; h++) at[j + h][q] = in ? to_float(x.at[h]) : 0;
        }
    } else {
#pragma unroll
      for (int j = 0; j < count; j++)
#pragma unroll
        for (int q = 0; q < 4; q++) {
          const int c = c0 + j / unit * apart + j % unit;
          at[j][q] = k + q < k1 && (C == 0 || c < C) ? to_float(p[(k + q) * step_k + c * step_c]) : 0;
        }
    }
  }
};

template <class P> INLINE void direct(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, char *memory) {
  constexpr int TM = P::TM, TN = P::TN, LM = P::LM, LN = 32 / LM, W = P::threads / 32, U = P::unroll, BM = P::BM, BN = P::BN;
  constexpr int UM = TM < 4 ? TM : 4, UN = TN < 4 ? TN : 4;
  float *sums = (float *)memory; /* [W][BM][BN] */
  const int z = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int columns = (P::N + BN - 1) / BN;
  const int row = blockIdx.x / columns * BM, column = blockIdx.x % columns * BN, top = lane / LN * UM, left = lane % LN * UN;
  a += P::a_at(z);
  b += P::b_at(z);
  o += P::o_at(z);
  float sum[TM][TN] = {};
  direct_part<typename P::A, P::a_along, P::a_whole, TM> x[U];
  direct_part<typename P::B, P::b_along, P::b_whole, TN> y[U];
  auto load_b = [&](int k0) {
#pragma unroll
    for (int u = 0; u < U; u++) y[u].template load<P::N % BN == 0 ? 0 : P::N>(b, k0 + u * W * 4, P::K, column + left, LN * UN, P::b_k, P::b_n);
  };
  load_b(warp * 4);
  if (P::enters) ENTER;
  /* The number of passes is known, so that loads of one may come before the sums of another. */
  constexpr int pass = W * 4 * U, passes = (P::K + pass - 1) / pass;
#pragma unroll(passes < 4 ? passes : 4)
  for (int i = 0; i < passes; i++) {
    const int k0 = warp * 4 + i * pass;
    if (i > 0) load_b(k0);
#pragma unroll
    for (int u = 0; u < U; u++) x[u].template load<P::M % BM == 0 ? 0 : P::M>(a, k0 + u * W * 4, P::K, row + top, LM * UM, P::a_k, P::a_m);
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
      for (int q = 0; q < 4; q++)
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++) sum[i][j] = __fmaf_rn(x[u].at[i][q], y[u].at[j][q], sum[i][j]);
  }
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j++)
      sums[(warp * BM + top + i / UM * LM * UM + i % UM) * BN + left + j / UN * LN * UN + j % UN] = sum[i][j];
  __syncthreads();
#pragma unroll 1
  for (int u = threadIdx.x; u < BM * BN; u += P::threads) {
    const int m = row + u / BN, n = column + u % BN;
    float x = 0;
#pragma unroll
    for (int w = 0; w < W; w++) x += sums[w * BM * BN + u];
    if (m < P::M && n < P::N) from_float(o[(i64)m * P::o_m + n], p.finish(x, z, m, n));
  }
}
