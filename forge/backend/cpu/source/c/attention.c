
/* Attention. */
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
  return shuffle(a, b, low) + shuffle(a, b, high);
}
/* Exchanges the blocks of h lanes beside the diagonal of two rows. */
INLINE void exchange(vf *a, vf *b, int h) {
  vi low, high;
  for (int l = 0; l < LANES; l++) {
    low[l] = l & h ? LANES + l - h : l;
    high[l] = low[l] + h;
  }
  vf x = shuffle(*a, *b, low), y = shuffle(*a, *b, high);
  *a = x, *b = y;
}
#define UNROLL _Pragma("GCC unroll 16")
INLINE void exchange_all(vf *x, int h) {
  if (h < LANES) { UNROLL for (int i = 0; i < LANES; i++) if (!(i & h)) exchange(x + i, x + i + h, h); }
}
/* Makes rows of a square columns. */
INLINE void turn(vf *x) { exchange_all(x, 1); exchange_all(x, 2); exchange_all(x, 4); exchange_all(x, 8); }
FOLD(fold_top, t[l] > t[l + h] ? t[l] : t[l + h])
