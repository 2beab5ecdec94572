/* Products of half precision by warpgroups of four warps (sm_90a): both matrices are read
   from shared memory, where lines of 128 bytes have their units of 16 exchanged as the
   hardware does. Work of two stages is in flight, and copies of the others. */
template <bool along, int rows, int cols> struct wgmma_block {
  /* Along k: lines of 64 k, one for each of cols. Else lines of 64 of cols, one for each
     of k, and so on for the next 64. */
  static constexpr int line = (along ? rows : cols) / 8, lines = along ? cols : rows, bytes = 128;
  INLINE_MEMBER static unsigned at(int l, int unit) { return (unit / 8 * lines + l) * 128 + (unit % 8 ^ l % 8) * 16; }
  /* The matrix from column c on and 16 of k from k on. */
  INLINE_MEMBER static unsigned long long describe(unsigned base, int k, int c) {
    const unsigned at = base + (along ? (k / 64 * cols + c) * 128 + k % 64 * 2 : (c / 64 * rows + k) * 128);
    const unsigned long long next_columns = along ? 1 : rows * 128 / 16, next_eight = 1024 / 16;
    return (unsigned long long)((at & 0x3ffff) >> 4) | next_columns << 16 | next_eight << 32 | 1ull << 62;
  }
};

/* Blocks stay and take one tile after another: while the results of one are stored, the
   first stages of the next are on their way. Steps are counted over all tiles. */
template <class P> INLINE void wgmma(const P &p, typename P::Out *o, const typename P::A *a, const typename P::B *b, float *part, char *memory) {
  constexpr int BM = P::BM, BN = P::BN, BK = P::BK, WM = P::WM, WN = P::WN, stages = P::stages, threads = P::threads;
  constexpr int TM = BM / WM / 64, width = BN / WN, bytes_a = BM * BK * 2, bytes = bytes_a + BN * BK * 2, ahead = stages - 2;
  constexpr int tiles = (P::M + BM - 1) / BM * ((P::N + BN - 1) / BN), work = tiles * P::slices * P::batches;
  typedef wgmma_block<P::a_along, BK, BM> block_a;
  typedef wgmma_block<P::b_along, BK, BN> block_b;
  const unsigned base = (shared_address(memory) + 1023) & ~1023u;
  const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int top = group / WN * TM * 64, left = group % WN * width;
  struct place { int row, column, z, slice, k, k1; };
  auto begin = [&](place &at, int w) {
    place_block<P>(w % tiles, at.row, at.column);
    at.slice = w / tiles % P::slices;
    at.z = w / (tiles * P::slices);
    at.k = at.slice * P::slice;
    at.k1 = min(P::K, at.k + P::slice);
  };
  int next = blockIdx.x, stage_in = 0, stage = 0;
  place in;
  begin(in, min(next, work - 1));
  auto fill = [&]() {
    if (next < work) {
      const unsigned to = base + stage_in * bytes;
      fill_block<block_a, typename P::A, P::a_along, P::a_whole, P::slice_k % BK == 0, BK, BM, threads, P::M>(to, a + P::a_at(in.z), in.k, in.k1, in.row, P::a_k, P::a_m);
      fill_block<block_b, typename P::B, P::b_along, P::b_whole, P::slice_k % BK == 0, BK, BN, threads, P::N>(to + bytes_a, b + P::b_at(in.z), in.k, in.k1, in.column, P::b_k, P::b_n);
      if ((in.k += BK) >= in.k1) {
        next += gridDim.x;
        if (next < work) begin(in, next);
      }
    }
    commit_copies();
    stage_in = stage_in + 1 == stages ? 0 : stage_in + 1;
  };
  for (int t = 0; t < ahead; t++) fill();
  for (int w = blockIdx.x; w < work; w += gridDim.x) {
    place at;
    begin(at, w);
    float sum[TM][width / 2];
    bool more = false;
    for (int k = at.k; k < at.k1; k += BK) {
      wait_copies<ahead - 1>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      const unsigned from_a = base + stage * bytes, from_b = from_a + bytes_a;
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int q = 0; q < BK; q += 16)
#pragma unroll
        for (int i = 0; i < TM; i++)
          wgmma_step<!P::a_along, !P::b_along>(typename P::A(), sum[i], block_a::describe(from_a, q, top + i * 64), block_b::describe(from_b, q, left), q > 0 || more);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      more = true;
      fill();
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    typename P::Out *to = o + P::o_at(at.z);
    float *slice = P::slices > 1 ? part + ((i64)at.slice * P::batches + at.z) * P::M * P::N : nullptr;
/* The stage that is filled next is free as soon as all warps have done with it. */
    __syncthreads();
    constexpr int part_width = width % 64 == 0 && 16 * 72 * 4 * threads / 32 <= bytes ? 64 : 32, room_bytes = 16 * (part_width + 8) * 4;
    static_assert(room_bytes * threads / 32 <= bytes, "a stage has room for results of all warps");
    float *room = (float *)(memory + (base - shared_address(memory)) + stage_in * bytes + threadIdx.x / 32 * room_bytes);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < width / part_width; j++)
        put_sums<part_width / 8>(p, to, slice, at.z, at.row + top + i * 64 + warp * 16, at.column + left + j * part_width, sum[i] + j * part_width / 2, room);
  }
}
