/* What happens to the scores of 16 rows of a warp between the products, and to the sums
   after them. A lane has two of the columns of every 8, of rows row and row + 8: those of
   the accumulators of an mma of 16 x 8. */
namespace attention {

/* Scores are multiplied by this to become exponents of 2. */
template <class S> struct exponent { static constexpr float factor = (S::masked == 1 ? 1.0 : (double)S::scale) * 1.4426950408889634; };

/* Makes scores of pairs that take no part -inf, and adds the mask. */
template <class S, int count>
INLINE void exclude(const operands<S> &p, float (&s)[count][4], int b, int g, int row, int from) {
  #pragma unroll
  for (int half = 0; half < 2; half++) {
    const int at = row + 8 * half, i = at / S::ratio, h = g * S::ratio + at % S::ratio;
    const int seen = i < S::queries ? visible(p, b, i) : 0;
    #pragma unroll
    for (int n = 0; n < count; n++)
      for (int c = 0; c < 2; c++) {
        const int j = from + n * 8 + threadIdx.x % 4 * 2 + c;
        float &x = s[n][half * 2 + c];
        bool excluded = j >= seen;
        if (excluded) x = lowest<float>();
        else if (S::masked || S::causal && S::strict) x = masked(p, S::masked == 1 ? x * (float)S::scale : x, b, h, i, j, excluded);
      }
  }
}

/* Turns scores into weights relative to the largest so far, and scales down what stands. */
template <class S, int count, int channels>
INLINE void advance(float (&s)[count][4], float (&o)[channels][4], float (&top)[2], float (&sum)[2]) {
  constexpr float factor = exponent<S>::factor;
  #pragma unroll
  for (int half = 0; half < 2; half++) {
    float most = s[0][half * 2];
    #pragma unroll
    for (int n = 0; n < count; n++) most = larger(most, larger(s[n][half * 2], s[n][half * 2 + 1]));
    most = larger(most, __shfl_xor_sync(~0u, most, 1));
    most = larger(most, __shfl_xor_sync(~0u, most, 2));
    const float now = larger(top[half], most);
    const float base = now == lowest<float>() ? 0 : now * factor;
    const float shrink = power(top[half] * factor - base);
    top[half] = now;
    float total = 0;
    #pragma unroll
    for (int n = 0; n < count; n++)
      for (int c = half * 2; c < half * 2 + 2; c++) {
        s[n][c] = power(__fmaf_rn(s[n][c], factor, -base));
        total += s[n][c];
      }
    sum[half] = __fmaf_rn(sum[half], shrink, total);
    #pragma unroll
    for (int n = 0; n < channels; n++)
      for (int c = half * 2; c < half * 2 + 2; c++) o[n][c] *= shrink;
  }
}

/* The weights of 16 columns as the first operand of the second product. */
template <class S> INLINE void weights(unsigned (&a)[4], const float (&x)[4], const float (&y)[4]) {
  a[0] = pack<S>(x[0], x[1]);
  a[1] = pack<S>(x[2], x[3]);
  a[2] = pack<S>(y[0], y[1]);
  a[3] = pack<S>(y[2], y[3]);
}

/* Divides the sums and stores them. A value that is no number has reached rows that do not
   see it, with weight zero: these are computed once more. */
template <class S, int count>
INLINE void store(const operands<S> &p, const float (&o)[count][4], const float (&sum)[2], int b, int g, int row) {
  #pragma unroll
  for (int half = 0; half < 2; half++) {
    float total = sum[half];
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const int at = row + 8 * half, i = at / S::ratio, h = g * S::ratio + at % S::ratio;
    const float one = finished<S>(1, total);
    bool bad = false;
    typename S::out_elem *out = p.out + b * S::out_batch + h * S::out_head + (i64)i * S::out_row;
    #pragma unroll
    for (int n = 0; n < count; n++) {
      float x = o[n][half * 2] * one, y = o[n][half * 2 + 1] * one;
      if (total == 0) x = y = one;
      bad = bad || x != x || y != y;
      const int c = n * 8 + threadIdx.x % 4 * 2;
      if (i >= S::queries) continue;
      if constexpr (S::vector && !S::widened) {
        if (c < S::e) *(unsigned *)(out + c) = pack<S>(x, y);
      } else {
        if (c < S::e) put<S>(out + c * S::out_step, x);
        if (c + 1 < S::e) put<S>(out + (c + 1) * S::out_step, y);
      }
    }
    if constexpr ((S::causal || S::cached || S::masked) && !S::strict) {
      unsigned rows = __ballot_sync(~0u, bad && i < S::queries);
      __syncwarp();
      for (; rows; rows &= rows - 1) {
        const int again = __shfl_sync(~0u, at, __ffs(rows) - 1);
        attend_row(p, b, g * S::ratio + again % S::ratio, again / S::ratio);
      }
    }
  }
}

}  // namespace attention
