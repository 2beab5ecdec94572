/* Attention of up to 16 rows of one key head, on tensor cores of sm_80 and later. Keys and
   values go from memory straight to registers, in pieces of 16 bytes: both products are
   sums over something whose order is free, so that the pieces a lane reads can be taken
   for the elements that the instruction wants of it.

   Of a key, the lanes of a quad read neighbouring pieces of 8 channels, which are the
   channels of two steps of the first product; queries are read alike. Of values, a lane
   reads 8 channels of the four keys whose weights it has, and pairs those of two keys.

   With a new token (T::any) the kernel also does what append does for it: each block turns
   the queries and the key that it needs, and the one whose keys end with the token writes
   it to the cache. What is there before the kernels before are done, positions, the table
   and all keys but the new one, is asked for before that. */
namespace attention {

struct no_token { static constexpr bool any = false; };

template <class S, int warps, int passes, class T> struct decode {
  static constexpr int rows = 16, chunks = S::d / 32, halves = S::e / 64, limit = S::queries * S::ratio, kept = limit < rows ? limit : rows;

  /* The new token of a row and a key head, and the queries of a block. Rows are apart by
     16 bytes more than they have, so that eight of them are in different banks. */
  struct token {
    alignas(16) u16 q[kept][S::d + 8], key[S::d], value[S::e];
    float2 turn[S::d / 2];
  };

  /* Reads the new token and the queries, turns them, and writes the token to its place. */
  INLINE void enter(token &to, const T &t, int b, int g, int first, int count, i64 place, bool writes) {
    typedef typename T::shape A;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const i64 position = t.start(b);
    for (int i = threadIdx.x; i < A::pairs; i += 32 * warps) to.turn[i] = T::turn(i, position);
    AWAIT;
    constexpr int each = (kept + warps) / warps; /* of the queries and the key */
    typename T::template head<S::d, true> x[each];
    typename T::template head<S::e, false> y;
    #pragma unroll
    for (int i = 0; i < each; i++) {
      const int slot = warp + i * warps;
      if (slot < count) x[i].load(t.q_at(b, g * S::ratio + first + slot, 0), A::q_step, lane);
      if (slot == kept) x[i].load(t.k_at(b, g, 0), A::k_step, lane);
    }
    if (warp == warps - 1) y.load(t.v_at(b, g, 0), A::v_step, lane);
    __syncthreads();
    auto turn = [&](int i) { return to.turn[i]; };
    #pragma unroll
    for (int i = 0; i < each; i++) {
      const int slot = warp + i * warps;
      if (slot < count) x[i].store(to.q[slot], 1, lane, turn);
      if (slot == kept) {
        x[i].store(to.key, 1, lane, turn);
        if (writes) x[i].store(t.key_at(place, g), A::keys_step, lane, turn);
      }
    }
    if (warp == warps - 1) {
      y.store(to.value, 1, lane, turn);
      if (writes) y.store(t.value_at(place, g), A::values_step, lane, turn);
    }
    __syncthreads();
  }

  INLINE void read(uint4 &x, const u16 *from, bool in) {
    x = make_uint4(0, 0, 0, 0);
    if (in) x = __ldcg((const uint4 *)from); /* kernels before write it, so not as what never changes */
  }

  INLINE void run(const operands<S> &p, float *scratch, unsigned *counters, const T &t, int *fault, int step) {
    __shared__ partial<S, warps, kept> all;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, quad = lane % 4, eighth = lane / 4;
    const int splits = gridDim.x, split = blockIdx.x, b = blockIdx.z;
    constexpr int row_blocks = (limit + rows - 1) / rows;
    const int g = blockIdx.y / row_blocks, first = blockIdx.y % row_blocks * rows;
    const int last = first + rows < limit ? first + rows : limit;

    int most, least;
    seen_by(p, b, first, last, most, least);
    int from, to;
    const int active = share<16 * warps * passes>(most, splits, split, from, to);
    if constexpr (T::any)
      if (split == 0 && blockIdx.y == 0 && warp == 0 && t.wrong(b, 0, lane)) atomicMin(fault, step);
    if (split >= active) return;
    i64 own = -1; /* the place of the new token, which is not in the cache yet */
    if constexpr (T::any) own = t.place_of(b, t.start(b));

    /* Where 16 neighbouring keys stand in one block, one look at the table is enough, and it
       is taken ahead. */
    constexpr bool together = !S::paged || S::block % 16 == 0;
    uint4 k[2][chunks], v[halves][4];
    unsigned new_keys; /* a bit for each key and value of the lane that is the new token's */
    place next{0, -1};
    if (together) next = locate_any(p, b, from + warp * 16);
    auto bring = [&](int j) {
      new_keys = 0;
      const place all_at = next;
      if (together) next = locate_any(p, b, j + warps * 16);
      auto where = [&](int key, int bit) {
        place at = together ? place{all_at.batch, all_at.row < 0 ? -1 : all_at.row + key - j} : locate_any(p, b, key);
        if (key >= to) at.row = -1;
        if constexpr (T::any)
          if (at.row >= 0 && at.batch * T::shape::block + at.row == own) {
            new_keys |= 1u << bit;
            at.row = -1;
          }
        return at;
      };
      #pragma unroll
      for (int n = 0; n < 2; n++) {
        const place at = where(j + n * 8 + eighth, n);
        const u16 *row = p.k + at.batch * S::k_batch + g * S::k_head + at.row * S::k_row + quad * 8;
        #pragma unroll
        for (int c = 0; c < chunks; c++) read(k[n][c], row + c * 32, at.row >= 0);
      }
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        const place at = where(j + quad * 2 + i % 2 + i / 2 * 8, 2 + i);
        const u16 *row = p.v + at.batch * S::v_batch + g * S::v_head + at.row * S::v_row + eighth * 8;
        #pragma unroll
        for (int w = 0; w < halves; w++) read(v[w][i], row + w * 64, at.row >= 0);
      }
    };
    bring(from + warp * 16);

    uint4 q[2][chunks];
    __shared__ token fresh;
    if constexpr (T::any) {
      enter(fresh, t, b, g, first, last - first, own, own >= 0 && to == most && first == 0);
      for (int half = 0; half < 2; half++)
        #pragma unroll
        for (int c = 0; c < chunks; c++) {
          const int row = eighth + 8 * half;
          q[half][c] = make_uint4(0, 0, 0, 0);
          if (row < last - first) q[half][c] = *(const uint4 *)(fresh.q[row] + quad * 8 + c * 32);
        }
    } else {
      for (int half = 0; half < 2; half++) {
        const int row = first + eighth + 8 * half;
        const u16 *at = p.q + b * S::q_batch + (g * S::ratio + row % S::ratio) * S::q_head + (i64)(row / S::ratio) * S::q_row + quad * 8;
        #pragma unroll
        for (int c = 0; c < chunks; c++) read(q[half][c], at + c * 32, row < limit);
      }
    }
    float o[halves * 8][4], top[2], sum[2] = {0, 0};
    top[0] = top[1] = lowest<float>();
    #pragma unroll
    for (int n = 0; n < halves * 8; n++)
      for (int c = 0; c < 4; c++) o[n][c] = 0;
    for (int j = from + warp * 16; j < to; j += warps * 16) {
      if constexpr (T::any) {
        #pragma unroll
        for (int n = 0; n < 2; n++)
          if (new_keys >> n & 1)
            #pragma unroll
            for (int c = 0; c < chunks; c++) k[n][c] = *(const uint4 *)(fresh.key + quad * 8 + c * 32);
        #pragma unroll
        for (int i = 0; i < 4; i++)
          if (new_keys >> (2 + i) & 1)
            #pragma unroll
            for (int w = 0; w < halves; w++) v[w][i] = *(const uint4 *)(fresh.value + eighth * 8 + w * 64);
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
      if (j + warps * 16 < to) bring(j + warps * 16);
    }
    if constexpr (T::any) READY;
    #pragma unroll
    for (int half = 0; half < 2; half++) {
      float total = sum[half];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      if (eighth + 8 * half >= kept) continue; /* but for the exchange of the other half */
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
    finish<(S::queries > 1 || S::masked) && !S::strict>(all, p, b, g, first, limit, active, split, scratch + (i64)u * splits * row_words<S>(kept), counters + u, place_of);
  }
};

}  // namespace attention
