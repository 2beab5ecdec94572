/* The first k elements of a row in descending order, NaN before all numbers and of equals
   the first, with their places. */
template <int k> struct top_list {
  float value[k];
  int at[k];
  INLINE_MEMBER void clear() {
    for (int n = 0; n < k; n++) value[n] = __int_as_float(0xff800000), at[n] = 0x7fffffff;
  }
  INLINE_MEMBER static bool before(float x, int i, float y, int j) {
    if (x != x || y != y) return x != x && (y == y || i < j);
    return x > y || x == y && i < j;
  }
  INLINE_MEMBER void add(float x, int i) {
    if (!before(x, i, value[k - 1], at[k - 1])) return;
#pragma unroll
    for (int n = 0; n < k; n++)
      if (before(x, i, value[n], at[n])) {
        const float y = value[n];
        const int j = at[n];
        value[n] = x, at[n] = i;
        x = y, i = j;
      }
  }
  /* Puts the lists of a warp together, in each of its lanes. */
  INLINE_MEMBER void join() {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
      float x[k];
      int i[k];
#pragma unroll
      for (int n = 0; n < k; n++) x[n] = __shfl_xor_sync(~0u, value[n], d), i[n] = __shfl_xor_sync(~0u, at[n], d);
#pragma unroll
      for (int n = 0; n < k; n++) add(x[n], i[n]);
    }
  }
  /* The same of a block, in the lanes of its first warp. */
  template <int warps> INLINE_MEMBER void join_block() {
    __shared__ top_list all[warps];
    join();
    __syncthreads(); /* all has been read */
    if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = *this;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    clear();
    if (threadIdx.x < warps) *this = all[threadIdx.x];
    join();
  }
};

/* Rows of count elements, each shared by the blocks of x: the last of them to arrive puts
   together what all have left in scratch memory. */
template <int k, int count, int threads> INLINE void top_rows(const float *x, float *values, i64 *places, top_list<k> *scratch, unsigned *counters) {
  const i64 row = blockIdx.y;
  top_list<k> own;
  own.clear();
  constexpr int batch = 8; /* are read before the first is looked at */
  for (int first = blockIdx.x * threads + threadIdx.x; first < count; first += batch * gridDim.x * threads) {
    float some[batch];
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const int i = first + b * gridDim.x * threads;
      some[b] = i < count ? x[row * count + i] : 0;
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const int i = first + b * gridDim.x * threads;
      if (i < count) own.add(some[b], i);
    }
  }
  own.template join_block<threads / 32>();
  if (gridDim.x > 1) {
    __shared__ bool last;
    scratch += row * gridDim.x;
    if (threadIdx.x == 0) {
      scratch[blockIdx.x] = own;
      __threadfence();
      last = atomicAdd(counters + row, 1u) == gridDim.x - 1;
      if (last) counters[row] = 0;
      __threadfence();
    }
    __syncthreads();
    if (!last) return;
    own.clear();
    for (int b = threadIdx.x; b < gridDim.x; b += threads)
      for (int n = 0; n < k; n++) own.add(__ldcg(scratch[b].value + n), __ldcg(scratch[b].at + n));
    own.template join_block<threads / 32>();
  }
  if (threadIdx.x == 0)
    for (int n = 0; n < k; n++) values[row * k + n] = own.value[n], places[row * k + n] = own.at[n];
}
