/* Products in f32 of a thread for TM x TN results. Blocks of both matrices lie in shared
   memory twice, rows of k; the next ones come into registers during the work on the last. */
template <class T, bool along, bool whole, int rows, int cols, int threads> struct simt_source {
  /* The block is [rows] of k by [cols]. A unit is four elements along the direction in which memory is contiguous. */
  static constexpr int all = rows * cols / 4, units = (all + threads - 1) / threads;
  float held[units][4];
  /* Where unit i of this thread is; false when there is none. */
  INLINE_MEMBER static bool where(int i, int &k, int &c) {
    const int u = i * threads + threadIdx.x;
    if (along) { c = u / (rows / 4); k = u % (rows / 4) * 4; } /* along k */
    else { k = u / (cols / 4); c = u % (cols / 4) * 4; }
    return all % threads == 0 || u < all;
  }
  template <int K, int C, class Get> INLINE_MEMBER void load(const T *p, int k0, int k1, int c0, i64 step_k, i64 step_c, Get get) {
#pragma unroll
    for (int i = 0; i < units; i++) {
      int k, c;
      if (!where(i, k, c)) break;
      k += k0; c += c0;
      if (whole) {
        const bool in = (K % rows == 0 || k < k1) && (C % cols == 0 || c < C);
        pack<T, 4> x;
        if (in) x = *(const pack<T, 4> *)(p + k * step_k + c * step_c);
#pragma unroll
        for (int j = 0; j < 4; j++) held[i][j] = in ? to_float(x.at[j]) : 0;
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          const int kj = along ? k + j : k, cj = along ? c : c + j;
          held[i][j] = kj < k1 && cj < C ? to_float(get(p, kj, cj)) : 0;
        }
      }
    }
  }
  INLINE_MEMBER void store(float (*to)[cols + 4]) const {
#pragma unroll
    for (int i = 0; i < units; i++) {
      int k, c;
      if (!where(i, k, c)) break;
      if (along) {
#pragma unroll
        for (int j = 0; j < 4; j++) to[k + j][c] = held[i][j];
      } else {
        *(float4 *)&to[k][c] = float4{held[i][0], held[i][1], held[i][2], held[i][3]};
      }
    }
  }
};

template <class P> INLINE void simt(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, float *part, char *memory) {
  constexpr int BM = P::BM, BN = P::BN, BK = P::BK, TM = P::TM, TN = P::TN, LM = P::LM, LN = 32 / LM, WN = BN / (LN * TN), threads = P::threads;
  float(*as)[BK][BM + 4] = (float(*)[BK][BM + 4])memory;
  float(*bs)[BK][BN + 4] = (float(*)[BK][BN + 4])(memory + 2 * sizeof(*as));
  const int z = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32, slice = blockIdx.y;
  int row, column;
  place_block<P>(blockIdx.x, row, column);
  const int left = warp / WN * LM * TM + lane / LN * 4, top = warp % WN * LN * TN + lane % LN * 4;
  const int k0 = slice * P::slice, k1 = min(P::K, k0 + P::slice);
  a += P::a_at(z);
  b += P::b_at(z);
  o += P::o_at(z);
  if (P::slices > 1) part += ((i64)slice * P::batches + z) * P::M * P::N;
  float sum[TM][TN] = {};
  simt_source<typename P::A, P::a_along, P::a_whole, BK, BM, threads> next_a;
  simt_source<typename P::B, P::b_along, P::b_whole, BK, BN, threads> next_b;
  next_b.template load<P::slice_k, P::N>(b, k0, k1, column, P::b_k, P::b_n, P::b_get);
  if (P::enters) ENTER; /* B is as the kernels before leave it */
  next_a.template load<P::slice_k, P::M>(a, k0, k1, row, P::a_k, P::a_m, P::a_get);
  next_a.store(as[0]);
  next_b.store(bs[0]);
  __syncthreads();
  int now = 0;
  for (int k = k0; k < k1; k += BK, now ^= 1) {
    const bool more = k + BK < k1;
    if (more) {
      next_a.template load<P::slice_k, P::M>(a, k + BK, k1, row, P::a_k, P::a_m, P::a_get);
      next_b.template load<P::slice_k, P::N>(b, k + BK, k1, column, P::b_k, P::b_n, P::b_get);
    }
#pragma unroll
    for (int q = 0; q < BK; q++) {
      float x[TM], y[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) *(float4 *)(x + i) = *(const float4 *)&as[now][q][left + i * LM];
#pragma unroll
      for (int j = 0; j < TN; j += 4) *(float4 *)(y + j) = *(const float4 *)&bs[now][q][top + j * LN];
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] = __fmaf_rn(x[i], y[j], sum[i][j]);
    }
    if (more) {
      next_a.store(as[now ^ 1]);
      next_b.store(bs[now ^ 1]);
    }
    __syncthreads();
  }
  if (P::cluster > 1) {
    float *sums = (float *)memory;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        *(float4 *)(sums + (left + i / 4 * 4 * LM + i % 4) * (BN + 4) + top + j * LN) = float4{sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
    join_cluster(p, o, z, row, column, sums);
    return;
  }
  constexpr int cols = LN * TN;
  float *room = (float *)memory + warp * LM * 4 * (cols + 4);
#pragma unroll
  for (int i = 0; i < TM; i += 4) {
#pragma unroll
    for (int h = 0; h < 4; h++)
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        *(float4 *)(room + (lane / LN * 4 + h) * (cols + 4) + j * LN + lane % LN * 4) = float4{sum[i + h][j], sum[i + h][j + 1], sum[i + h][j + 2], sum[i + h][j + 3]};
    put_rows<LM * 4, cols, 4>(p, o, part, z, row + warp / WN * LM * TM + i * LM, column + warp % WN * LN * TN, room);
  }
}
