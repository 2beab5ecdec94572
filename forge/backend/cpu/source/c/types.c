
/* The other types. Elements of f16 and bf16 are computed with as floats, bools are
   masks, and i64 and f64 are pairs of half vectors, because compilers work on
   vectors wider than a register element by element. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef long long i64;
typedef u8 vb __attribute__((vector_size(LANES)));
typedef u16 vh __attribute__((vector_size(2 * LANES)));
typedef i64 hl __attribute__((vector_size(4 * LANES)));
typedef double hd __attribute__((vector_size(4 * LANES)));
typedef struct { hl a, b; } vl;
typedef struct { hd a, b; } vd;
typedef i64 wl __attribute__((vector_size(8 * LANES)));
typedef double wd __attribute__((vector_size(8 * LANES)));
#define CONVERT(x, t) __builtin_convertvector(x, t)
#define CAST(t, x) ({ t y_; __builtin_memcpy(&y_, &(x), sizeof y_); y_; })

/* Elements as they are stored. Strided loads fill a vector and not an array: gcc 12
   loses elements of an array that is written in part and then read as a whole. */
#define RAW(name, elem, vec) \
  INLINE vec load_##name(const elem *p) { vec x; __builtin_memcpy(&x, p, sizeof x); return x; } \
  INLINE vec load_part_##name(const elem *p, int n) { vec x = {0}; __builtin_memcpy(&x, p, n * sizeof *p); return x; } \
  INLINE vec load_strided_##name(const elem *p, long s, int n) { vec x = {0}; for (int l = 0; l < n; l++) __builtin_memcpy((char *)&x + l * sizeof *p, p + l * s, sizeof *p); return x; } \
  INLINE void store_##name(elem *p, vec x) { __builtin_memcpy(p, &x, sizeof x); } \
  INLINE void store_part_##name(elem *p, vec x, int n) { __builtin_memcpy(p, &x, n * sizeof *p); } \
  INLINE void store_strided_##name(elem *p, long s, vec x, int n) { elem t[LANES]; store_##name(t, x); for (int l = 0; l < n; l++) p[l * s] = t[l]; } \
  INLINE elem lane0_##name(vec x) { elem t; __builtin_memcpy(&t, &x, sizeof t); return t; }
RAW(i32, i32, vi)
RAW(i64, i64, vl)
RAW(f64, double, vd)
RAW(bits16, u16, vh)
RAW(bits8, u8, vb)
INLINE vf set_f32(float x) { return set(x); }
INLINE vf load_f32(const float *p) { return load(p); }
INLINE vf load_part_f32(const float *p, int n) { return load_part(p, n); }
INLINE void store_f32(float *p, vf x) { store(p, x); }
INLINE void store_part_f32(float *p, vf x, int n) { store_part(p, x, n); }
INLINE void store_strided_f32(float *p, long s, vf x, int n) { store_strided(p, s, x, n); }
INLINE float lane0_f32(vf x) { return x[0]; }
INLINE vi set_i32(i32 x) { return x - (vi){0}; }
INLINE vl set_i64(i64 x) { hl h = x - (hl){0}; return (vl){h, h}; }
INLINE vd set_f64(double x) { hd h = x - (hd){0}; return (vd){h, h}; }
INLINE vh set_bits16(u16 x) { return x - (vh){0}; }
INLINE vb set_bits8(u8 x) { return x - (vb){0}; }

/* Half precision: to float is exact, from float rounds to nearest even. */
#if defined(__AVX512F__) && LANES == 16 && !defined(__clang__) /* gcc 12 converts halves of vectors */
INLINE vi extend(vh h) {
  typedef short s16 __attribute__((vector_size(32)));
  return __builtin_ia32_pmovzxwd512_mask((s16)h, (vi){0}, (unsigned short)-1);
}
#else
INLINE vi extend(vh h) { return CONVERT(h, vi); }
#endif
INLINE vf widen_bf16(vh h) { return (vf)(extend(h) << 16); }
INLINE vh narrow_bf16(vf x) {
  vi b = (vi)x, r = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  return CONVERT((r & ~(x != x)) | (((b >> 16) | 0x40) & (x != x)), vh);
}
INLINE vf widen_f16(vh h) {
#if defined(__AVX512F__) && LANES == 16
  typedef short s16 __attribute__((vector_size(32)));
  return __builtin_ia32_vcvtph2ps512_mask((s16)h, (vf){0}, (unsigned short)-1, 4);
#elif defined(__F16C__) && LANES == 8
  typedef short s16 __attribute__((vector_size(16)));
  return __builtin_ia32_vcvtph2ps256((s16)h);
#else
  vi w = CONVERT(h, vi), m = w & 0x7fff;
  vf x = (vf)((m << 13) + (112 << 23));
  x = choose(m >= 0x7c00, (vf)((m << 13) | 0x7f800000), x);
  x = choose(m < 0x400, CONVERT(m, vf) * 0x1p-24f, x);
  return (vf)((vi)x | (w & 0x8000) << 16);
#endif
}
INLINE vh narrow_f16(vf x) {
#if defined(__AVX512F__) && LANES == 16
  typedef short s16 __attribute__((vector_size(32)));
  return (vh)__builtin_ia32_vcvtps2ph512_mask(x, 0, (s16){0}, (unsigned short)-1);
#elif defined(__F16C__) && LANES == 8
  return (vh)__builtin_ia32_vcvtps2ph256(x, 0);
#else
  vi b = (vi)x & 0x7fffffff, nan = b > 0x7f800000;
  vi r = (b - (112 << 23) + 0xfff + ((b >> 13) & 1)) >> 13;
  vi low = b < 0x38800000; /* the sum rounds to multiples of 2^-24 */
  r = (r & ~low) | (((vi)((vf)b + 0.5f) - 0x3f000000) & low);
  vi over = b >= 0x477ff000;
  r = (r & ~over) | (0x7c00 & over);
  r = (r & ~nan) | ((0x7e00 | ((b >> 13) & 0x3ff)) & nan);
  return CONVERT(r | (((vi)x >> 16) & 0x8000), vh);
#endif
}
INLINE vi widen_bool(vb x) { return CONVERT(x, vi) != 0; }
INLINE vb narrow_bool(vi m) { return CONVERT(m & 1, vb); }

/* Elements as they are computed with. */
#define COMPUTED(name, raw, elem, vec) \
  INLINE vec load_##name(const elem *p) { return widen_##name(load_##raw(p)); } \
  INLINE vec load_part_##name(const elem *p, int n) { return widen_##name(load_part_##raw(p, n)); } \
  INLINE vec load_strided_##name(const elem *p, long s, int n) { return widen_##name(load_strided_##raw(p, s, n)); } \
  INLINE void store_##name(elem *p, vec x) { store_##raw(p, narrow_##name(x)); } \
  INLINE void store_part_##name(elem *p, vec x, int n) { store_part_##raw(p, narrow_##name(x), n); } \
  INLINE void store_strided_##name(elem *p, long s, vec x, int n) { store_strided_##raw(p, s, narrow_##name(x), n); } \
  INLINE elem lane0_##name(vec x) { return lane0_##raw(narrow_##name(x)); } \
  INLINE vec set_##name(elem x) { return widen_##name(set_##raw(x)); }
COMPUTED(f16, bits16, u16, vf)
COMPUTED(bf16, bits16, u16, vf)
COMPUTED(bool, bits8, u8, vi)
INLINE vf v_round_f16(vf x) { return widen_f16(narrow_f16(x)); }
INLINE vf v_round_bf16(vf x) { return widen_bf16(narrow_bf16(x)); }

/* Masks of half vectors, and halves of them. Conversions, unlike arithmetic, are
   good on vectors wider than a register; joining halves in memory is not. */
INLINE vi join(hl a, hl b) { vl p = {a, b}; return CONVERT(CAST(wl, p), vi); }
INLINE vl spread(vi m) { wl w = CONVERT(m, wl); return CAST(vl, w); }
/* Every other float is half of a 64-bit number. Nothing behind the last is read. */
INLINE vf load_strided_f32(const float *p, long s, int n) {
  if (s != 2 || n != LANES) return load_strided(p, s, n);
  hl a, b; __builtin_memcpy(&a, p, sizeof a); __builtin_memcpy(&b, p + LANES - 1, sizeof b);
  return (vf)join(a, b >> 32);
}
INLINE hl choose_hl(hl m, hl a, hl b) { return (a & m) | (b & ~m); }
INLINE hd choose_hd(hl m, hd a, hd b) { return (hd)choose_hl(m, (hl)a, (hl)b); }

INLINE vi choose_i32(vi m, vi a, vi b) { return (a & m) | (b & ~m); }
INLINE vl choose_i64(vi m, vl a, vl b) { vl w = spread(m); return (vl){choose_hl(w.a, a.a, b.a), choose_hl(w.b, a.b, b.b)}; }
INLINE vd choose_f64(vi m, vd a, vd b) { vl w = spread(m); return (vd){choose_hd(w.a, a.a, b.a), choose_hd(w.b, a.b, b.b)}; }
INLINE vf choose_f32(vi m, vf a, vf b) { return choose(m, a, b); }
INLINE vi choose_bool(vi m, vi a, vi b) { return choose_i32(m, a, b); }
#define WHERE(t, vec) INLINE vec v_where_##t(vi m, vec a, vec b) { return choose_##t(m, a, b); }
WHERE(i32, vi) WHERE(i64, vl) WHERE(f64, vd) WHERE(bool, vi)

/* Arithmetic; integers wrap around. */
#define BINARY(name, t, vec, half, e) \
  INLINE half half_##name##_##t(half a, half b) { return e; } \
  INLINE vec v_##name##_##t(vec a, vec b) { return (vec){half_##name##_##t(a.a, b.a), half_##name##_##t(a.b, b.b)}; }
#define COMPARE(name, op) \
  INLINE vi v_##name##_i32(vi a, vi b) { return a op b; } \
  INLINE vi v_##name##_i64(vl a, vl b) { return join(a.a op b.a, a.b op b.b); } \
  INLINE vi v_##name##_f64(vd a, vd b) { return join(a.a op b.a, a.b op b.b); }
#define ARITHMETIC(name, op) \
  INLINE vi v_##name##_i32(vi a, vi b) { return a op b; } \
  BINARY(name, i64, vl, hl, a op b) \
  BINARY(name, f64, vd, hd, a op b)
COMPARE(eq, ==) COMPARE(ne, !=) COMPARE(lt, <) COMPARE(le, <=) COMPARE(gt, >) COMPARE(ge, >=)
INLINE vi v_eq_bool(vi a, vi b) { return ~(a ^ b); }
INLINE vi v_ne_bool(vi a, vi b) { return a ^ b; }
INLINE vi v_and_bool(vi a, vi b) { return a & b; }
INLINE vi v_or_bool(vi a, vi b) { return a | b; }
INLINE vi v_not_bool(vi a) { return ~a; }
ARITHMETIC(add, +) ARITHMETIC(sub, -) ARITHMETIC(mul, *)
BINARY(div, f64, vd, hd, a / b)
BINARY(maximum, i64, vl, hl, choose_hl(a > b, a, b))
BINARY(minimum, i64, vl, hl, choose_hl(a < b, a, b))
BINARY(maximum, f64, vd, hd, choose_hd((a > b) | (a != a), a, choose_hd(a == b, (hd)((hl)a & (hl)b), b)))
BINARY(minimum, f64, vd, hd, choose_hd((a < b) | (a != a), a, choose_hd(a == b, (hd)((hl)a | (hl)b), b)))
INLINE vi v_maximum_i32(vi a, vi b) { return choose_i32(a > b, a, b); }
INLINE vi v_minimum_i32(vi a, vi b) { return choose_i32(a < b, a, b); }
INLINE vi v_neg_i32(vi x) { return -x; }
INLINE vl v_neg_i64(vl x) { return (vl){-x.a, -x.b}; }
INLINE vd v_neg_f64(vd x) { return (vd){-x.a, -x.b}; }
INLINE vi v_abs_i32(vi x) { return choose_i32(x < 0, -x, x); }
INLINE vl v_abs_i64(vl x) { return (vl){choose_hl(x.a < 0, -x.a, x.a), choose_hl(x.b < 0, -x.b, x.b)}; }
INLINE vd v_abs_f64(vd x) { return (vd){(hd)((hl)x.a & 0x7fffffffffffffff), (hd)((hl)x.b & 0x7fffffffffffffff)}; }
INLINE vd v_relu_f64(vd x) { return (vd){choose_hd(x.a <= 0, (hd){0}, x.a), choose_hd(x.b <= 0, (hd){0}, x.b)}; }
INLINE hd half_sqrt(hd x) { hd r; for (int l = 0; l < LANES / 2; l++) r[l] = __builtin_sqrt(x[l]); return r; }
INLINE vd v_sqrt_f64(vd x) { return (vd){half_sqrt(x.a), half_sqrt(x.b)}; }
INLINE vd v_rsqrt_f64(vd x) { return (vd){1 / half_sqrt(x.a), 1 / half_sqrt(x.b)}; }
/* Quotients of integers truncate; the smallest over -1 wraps around to itself.
   Callers have looked for zeros, whose quotients here mean nothing. */
#define DIVIDE(t, elem, vec) \
  INLINE vec v_div_##t(vec a, vec b) { \
    elem x[LANES], y[LANES]; store_##t(x, a); store_##t(y, b); \
    for (int l = 0; l < LANES; l++) x[l] = y[l] == -1 ? -x[l] : x[l] / (y[l] ? y[l] : 1); \
    return load_##t(x); \
  }
DIVIDE(i32, i32, vi) DIVIDE(i64, i64, vl)

/* Conversions. To integers they truncate, saturate, and make NaN 0. */
INLINE vl v_cast_i64_i32(vi x) { return spread(x); }
INLINE vd v_cast_f64_i32(vi x) { wd w = CONVERT(x, wd); return CAST(vd, w); }
INLINE vf v_cast_f32_i32(vi x) { return CONVERT(x, vf); }
INLINE vi v_cast_i32_i64(vl x) {
  vl lo = set_i64(-0x80000000ll), hi_ = set_i64(0x7fffffff);
  x = v_minimum_i64(v_maximum_i64(x, lo), hi_);
  return join(x.a, x.b);
}
INLINE vf v_cast_f32_i64(vl x) { return CONVERT(CAST(wl, x), vf); }
INLINE vd v_cast_f64_i64(vl x) { return (vd){CONVERT(x.a, hd), CONVERT(x.b, hd)}; }
INLINE vd v_cast_f64_f32(vf x) { wd w = CONVERT(x, wd); return CAST(vd, w); }
INLINE vf v_cast_f32_f64(vd x) { return CONVERT(CAST(wd, x), vf); }
INLINE vi v_cast_i32_f32(vf x) {
  vi in = (x > -0x1p31f) & (x < 0x1p31f);
  vi r = CONVERT(choose(in, x, set(0)), vi);
  return choose_i32(x >= 0x1p31f, set_i32(0x7fffffff), choose_i32(x <= -0x1p31f, set_i32(-0x7fffffff - 1), r));
}
INLINE hl truncated(hd x) {
  hl in = (x > -0x1p63) & (x < 0x1p63);
  hl r = CONVERT((hd)((hl)x & in), hl), least_ = (hl){0} + (-0x7fffffffffffffffll - 1);
  return choose_hl(x >= 0x1p63, ~least_, choose_hl(x <= -0x1p63, least_, r));
}
INLINE vl v_cast_i64_f64(vd x) { return (vl){truncated(x.a), truncated(x.b)}; }
INLINE vl v_cast_i64_f32(vf x) { return v_cast_i64_f64(v_cast_f64_f32(x)); }
INLINE vi v_cast_i32_f64(vd x) { return v_cast_i32_i64(v_cast_i64_f64(x)); }
#define FROM_BOOL(t, vec) INLINE vec v_cast_##t##_bool(vi m) { return choose_##t(m, set_##t(1), set_##t(0)); }
FROM_BOOL(f32, vf) FROM_BOOL(f64, vd) FROM_BOOL(i64, vl) FROM_BOOL(i32, vi)
INLINE vi v_cast_bool_f32(vf x) { return x != 0; }
INLINE vi v_cast_bool_f64(vd x) { return v_ne_f64(x, set_f64(0)); }
INLINE vi v_cast_bool_i64(vl x) { return v_ne_i64(x, set_i64(0)); }
INLINE vi v_cast_bool_i32(vi x) { return x != 0; }
/* To float, rounded to odd: the result can be rounded again, to half precision,
   as if it were exact. */
INLINE vf v_odd_f64(vd x) {
  vf r = v_cast_f32_f64(x);
  vd back = v_cast_f64_f32(r);
  vi b = (vi)r + v_gt_f64(v_abs_f64(back), v_abs_f64(x));
  return (vf)(b | (v_lt_f64(back, x) & 1) | (v_gt_f64(back, x) & 1));
}
INLINE vf v_odd_i64(vl x) {
  vl rest = {x.a & 2047, x.b & 2047}, kept = {(x.a >> 11) | (rest.a != 0 & 1), (x.b >> 11) | (rest.b != 0 & 1)};
  vl a = v_abs_i64(x);
  vi small = v_le_i64(a, set_i64(1ll << 53)) & v_ge_i64(a, set_i64(0));
  vd wide = v_mul_f64(v_cast_f64_i64(kept), set_f64(2048));
  return v_odd_f64(choose_f64(small, v_cast_f64_i64(x), wide));
}
INLINE vf v_odd_i32(vi x) { return v_odd_f64(v_cast_f64_i32(x)); }

/* Folds over the lanes, in every lane of the result. */
#define FOLD_AS(name, t, elem, vec, e) \
  INLINE vec fold_##name##_##t(vec x) { \
    elem v[LANES]; store_##t(v, x); \
    for (int h = LANES / 2; h > 0; h /= 2) for (int l = 0; l < h; l++) { elem a = v[l], b = v[l + h]; v[l] = e; } \
    return set_##t(v[0]); \
  }
FOLD_AS(sum, i32, i32, vi, a + b) FOLD_AS(max, i32, i32, vi, a > b ? a : b) FOLD_AS(min, i32, i32, vi, a < b ? a : b)
FOLD_AS(sum, i64, i64, vl, a + b) FOLD_AS(max, i64, i64, vl, a > b ? a : b) FOLD_AS(min, i64, i64, vl, a < b ? a : b)
FOLD_AS(max, f64, double, vd, lane0_f64(v_maximum_f64(set_f64(a), set_f64(b))))
FOLD_AS(min, f64, double, vd, lane0_f64(v_minimum_f64(set_f64(a), set_f64(b))))

/* An error that the operator itself will tell. */
#define FAULT __atomic_store_n(fault, 1, __ATOMIC_RELAXED); return

/* Lane numbers: a and what is a number of steps from it. */
INLINE vi lanes_(void) { vi x; for (int l = 0; l < LANES; l++) x[l] = l; return x; }
INLINE vi iota_i32(long a, int step) { return set_i32(a) + lanes_() * step; }
INLINE vl iota_i64(long a, long step) { vl x = spread(lanes_()); return (vl){x.a * step + a, x.b * step + a}; }
INLINE vi v_inside(vl x, i64 size) { return join((x.a >= 0) & (x.a < size), (x.b >= 0) & (x.b < size)); }
INLINE int any(vi m) {
  i64 s = 0, w[LANES / 2]; __builtin_memcpy(w, &m, sizeof w);
  for (int l = 0; l < LANES / 2; l++) s |= w[l];
  return s != 0;
}
/* Narrows lanes lo to hi-1 to those whose index, at + l * step, is in a range. */
INLINE void inside(long at, long step, long size, long *lo, long *hi) {
  if (step == 0) {
    if (at < 0 || at >= size) *hi = 0;
    return;
  }
  if (at < 0) { long l = (-at + step - 1) / step; if (l > *lo) *lo = l; }
  if (at + (*hi - 1) * step >= size) { long h = at < size ? (size - at + step - 1) / step : 0; if (h < *hi) *hi = h; }
}
/* The lanes lo to hi-1, and those of x elsewhere. */
#define LOAD_SOME(name, elem, vec) \
  INLINE vec load_some_##name(const elem *p, long s, long lo, long hi, vec x) { \
    elem t[LANES]; store_##name(t, x); for (long l = lo; l < hi; l++) t[l] = p[l * s]; return load_##name(t); \
  }
LOAD_SOME(f32, float, vf) LOAD_SOME(f64, double, vd) LOAD_SOME(f16, u16, vf) LOAD_SOME(bf16, u16, vf)
LOAD_SOME(i64, i64, vl) LOAD_SOME(i32, i32, vi) LOAD_SOME(bool, u8, vi) LOAD_SOME(bits16, u16, vh)
