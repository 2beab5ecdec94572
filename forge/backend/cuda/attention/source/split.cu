/* Attention of few rows over many keys: the keys of a row are shared by the warps of a
   block and by blocks, which is what keeps the memory of the device busy in decoding.
   Each ends with its largest score, its sum of weights and its weighted sum of values;
   these are put together in a fixed order, first in a block and then, by the block that
   comes last, of all blocks. */
namespace attention {

/* The end of a block: one partial result for each of count rows and each warp stands in
   shared memory as channels o, top and sum. */
template <class S, int warps, int count> struct partial {
  typedef typename S::real real;
  static constexpr int threads = 32 * warps;
  static constexpr int width = S::e + 2;  // channels, top, sum
  real at[warps][count][width];
};

/* Puts partial results together and stores what place_of says of each row. With again, a
   result that is no number is computed once more, key by key: a value that is none has
   reached rows that do not see it, with weight zero. */
template <bool again, class S, int warps, int count, class F>
INLINE void finish(partial<S, warps, count> &all, const operands<S> &p, int b, int g, int first, int limit, int splits, int split,
                   typename S::real *scratch, unsigned *counter, F place_of) {
  typedef typename S::real real;
  typedef partial<S, warps, count> part;
  __shared__ bool bad[count];
  if (threadIdx.x < count) bad[threadIdx.x] = false;
  __syncthreads();
  auto store = [&](int r, int c, real o, real sum) {
    const real x = finished<S>(o, sum);
    if (x != x) bad[r] = true;
    put<S>(p.out + place_of(first + r) + c * S::out_step, x);
  };
  real *own = scratch + (i64)split * count * part::width;
  for (int u = threadIdx.x; u < count * S::e; u += part::threads) {
    const int r = u / S::e, c = u % S::e;
    if (first + r >= limit) continue;
    real top = lowest<real>(), sum = 0, o = 0;
    for (int w = 0; w < warps; w++) top = larger(top, all.at[w][r][S::e]);
    const real base = top == lowest<real>() ? 0 : top;
    for (int w = 0; w < warps; w++) {
      const real f = power(all.at[w][r][S::e] - base);
      sum += all.at[w][r][S::e + 1] * f;
      o += all.at[w][r][c] * f;
    }
    if (splits == 1) {
      store(r, c, o, sum);
      continue;
    }
    own[r * part::width + c] = o;
    if (c == 0) {
      own[r * part::width + S::e] = top;
      own[r * part::width + S::e + 1] = sum;
    }
  }
  if (splits > 1) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      last = atomicAdd(counter, 1u) == (unsigned)splits - 1;
      if (last) *counter = 0;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int u = threadIdx.x; u < count * S::e; u += part::threads) {
      const int r = u / S::e, c = u % S::e;
      if (first + r >= limit) continue;
      const real *from = scratch + r * part::width;
      real top = lowest<real>(), sum = 0, o = 0;
      for (int s = 0; s < splits; s++) top = larger(top, __ldcg(from + s * count * part::width + S::e));
      const real base = top == lowest<real>() ? 0 : top;
      #pragma unroll 4
      for (int s = 0; s < splits; s++) {
        const real *at = from + s * count * part::width;
        const real f = power(__ldcg(at + S::e) - base);
        sum += __ldcg(at + S::e + 1) * f;
        o += __ldcg(at + c) * f;
      }
      store(r, c, o, sum);
    }
  }
  if constexpr (again) {
    __syncthreads();
    for (int r = threadIdx.x / 32; r < count; r += warps)
      if (bad[r]) attend_row(p, b, g * S::ratio + (first + r) % S::ratio, (first + r) / S::ratio);
  }
}

/* The keys of one of so many splits: whole groups of so many keys. */
template <int group> INLINE void share(int keys, int splits, int split, int &from, int &to) {
  const int each = (keys + splits * group - 1) / (splits * group) * group;
  from = split * each < keys ? split * each : keys;
  to = from + each < keys ? from + each : keys;
}

/* Any type and any number of channels: one row for each block, 32 keys of it at a time for
   each warp. */
template <class S, int warps> struct by_row {
  INLINE void run(const operands<S> &p, typename S::real *scratch, unsigned *counters) {
    typedef typename S::real real;
    __shared__ partial<S, warps, 1> all;
    const int splits = gridDim.y, split = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (i64 u = blockIdx.x; u < (i64)S::batches * S::heads * S::queries; u += gridDim.x) {
      const int i = u % S::queries, h = u / S::queries % S::heads, b = u / S::queries / S::heads;
      int from, to;
      share<32 * warps>(visible(p, b, i), splits, split, from, to);
      row_state<S> r;
      attend_keys(p, r, b, h, i, from + 32 * warp, to, warps);
      __syncthreads();
      for (int c = 0; c < r.each; c++)
        if (lane + 32 * c < S::e) all.at[warp][0][lane + 32 * c] = r.o[c];
      if (lane == 0) {
        all.at[warp][0][S::e] = r.top;
        all.at[warp][0][S::e + 1] = r.sum;
      }
      const i64 out = b * S::out_batch + h * S::out_head + i * S::out_row;
      finish<false>(all, p, b, h / S::ratio, 0, 1, splits, split, scratch + u * splits * (S::e + 2), counters + u, [&](int) { return out; });
    }
  }
};

}  // namespace attention
