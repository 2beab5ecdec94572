
/* Attention. */
INLINE long least(long a, long b) { return a < b ? a : b; }
INLINE long most(long a, long b) { return a > b ? a : b; }
/* The larger, b where a is NaN. */
INLINE vf larger_(vf a, vf b) { vf r; for (int l = 0; l < LANES; l++) r[l] = a[l] > b[l] ? a[l] : b[l]; return r; }
/* Whether a weight is -0, which no exponential is: its value must not be read. */
INLINE int marked(float w) { i32 x; __builtin_memcpy(&x, &w, 4); return x == (i32)0x80000000; }
/* The sums of neighbouring halves of 2h lanes, those of a before those of b. */
INLINE vf halves(vf a, vf b, int h) {
  vi low, high;
  for (int l = 0; l < LANES; l++) {
    low[l] = l / (2 * h) * 2 * h + l % h + (l % (2 * h) < h ? 0 : LANES);
    high[l] = low[l] + h;
  }
#ifdef __clang__
  vf r;
  for (int l = 0; l < LANES; l++) {
    r[l] = (low[l] < LANES ? a[low[l]] : b[low[l] - LANES]) + (high[l] < LANES ? a[high[l]] : b[high[l] - LANES]);
  }
  return r;
#else
  return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
#endif
}
FOLD(fold_top, t[l] > t[l + h] ? t[l] : t[l + h])
