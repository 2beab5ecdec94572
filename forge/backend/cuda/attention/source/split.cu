/* Attention of few rows over many keys: the keys of a row are shared by the warps of a
   block and by blocks, which is what keeps the memory of the device busy in decoding.
   Each ends with its largest score, its sum of weights and its weighted sum of values;
   these are put together in a fixed order, first in a block and then, by the block that
   comes last, of all blocks. */
namespace attention {

static constexpr int max_splits = 64;

/* The end of a block: one partial result for each of count rows and each warp stands in
   shared memory as channels o, top and sum. */
template <class S, int warps, int count> struct partial {
  typedef typename S::real real;
  static constexpr int threads = 32 * warps;
  static constexpr int width = S::e + 2;  // channels, top, sum
  real at[warps][count][width];
  real factor[count][max_splits], total[count];
  bool bad[count], last;
};

/* Reads what another block has written: one number, or four side by side. */
template <class T> INLINE void read_fresh(T (&x)[1], const T *from) { x[0] = __ldcg(from); }
INLINE void read_fresh(float (&x)[4], const float *from) {
  const float4 y = __ldcg((const float4 *)from);
  x[0] = y.x, x[1] = y.y, x[2] = y.z, x[3] = y.w;
}
INLINE void read_fresh(double (&x)[4], const double *from) {
  for (int t = 0; t < 4; t++) x[t] = __ldcg(from + t);
}

/* Puts partial results together and stores what place_of says of each row, of which there
   are limit - first. The first splits of the blocks have some keys; the others are not
   here. With again, a result that is no number is computed once more, key by key: a value
   that is none has reached rows that do not see it, with weight zero. */
template <bool again, class S, int warps, int count, class F>
INLINE void finish(partial<S, warps, count> &all, const operands<S> &p, int b, int g, int first, int limit, int splits, int split,
                   typename S::real *scratch, unsigned *counter, F place_of) {
  typedef typename S::real real;
  typedef partial<S, warps, count> part;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rows = limit - first < count ? limit - first : count;
  if (threadIdx.x < count) all.bad[threadIdx.x] = false;
  __syncthreads();
  auto store = [&](int r, int c, real o, real sum) {
    const real x = finished<S>(o, sum);
    if (x != x) all.bad[r] = true;
    put<S>(p.out + place_of(first + r) + c * S::out_step, x);
  };
  /* In scratch: the sums of all splits, and then the largest scores and sums of weights. */
  real *own = scratch + split * count * S::e, *stats = scratch + splits * count * S::e;
  for (int u = threadIdx.x; u < rows * S::e; u += part::threads) {
    const int r = u / S::e, c = u % S::e;
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
    own[r * S::e + c] = o;
    if (c == 0) {
      stats[(split * count + r) * 2] = top;
      stats[(split * count + r) * 2 + 1] = sum;
    }
  }
  if (splits > 1) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      all.last = atomicAdd(counter, 1u) == (unsigned)splits - 1;
      if (all.last) *counter = 0;
    }
    __syncthreads();
    if (!all.last) return;
    __threadfence();
    for (int r = warp; r < rows; r += warps) {  // what the sums of a split count for
      static_assert(max_splits == 64, "a lane has two splits");
      real top[2], sum[2];
      for (int i = 0; i < 2; i++) {
        const int s = lane + 32 * i;
        top[i] = s < splits ? __ldcg(stats + (s * count + r) * 2) : lowest<real>();
        sum[i] = s < splits ? __ldcg(stats + (s * count + r) * 2 + 1) : 0;
      }
      const real most = warp_max(larger(top[0], top[1])), base = most == lowest<real>() ? 0 : most;
      real total = 0;
      for (int i = 0; i < 2; i++) {
        const real f = power(top[i] - base);
        all.factor[r][lane + 32 * i] = f;
        total += sum[i] * f;
      }
      total = warp_sum(total);
      if (lane == 0) all.total[r] = total;
    }
    __syncthreads();
    constexpr int side = S::e % 4 == 0 ? 4 : 1;  // channels of a thread
    for (int u = threadIdx.x; u < rows * (S::e / side); u += part::threads) {
      const int r = u / (S::e / side), c = u % (S::e / side) * side;
      real o[side];
      for (int t = 0; t < side; t++) o[t] = 0;
      constexpr int ahead = count > 1 ? 16 : 8;  // reads before the first use
      for (int s = 0; s < splits; s += ahead) {
        real x[ahead][side];
        #pragma unroll
        for (int i = 0; i < ahead; i++)
          if (s + i < splits) read_fresh(x[i], scratch + ((s + i) * count + r) * S::e + c);
        #pragma unroll
        for (int i = 0; i < ahead; i++)
          if (s + i < splits)
            for (int t = 0; t < side; t++) o[t] += x[i][t] * all.factor[r][s + i];
      }
      for (int t = 0; t < side; t++) store(r, c + t, o[t], all.total[r]);
    }
  }
  if constexpr (again) {
    __syncthreads();
    for (int r = warp; r < rows; r += warps)
      if (all.bad[r]) attend_row(p, b, g * S::ratio + (first + r) % S::ratio, (first + r) / S::ratio);
  }
}

/* The keys of one of so many splits, whole groups of so many keys. Gives the number of
   splits that have some, or are the first. */
template <int group> INLINE int share(int keys, int splits, int split, int &from, int &to) {
  const int each = keys > 0 ? (keys + splits * group - 1) / (splits * group) * group : group;
  from = split * each < keys ? split * each : keys;
  to = from + each < keys ? from + each : keys;
  return keys > 0 ? (keys + each - 1) / each : 1;
}

/* What a split needs in scratch memory, in numbers: whole pieces of 16 bytes. */
template <class S> constexpr int row_words(int count) { return (count * (S::e + 2) + 3) / 4 * 4; }

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
      const int active = share<32 * warps>(visible(p, b, i), splits, split, from, to);
      if (split >= active) continue;
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
      finish<false>(all, p, b, h / S::ratio, 0, 1, active, split, scratch + u * splits * row_words<S>(1), counters + u, [&](int) { return out; });
    }
  }
};

}  // namespace attention
