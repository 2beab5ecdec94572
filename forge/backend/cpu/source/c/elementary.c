
/* Elementary functions of more than one method, as in package mathf. */
/* x >= 0 beyond the reach of the cheap reduction, as in mathf.quarterTurnsExact. */
typedef unsigned long long u64;
static i32 quarter_turns_exact(float x, float *r) {
  static const u64 two_over_pi[] = {0xa2f9836e4e44, 0x1529fc2757d1f534, 0xddc0db6295993c43, 0x9041fe5163abdebb};
  i32 b; __builtin_memcpy(&b, &x, 4);
  u64 m = (b & 0x7fffff) | 0x800000;
  int first = (b >> 23) - 150 + 14, word = first / 64, shift = first % 64;
  u64 hi = two_over_pi[word] << shift | two_over_pi[word + 1] >> 1 >> (63 - shift);
  u64 lo = two_over_pi[word + 1] << shift | two_over_pi[word + 2] >> 1 >> (63 - shift);
  u64 product = m * hi + (u64)((unsigned __int128)m * lo >> 64);
  i64 fraction = (i64)(product << 2) >> 2;
  float f = fraction, rest = fraction - (i64)f, h = f * 0x1.921fb6p-62f;
  *r = h + __builtin_fmaf(rest, 0x1.921fb6p-62f, __builtin_fmaf(f, -0x1.777a5cp-87f, __builtin_fmaf(f, 0x1.921fb6p-62f, -h)));
  return (product - (u64)fraction) >> 62;
}
INLINE vi quarter_turns(vf x, vf *r) {
  vf n = rounded(x * 0x1.45f306p-1f);
  *r = fma_(n, set(-0x1.921fb6p+0f), x);
  *r = fma_(n, set(0x1.777a5cp-25f), *r);
  *r = fma_(n, set(0x1.ee59dap-50f), *r);
  vi far = x > 100000, q = CONVERT(choose(far, set(0), n), vi);
  far &= x <= 0x1.fffffep127f;
  if (any(far))
    for (int l = 0; l < LANES; l++)
      if (far[l]) { float y; q[l] = quarter_turns_exact(x[l], &y); (*r)[l] = y; }
  return q;
}
INLINE vf sin_or_cos(vi q, vf r) {
  vf u = r * r, s = set(0x1.6dbbeep-19f), c = set(0x1.9bd67p-16f);
  s = fma_(s, u, set(-0x1.a013a2p-13f));
  s = fma_(s, u, set(0x1.11110ep-7f));
  s = fma_(s, u, set(-0x1.555556p-3f));
  c = fma_(c, u, set(-0x1.6c12cep-10f));
  c = fma_(c, u, set(0x1.555554p-5f));
  vf v = choose((q & 1) == 0, fma_(s * u, r, r), fma_(u * u, c, fma_(u, set(-0.5f), set(1))));
  return (vf)((vi)v ^ ((q & 2) << 30));
}
INLINE vf v_sin(vf x) {
  vf a = v_abs(x), r;
  vi q = quarter_turns(a, &r);
  vf v = (vf)((vi)sin_or_cos(q, r) ^ ((vi)x & (i32)0x80000000));
  return choose(a <= 0x1.fffffep127f, v, (vf)((vi){0} + 0x7fc00000));
}
INLINE vf v_cos(vf x) {
  vf a = v_abs(x), r;
  vi q = quarter_turns(a, &r);
  return choose(a <= 0x1.fffffep127f, sin_or_cos(q + 1, r), (vf)((vi){0} + 0x7fc00000));
}

/* Sums of two floats. */
typedef struct { vf hi, lo; } twice;
INLINE twice twice_sum(twice a, twice b) {
  vf s = a.hi + b.hi, t = s - a.hi;
  vf e = ((a.hi - (s - t)) + (b.hi - t)) + (a.lo + b.lo), h = s + e;
  return (twice){h, e - (h - s)};
}
INLINE twice twice_times(twice a, twice b) {
  vf h = a.hi * b.hi, l = fma_(a.hi, b.hi, -h);
  l = fma_(a.hi, b.lo, l);
  return (twice){h, fma_(a.lo, b.hi, l)};
}
INLINE twice log2_(vf x) {
  vi low = x < 0x1p-126f;
  x = choose(low, x * 0x1p23f, x);
  vf e = choose(low, set(-23), set(0));
  vi k = ((vi)x - 0x3f3504f3) >> 23;
  e += CONVERT(k, vf);
  vf m = (vf)((vi)x - (k << 23)), f = m - 1;
  twice d = {m + 1}, s;
  d.lo = m - (d.hi - 1);
  s.hi = f / d.hi;
  s.lo = fma_(-s.hi, d.lo, fma_(-s.hi, d.hi, f)) / d.hi;
  twice u = twice_times(s, s), cube = twice_times(s, u);
  vf p = set(0x1.547ef6p-2f);
  p = fma_(p, u.hi, set(0x1.a5f4ap-2f));
  p = fma_(p, u.hi, set(0x1.2776ccp-1f));
  vf tail = (cube.hi * u.hi) * p;
  twice third = twice_times(cube, (twice){set(0x1.ec709ep-1f), set(-0x1.e2fe02p-28f)});
  twice first_ = twice_times(s, (twice){set(0x1.715476p+1f), set(0x1.4ae0cp-25f)});
  return twice_sum(twice_sum(twice_sum((twice){e, set(0)}, first_), third), (twice){tail, set(0)});
}
INLINE vf pow_finite(vf a, vf y) {
  twice l = log2_(a);
  vf t = y * l.hi, tail = fma_(y, l.lo, fma_(y, l.hi, -t));
  vi over = t > 129, under = t < -151;
  t = choose(over | under, set(0), t);
  vf n = rounded(t), z = ((t - n) + tail) * 0x1.62e43p-1f;
  vf q = set(0x1.68fde2p-10f);
  q = fma_(q, z, set(0x1.12534p-7f));
  q = fma_(q, z, set(0x1.5559acp-5f));
  q = fma_(q, z, set(0x1.55546cp-3f));
  q = fma_(q, z, set(0x1.fffffcp-2f));
  vf v = scale(1 + fma_(q, z * z, z), n);
  return choose(over, set(__builtin_inff()), choose(under, set(0), v));
}
INLINE vf v_pow(vf x, vf y) {
  vf a = v_abs(x), b = v_abs(y), inf = set(__builtin_inff()), nan = (vf)((vi){0} + 0x7fc00000);
  vi k = CONVERT(choose(b < 0x1p24f, y, set(0)), vi);
  vi whole = (b >= 0x1p23f) | (CONVERT(k, vf) == y);
  vi odd = (b < 0x1p24f) & whole & ((k & 1) == 1);
  vi limit = (a == 0) | (a == inf) | (b == inf);
  vf v = choose(limit, choose(a == 1, set(1), choose((a > 1) == (y > 0), inf, set(0))), pow_finite(a, y));
  v = choose(~limit & (x < 0) & ~whole, nan, v);
  v = (vf)((vi)v ^ ((vi)x & odd & (i32)0x80000000));
  v = choose((x != x) | (y != y), nan, v);
  return choose((y == 0) | (x == 1), set(1), v);
}

/* Angles in f64, as in mathf.SinCos, up to its MaxAngle. */
INLINE hd fma_hd(hd a, hd b, hd c) {
#if defined(__AVX512F__) && LANES == 16
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4);
#elif defined(__FMA__) && LANES == 8
  return __builtin_ia32_vfmaddpd256(a, b, c);
#else
  hd r;
  for (int l = 0; l < LANES / 2; l++) r[l] = __builtin_fma(a[l], b[l], c[l]);
  return r;
#endif
}
INLINE hd half_angle(hd x, i64 turn) {
  hd one = (hd){0} + 1, shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = shifted - 0x1.8p52;
  hd r = fma_hd(n, one * -0x1.921fb54442d18p+0, x);
  r = fma_hd(n, one * -0x1.1a62633145c07p-54, r);
  r = fma_hd(n, one * 0x1.f1976b7ed8fbcp-110, r);
  hd u = r * r, s = one * 0x1.5d8fd1fd19ccdp-33, c = one * -0x1.8fa49a0861a9bp-37;
  s = fma_hd(s, u, one * -0x1.ae5e5a9291f5dp-26);
  s = fma_hd(s, u, one * 0x1.71de3567d48a1p-19);
  s = fma_hd(s, u, one * -0x1.a01a019bfdf03p-13);
  s = fma_hd(s, u, one * 0x1.111111110f7d0p-7);
  s = fma_hd(s, u, one * -0x1.5555555555548p-3);
  c = fma_hd(c, u, one * 0x1.1ee9d7b4e3f05p-29);
  c = fma_hd(c, u, one * -0x1.27e4f7eac4bc6p-22);
  c = fma_hd(c, u, one * 0x1.a01a019c844f5p-16);
  c = fma_hd(c, u, one * -0x1.6c16c16c14f91p-10);
  c = fma_hd(c, u, one * 0x1.555555555554bp-5);
  hl q = (hl)shifted + turn;
  hd v = choose_hd((q & 1) == 0, fma_hd(s * u, r, r), fma_hd(u * u, c, fma_hd(u, one * -0.5, one)));
  return (hd)((hl)v ^ ((q & 2) << 62));
}
INLINE vd v_sin_f64(vd x) { return (vd){half_angle(x.a, 0), half_angle(x.b, 0)}; }
INLINE vd v_cos_f64(vd x) { return (vd){half_angle(x.a, 1), half_angle(x.b, 1)}; }

INLINE vf v_atan(vf x) {
  vf a = v_abs(x), z, hi, lo;
  vi far = a > 2.4142135f, middle = ~far & (a > 0.41421356f);
  vf b = choose(far, -1 / a, choose(middle, (a - 1) / (a + 1), a));
  hi = choose(far, set(0x1.921fb6p+0f), choose(middle, set(0x1.921fb6p-1f), set(0)));
  lo = choose(far, set(-0x1.777a5cp-25f), choose(middle, set(-0x1.777a5cp-26f), set(0)));
  z = b * b;
  vf p = set(-0x1.f2569p-5f);
  p = fma_(p, z, set(0x1.b2024p-4f));
  p = fma_(p, z, set(-0x1.23b6bcp-3f));
  p = fma_(p, z, set(0x1.9991aep-3f));
  p = fma_(p, z, set(-0x1.55554ap-2f));
  vf y = hi + (fma_(p, z * b, b) + lo);
  return choose(x != x, x, (vf)((vi)y | ((vi)x & (i32)0x80000000)));
}

/* Whole numbers. Beyond the magnitude big every number is whole; below it, adding
   big rounds to one. The result has the sign of x, also where it is 0. The
   compiler's own functions are not used: GCC 12 crashes on their conversion to
   another type. */
#define WHOLE(name, vec, ints, sign, big, adjusted) \
  INLINE vec name(vec x) { \
    vec s = (vec)((ints)x & sign), a = (vec)((ints)x & ~sign), n = (vec)((ints)((a + big) - big) | (ints)s), one = (vec){0} + 1; \
    vec r = (vec)(((ints)(adjusted) & ~sign) | (ints)s); \
    ints in = a < big; \
    return (vec)(((ints)r & in) | ((ints)x & ~in)); \
  }
#define WHOLE_F32(name, adjusted) WHOLE(v_##name, vf, vi, (i32)0x80000000, 0x1p23f, adjusted)
#define WHOLE_F64(name, adjusted) \
  WHOLE(half_##name, hd, hl, (i64)0x8000000000000000, 0x1p52, adjusted) \
  INLINE vd v_##name##_f64(vd x) { return (vd){half_##name(x.a), half_##name(x.b)}; }
WHOLE_F32(round, n) WHOLE_F32(floor, n - (vf)((vi)one & (n > x))) WHOLE_F32(ceil, n + (vf)((vi)one & (n < x)))
WHOLE_F64(round, n) WHOLE_F64(floor, n - (hd)((hl)one & (n > x))) WHOLE_F64(ceil, n + (hd)((hl)one & (n < x)))
