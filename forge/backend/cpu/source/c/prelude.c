/* Vectors of LANES floats. Loads and stores go through a twin type, because
   callers' memory is only aligned to its elements. */
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int vi __attribute__((vector_size(4 * LANES)));
typedef float vu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int i32;

#define INLINE static inline __attribute__((always_inline))
#define KERNEL static __attribute__((noinline))
/* Keeps a vector in a register: compilers tuned for Zen else read it from memory
   in every multiply-add. */
#if defined(__x86_64__)
#define PIN(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__) && LANES == 4
#define PIN(x) __asm__("" : "+w"(x))
#else
#define PIN(x) ((void)0)
#endif

INLINE int stopped(const int *stop) { return __atomic_load_n(stop, __ATOMIC_RELAXED); }

/* A kernel on [from, to) of its units, and those who may share it. */
typedef void work(char *const *p, const int *stop, long from, long to);
struct team { void (*share)(struct team *, work *, char *const *, const int *, long, long); };
INLINE void share(struct team *team, work *step, char *const *p, const int *stop, long units, long grain) {
  if (team) team->share(team, step, p, stop, units, grain);
  else step(p, stop, 0, units);
}

INLINE long least(long a, long b) { return a < b ? a : b; }

INLINE vf set(float x) { return x - (vf){0}; }
INLINE vf load(const float *p) { return *(const vu *)p; }
INLINE void store(float *p, vf x) { *(vu *)p = x; }
/* The first n lanes only. */
INLINE vf load_part(const float *p, int n) { vf x = {0}; __builtin_memcpy(&x, p, 4 * n); return x; }
INLINE void store_part(float *p, vf x, int n) { __builtin_memcpy(p, &x, 4 * n); }
/* Lanes that are s elements apart. */
INLINE vf load_strided(const float *p, long s, int n) { vf x = {0}; for (int l = 0; l < n; l++) x[l] = p[l * s]; return x; }
INLINE void store_strided(float *p, long s, vf x, int n) { for (int l = 0; l < n; l++) p[l * s] = x[l]; }

/* Lanes of a, and of b from number LANES on. */
INLINE vf shuffle(vf a, vf b, vi from) {
#ifdef __clang__
  vf r;
  for (int l = 0; l < LANES; l++) r[l] = from[l] < LANES ? a[from[l]] : b[from[l] - LANES];
  return r;
#else
  return __builtin_shuffle(a, b, from);
#endif
}
/* Two numbers again and again, and two rows of half a vector with their lanes in
   turn; what there is of them when the second is missing, and else 0. */
typedef long vpair __attribute__((vector_size(4 * LANES)));
INLINE vf pairs(const float *p) { long x; __builtin_memcpy(&x, p, 8); return (vf)(x | (vpair){0}); }
INLINE vf pairs_one(const float *p) { unsigned x; __builtin_memcpy(&x, p, 4); return (vf)((long)x | (vpair){0}); }
INLINE vf in_turn(vf x) { vi from; for (int l = 0; l < LANES; l++) from[l] = l / 2 + l % 2 * (LANES / 2); return shuffle(x, x, from); }
INLINE vf beside(const float *p) { return in_turn(load(p)); }
INLINE vf beside_one(const float *p) { return in_turn(load_part(p, LANES / 2)); }

INLINE vf choose(vi m, vf a, vf b) { return (vf)(((vi)a & m) | ((vi)b & ~m)); }
/* The lanes below n. */
INLINE vi first(int n) { vi x; for (int l = 0; l < LANES; l++) x[l] = l; return x < n; }
#if defined(__AVX512F__) && LANES == 16
INLINE vf rounded(vf z) { return __builtin_ia32_rndscaleps_mask(z, 8, z, (unsigned short)-1, 4); }
#else
INLINE vf rounded(vf z) { return (z + 0x1.8p23f) - 0x1.8p23f; }
#endif
/* The larger and the smaller of a bound, which is no NaN, and x, which may be
   one and then is the result. */
#if defined(__AVX__) && LANES >= 8
INLINE vf at_least(vf bound, vf x) { vf r; __asm__("vmaxps %2, %1, %0" : "=v"(r) : "v"(bound), "v"(x)); return r; }
INLINE vf at_most(vf bound, vf x) { vf r; __asm__("vminps %2, %1, %0" : "=v"(r) : "v"(bound), "v"(x)); return r; }
#else
INLINE vf at_least(vf bound, vf x) { return choose(x < bound, bound, x); }
INLINE vf at_most(vf bound, vf x) { return choose(x > bound, bound, x); }
#endif

INLINE vf fma_(vf a, vf b, vf c) {
#if defined(__AVX512F__) && LANES == 16
  return __builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4);
#elif defined(__FMA__) && LANES == 8
  return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__FMA__) && LANES == 4
  return __builtin_ia32_vfmaddps(a, b, c);
#else
  vf r;
  for (int l = 0; l < LANES; l++) r[l] = __builtin_fmaf(a[l], b[l], c[l]);
  return r;
#endif
}

INLINE vf v_add(vf a, vf b) { return a + b; }
INLINE vf v_sub(vf a, vf b) { return a - b; }
INLINE vf v_mul(vf a, vf b) { return a * b; }
INLINE vf v_div(vf a, vf b) { return a / b; }
INLINE vf v_neg(vf x) { return -x; }
INLINE vf v_abs(vf x) { return (vf)((vi)x & 0x7fffffff); }
INLINE vi v_eq(vf a, vf b) { return a == b; }
INLINE vi v_ne(vf a, vf b) { return a != b; }
INLINE vi v_lt(vf a, vf b) { return a < b; }
INLINE vi v_le(vf a, vf b) { return a <= b; }
INLINE vi v_gt(vf a, vf b) { return a > b; }
INLINE vi v_ge(vf a, vf b) { return a >= b; }
INLINE vf v_where(vi m, vf a, vf b) { return choose(m, a, b); }
/* NaN wins; 0 is larger than -0. */
INLINE vf v_maximum(vf a, vf b) { return choose((a > b) | (a != a), a, choose(a == b, (vf)((vi)a & (vi)b), b)); }
INLINE vf v_minimum(vf a, vf b) { return choose((a < b) | (a != a), a, choose(a == b, (vf)((vi)a | (vi)b), b)); }
INLINE vf v_relu(vf x) { return choose(x <= 0, set(0), x); }
INLINE vf v_sqrt(vf x) { vf r; for (int l = 0; l < LANES; l++) r[l] = __builtin_sqrtf(x[l]); return r; }
INLINE vf v_rsqrt(vf x) { return 1 / v_sqrt(x); }
INLINE vf copysign_(vf x, vf s) { return (vf)(((vi)x & 0x7fffffff) | ((vi)s & (i32)0x80000000)); }

/* The elementary functions repeat those of package mathf operation by
   operation; only their branches have become choices. */
INLINE vf exp2i(vi k) { return (vf)((k + 127) << 23); }
/* p times 2 to the n, rounded once: the first of two products is exact. */
INLINE vf scale(vf p, vf n) {
#if defined(__AVX512F__) && LANES == 16
  return __builtin_ia32_scalefps512_mask(p, n, p, (unsigned short)-1, 4);
#else
  vi k = __builtin_convertvector(n, vi), half = k >> 1;
  return (p * exp2i(half)) * exp2i(k - half);
#endif
}
INLINE vf exp_poly(vf x, vf *n) {
  *n = rounded(x * 0x1.715476p+0f);
  vf r = fma_(*n, set(-0x1.62e43p-1f), x);
  r = fma_(*n, set(0x1.05c61p-29f), r);
  vf q = set(0x1.68fde2p-10f);
  q = fma_(q, r, set(0x1.12534p-7f));
  q = fma_(q, r, set(0x1.5559acp-5f));
  q = fma_(q, r, set(0x1.55546cp-3f));
  q = fma_(q, r, set(0x1.fffffcp-2f));
  return 1 + fma_(q, r * r, r);
}
/* Beyond these bounds exp overflows and vanishes, as it does at them. */
INLINE vf v_exp(vf x) {
  vf n, p = exp_poly(at_least(set(-105), at_most(set(89.5f), x)), &n);
  return scale(p, n);
}
/* exp of minus the size of x. */
INLINE vf exp_down(vf x) {
  vf n, p = exp_poly(at_least(set(-105), (vf)((vi)x | (i32)0x80000000)), &n);
  return scale(p, n);
}
INLINE vf v_log(vf x) {
  vi low = x < 0x1p-126f;
  vf y = choose(low, x * 0x1p23f, x), e = choose(low, set(-23), set(0));
  vi k = ((vi)y - 0x3f3504f3) >> 23;
  e += __builtin_convertvector(k, vf);
  vf f = (vf)((vi)y - (k << 23)) - 1;
  vf p = set(0x1.b6593cp-5f);
  p = fma_(p, f, set(-0x1.bf6312p-4f));
  p = fma_(p, f, set(0x1.effadep-4f));
  p = fma_(p, f, set(-0x1.010438p-3f));
  p = fma_(p, f, set(0x1.23036cp-3f));
  p = fma_(p, f, set(-0x1.552f18p-3f));
  p = fma_(p, f, set(0x1.99a54p-3f));
  p = fma_(p, f, set(-0x1.00007p-2f));
  p = fma_(p, f, set(0x1.555548p-2f));
  vf f2 = f * f, tail = fma_(e, set(-0x1.05c61p-29f), (p * f) * f2);
  tail = fma_(f2, set(-0.5f), tail);
  vf r = fma_(e, set(0x1.62e43p-1f), f + tail);
  r = choose(x > 0x1.fffffep127f, x, r);
  r = choose(x == 0, set(-__builtin_inff()), r);
  return choose((x != x) | (x < 0), (vf)(((vi){0}) + 0x7fc00000), r);
}
INLINE vf v_sigmoid(vf x) {
  vf z = exp_down(x);
  return choose(x < 0, z, set(1)) / (1 + z);
}
INLINE vf v_tanh(vf x) {
  vf a = v_abs(x), u = x * x, p = set(-0x1.750ce2p-8f);
  p = fma_(p, u, set(0x1.51f8cep-6f));
  p = fma_(p, u, set(-0x1.b835a4p-5f));
  p = fma_(p, u, set(0x1.1106f6p-3f));
  p = fma_(p, u, set(-0x1.555532p-2f));
  vf near = fma_(p * u, x, x), far = 1 - 2 / (v_exp(2 * a) + 1);
  return copysign_(choose(a < 0.625f, near, far), x);
}
INLINE vf v_silu(vf x) {
  vf n, p = exp_poly(x, &n), small = scale(x * p, n);
  vf z = exp_down(x), y = choose(x < 0, x * z, x) / (1 + z);
  y = choose(x < -17, small, y);
  y = choose(x < -110, set(-0.0f), y);
  return choose(x != x, x, y);
}
INLINE vf upper_tail(vf a, vf factor) {
  vf h = a * a, e = fma_(a, a, -h), r = 1 / (a + 4), u = (a - 4) * r;
  vf g = set(-0x1.cb10f2p-14f);
  g = fma_(g, u, set(0x1.b7ee0ep-13f));
  g = fma_(g, u, set(0x1.97ba38p-10f));
  g = fma_(g, u, set(-0x1.cfe026p-9f));
  g = fma_(g, u, set(-0x1.ecfbdap-8f));
  g = fma_(g, u, set(0x1.eee372p-5f));
  g = fma_(g, u, set(-0x1.7e002cp-3f));
  g = fma_(g, u, set(0x1.8c6d72p-2f));
  g = fma_(g, u, set(-0x1.373e38p-1f));
  g = fma_(g, u, set(0x1.82b4bcp-1f));
  g = g * r;
  g = fma_(g, -0.5f * e, g);
  vf n, p = exp_poly(-0.5f * h, &n);
  return choose(a > 14.6f, set(0), scale((g * factor) * p, n));
}
INLINE vf v_erf(vf x) {
  vf a = v_abs(x), u = x * x, p = set(0x1.4771fep-14f);
  p = fma_(p, u, set(-0x1.a3515ep-11f));
  p = fma_(p, u, set(0x1.53f224p-8f));
  p = fma_(p, u, set(-0x1.b7f71ap-6f));
  p = fma_(p, u, set(0x1.ce2ce6p-4f));
  p = fma_(p, u, set(-0x1.81273ep-2f));
  p = fma_(p, u, set(0x1.06eba8p-3f));
  vf far = copysign_(1 - upper_tail(a * 0x1.6a09e6p+0f, set(2)), x);
  return choose(x != x, x, choose(a < 1, fma_(p, x, x), far));
}
INLINE vf v_gelu(vf x) {
  vf a = v_abs(x), u = x * x, p = set(0x1.3645f2p-21f);
  p = fma_(p, u, set(-0x1.42c666p-17f));
  p = fma_(p, u, set(0x1.e7884p-14f));
  p = fma_(p, u, set(-0x1.378682p-10f));
  p = fma_(p, u, set(0x1.46d55cp-7f));
  p = fma_(p, u, set(-0x1.10586p-4f));
  p = fma_(p, u, set(0x1.988454p-2f));
  vf tail = upper_tail(a, choose(x < 0, x, set(1)));
  vf y = choose(x < 0, tail, x * (1 - tail));
  y = choose(a < 1.25f, x * fma_(p, x, set(0.5f)), y);
  y = choose(x < -15, set(-0.0f), y);
  return choose(x != x, x, y);
}
/* Far out the sigmoid is 0 or 1, so that the limits come by themselves, but that
   -inf * 0 is no number. */
INLINE vf v_gelu_tanh(vf x) {
  vf v = x * fma_(x * x, set(0x1.2444f2p-4f), set(0x1.988454p+0f));
  return at_least(set(-0x1p127f), x) * v_sigmoid(v);
}

/* A fold over the lanes, in every lane of the result. */
#define FOLD(name, op) \
  INLINE vf name##_f32(vf x) { \
    float t[LANES]; __builtin_memcpy(t, &x, sizeof t); \
    for (int h = LANES / 2; h > 0; h /= 2) for (int l = 0; l < h; l++) t[l] = op; \
    return set(t[0]); \
  }
INLINE float larger(float a, float b) { return v_maximum(set(a), set(b))[0]; }
INLINE float smaller(float a, float b) { return v_minimum(set(a), set(b))[0]; }
FOLD(fold_sum, t[l] + t[l + h])
FOLD(fold_max, larger(t[l], t[l + h]))
FOLD(fold_min, smaller(t[l], t[l + h]))
