/* Products of half precision by the tensor cores, m16n8k16 with sums in f32. Blocks of the
   matrices wait in shared memory in several stages. Units of 16 bytes are exchanged within
   128 bytes so that eight rows of a unit lie in different banks. */
template <bool along, int rows, int cols> struct mma_block {
  /* along k: [cols][rows] with units along k; else [rows][cols]; rows are of k. */
  static constexpr int line = (along ? rows : cols) / 8, lines = along ? cols : rows, bytes = line * 16;
  INLINE_MEMBER static unsigned at(int l, int unit) {
    const int twist = line >= 8 ? l % 8 : l / (8 / line) % line;
    return (l * line + (unit ^ twist)) * 16;
  }
};

template <bool trans> INLINE void load_matrices(unsigned (&r)[4], unsigned at) {
  if (trans) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  else asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}

template <class T> struct mma_of;
#define MMA(type, suffix) \
  template <> struct mma_of<type> { \
    INLINE_MEMBER static void step(float (&d)[4], const unsigned *a, const unsigned *b) { \
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." suffix "." suffix ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    } \
  };
#if __CUDA_ARCH__ >= 800
MMA(f16_t, "f16") MMA(bf16_t, "bf16")
#undef MMA
#else
template <> struct mma_of<f16_t> {
  INLINE_MEMBER static void step(float (&d)[4], const unsigned *a, const unsigned *b) {
#pragma unroll
    for (int h = 0; h < 2; h++)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[2 * h]), "r"(a[2 * h + 1]), "r"(b[h]));
  }
};
#endif

template <class P> INLINE void mma(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, float *part, char *memory) {
  constexpr int BM = P::BM, BN = P::BN, BK = P::BK, WM = P::WM, WN = P::WN, stages = P::stages, threads = P::threads;
  constexpr int TM = BM / WM / 16, TN = BN / WN / 8, bytes_a = BM * BK * 2, bytes = bytes_a + BN * BK * 2;
  typedef mma_block<P::a_along, BK, BM> block_a;
  typedef mma_block<P::b_along, BK, BN> block_b;
  const unsigned base = shared_address(memory);
  const int z = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32, slice = blockIdx.y;
  int row, column;
  place_block<P>(blockIdx.x, row, column);
  const int top = warp / WN * TM * 16, left = warp % WN * TN * 8;
  const int k0 = slice * P::slice, k1 = min(P::K, k0 + P::slice), count = (k1 - k0 + BK - 1) / BK;
  a += P::a_at(z);
  b += P::b_at(z);
  o += P::o_at(z);
  if (P::slices > 1) part += ((i64)slice * P::batches + z) * P::M * P::N;
  auto fill = [&](int t) {
    if (t < count) {
      const unsigned to = base + t % stages * bytes;
      fill_block<block_a, typename P::A, P::a_along, P::a_whole, P::slice_k % BK == 0, BK, BM, threads, P::M>(to, a, k0 + t * BK, k1, row, P::a_k, P::a_m, P::a_get);
      fill_block<block_b, typename P::B, P::b_along, P::b_whole, P::slice_k % BK == 0, BK, BN, threads, P::N>(to + bytes_a, b, k0 + t * BK, k1, column, P::b_k, P::b_n, P::b_get);
    }
    commit_copies();
  };
  for (int t = 0; t < stages - 1; t++) fill(t);
  float sum[TM][TN][4] = {};
  for (int t = 0; t < count; t++) {
    wait_copies<stages - 2>();
    __syncthreads();
    fill(t + stages - 1);
    const unsigned from_a = base + t % stages * bytes, from_b = from_a + bytes_a;
#pragma unroll
    for (int q = 0; q < BK / 8; q += 2) {
      unsigned x[TM][4], y[(TN + 1) / 2][4];
#pragma unroll
      for (int i = 0; i < TM; i++) {
        const int m = top + i * 16;
        if (P::a_along) load_matrices<false>(x[i], from_a + block_a::at(m + lane % 16, q + lane / 16));
        else load_matrices<true>(x[i], from_a + block_a::at(q * 8 + lane / 16 * 8 + lane % 8, m / 8 + lane / 8 % 2));
      }
#pragma unroll
      for (int j = 0; j < TN; j += 2) {
        const int n = left + j * 8;
        if (P::b_along) load_matrices<false>(y[j / 2], from_b + block_b::at(n + lane / 16 * 8 + lane % 8, q + lane / 8 % 2));
        else load_matrices<true>(y[j / 2], from_b + block_b::at(q * 8 + lane / 8 % 2 * 8 + lane % 8, n / 8 + lane / 16));
      }
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) mma_of<typename P::A>::step(sum[i][j], x[i], y[j / 2] + j % 2 * 2);
    }
  }
  wait_copies<0>();
  __syncthreads();
  if (P::cluster > 1) {
    float *sums = (float *)memory;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) {
        float *to = sums + (top + i * 16 + lane / 4) * (BN + 4) + left + j * 8 + lane % 4 * 2;
        *(float2 *)to = float2{sum[i][j][0], sum[i][j][1]};
        *(float2 *)(to + 8 * (BN + 4)) = float2{sum[i][j][2], sum[i][j][3]};
      }
    join_cluster(p, o, z, row, column, sums);
    return;
  }
  float *room = (float *)memory + warp * 16 * (TN * 8 + 8);
#pragma unroll
  for (int i = 0; i < TM; i++) put_sums<TN>(p, o, part, z, row + top + i * 16, column + left, sum[i][0], room);
}
