/* Products of half precision by warpgroups of four warps (sm_90a). One warp of a block asks
   the copy engine for boxes of both matrices; the warpgroups that multiply wait for them,
   and tell when they have done with a stage. They take tiles by turns, so that one team
   multiplies while another stores, and a block stays until no tile is left. */

/* What the copy engine knows of a matrix. */
struct alignas(64) tensor_map { unsigned long long words[16]; };

/* A barrier in shared memory ends a phase when so many have arrived and all bytes that were
   expected have. Phases are even and odd in turns. */
INLINE void barrier_begin(unsigned at, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory"); }
INLINE void barrier_expect(unsigned at, int bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory"); }
INLINE void barrier_arrive(unsigned at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
INLINE void barrier_wait(unsigned at, int odd) {
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra over;\nbra again;\nover:\n}" ::"r"(at), "r"(odd) : "memory");
}

/* One team waits until another gives it the turn; so many threads are in both. */
INLINE void await_turn(int turn, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(turn + 1), "r"(threads) : "memory"); }
INLINE void give_turn(int turn, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(turn + 1), "r"(threads) : "memory"); }

/* A box of a matrix from a place on, which the barrier hears of. */
INLINE void bring(unsigned to, const tensor_map *m, unsigned barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(x), "r"(y) : "memory");
}
INLINE void bring(unsigned to, const tensor_map *m, unsigned barrier, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
INLINE void bring(unsigned to, const tensor_map *m, unsigned barrier, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

/* A block of a stage lies as the copy engine and the tensor cores agree: along k, lines of
   64 k, one for each of cols; else lines of 64 of cols, one for each of k, and so on for the
   next 64. Units of 16 bytes of a line are exchanged, by the number of the line. */
template <bool along, int rows, int cols> struct wgmma_block {
  /* The matrix from column c on and 16 of k from k on. */
  INLINE_MEMBER static unsigned long long describe(unsigned base, int k, int c) {
    const unsigned at = base + (along ? (k / 64 * cols + c) * 128 + k % 64 * 2 : (c / 64 * rows + k) * 128);
    const unsigned long long next_columns = along ? 1 : rows * 128 / 16, next_eight = 1024 / 16;
    return (unsigned long long)(at >> 4) | next_columns << 16 | next_eight << 32 | 1ull << 62;
  }
};

template <class P> INLINE void wgmma(const P &p, typename P::Out *o, const tensor_map &a, const tensor_map &b, float *part, char *memory) {
  constexpr int BM = P::BM, BN = P::BN, BK = P::BK, WM = P::WM, WN = P::WN, stages = P::stages, groups = WM * WN, turns = P::turns;
  static_assert(turns <= 2, "teams take tiles by turns");
  constexpr int TM = BM / WM / 64, width = BN / WN, bytes_a = BM * BK * 2, bytes = bytes_a + BN * BK * 2;
  constexpr int tiles = (P::M + BM - 1) / BM * ((P::N + BN - 1) / BN), work = tiles * P::slices * P::batches;
  typedef wgmma_block<P::a_along, BK, BM> block_a;
  typedef wgmma_block<P::b_along, BK, BN> block_b;
  const unsigned base = (shared_address(memory) + 1023) & ~1023u, full = base + stages * bytes, empty = full + stages * 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, turn = warp / (groups * 4), group = warp / 4 % groups;
  struct place { int row, column, z, slice, k, k1; };
  auto begin = [&](place &at, int w) {
    place_block<P>(w % tiles, at.row, at.column);
    at.slice = w / tiles % P::slices;
    at.z = w / (tiles * P::slices);
    at.k = at.slice * P::slice;
    at.k1 = min(P::K, at.k + P::slice);
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; s++) {
      barrier_begin(full + s * 8, 1);
      barrier_begin(empty + s * 8, groups * 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  int stage = 0, odd = 0;
  auto advance = [&](int by) {
    stage += by;
    odd ^= stage / stages & 1;
    stage %= stages;
  };
  if (turn == turns) {
    if (lane == 0) {
      for (int w = blockIdx.x; w < work; w += gridDim.x) {
        place at;
        begin(at, w);
#pragma unroll 1
        for (int k = at.k; k < at.k1; k += BK) {
          barrier_wait(empty + stage * 8, odd ^ 1);
          const unsigned to = base + stage * bytes, barrier = full + stage * 8;
          barrier_expect(barrier, bytes);
          if (P::a_along) {
#pragma unroll
            for (int q = 0; q < BK; q += 64) P::bring_a(to + q * BM * 2, &a, barrier, k + q, at.row, at.z);
          } else {
#pragma unroll
            for (int c = 0; c < BM; c += 64) P::bring_a(to + c * BK * 2, &a, barrier, at.row + c, k, at.z);
          }
          if (P::b_along) {
#pragma unroll
            for (int q = 0; q < BK; q += 64) P::bring_b(to + bytes_a + q * BN * 2, &b, barrier, k + q, at.column, at.z);
          } else {
#pragma unroll
            for (int c = 0; c < BN; c += 64) P::bring_b(to + bytes_a + c * BK * 2, &b, barrier, at.column + c, k, at.z);
          }
          advance(1);
        }
      }
    }
    return;
  }
  const int top = group / WN * TM * 64, left = group % WN * width;
  float *room = (float *)(memory + (empty + stages * 8 - shared_address(memory))) + warp * 16 * 40;
  if (turns > 1 && turn == 1) give_turn(0, 2 * groups * 128);
  for (int w = blockIdx.x, team = 0; w < work; w += gridDim.x, team = (team + 1) % turns) {
    place at;
    begin(at, w);
    if (team != turn) {
      advance((at.k1 - at.k + BK - 1) / BK);
      continue;
    }
    /* A barrier tells odd phases from even ones, and so must not be asked of a later one. */
    if (turns > 1) await_turn(turn, 2 * groups * 128);
    float sum[TM][width / 2];
    unsigned before = 0;
#pragma unroll 1
    for (int k = at.k; k < at.k1; k += BK) {
      barrier_wait(full + stage * 8, odd);
      const unsigned from_a = base + stage * bytes, from_b = from_a + bytes_a;
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int q = 0; q < BK; q += 16)
#pragma unroll
        for (int i = 0; i < TM; i++)
          wgmma_step<!P::a_along, !P::b_along>(typename P::A(), sum[i], block_a::describe(from_a, q, top + i * 64), block_b::describe(from_b, q, left), q > 0 || k > at.k);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (before && lane == 0) barrier_arrive(before);
      before = empty + stage * 8;
      advance(1);
    }
    if (turns > 1) give_turn(turn ^ 1, 2 * groups * 128);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (lane == 0) barrier_arrive(before);
    typename P::Out *to = o + P::o_at(at.z);
    float *slice = P::slices > 1 ? part + ((i64)at.slice * P::batches + at.z) * P::M * P::N : nullptr;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < width / 32; j++)
        put_sums<4>(p, to, slice, at.z, at.row + top + i * 64 + warp % 4 * 16, at.column + left + j * 32, sum[i] + j * 16, room);
  }
}
