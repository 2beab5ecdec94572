/* One thread computes one element with the text that computes vectors on a processor.
   A half vector has one lane, so that a vector stands for two equal ones, one of which
   the compiler drops. Integers wrap around. */
#define LANES 2
#define INLINE_MEMBER __device__ __forceinline__
#define INLINE static __device__ __forceinline__
#define __builtin_memcpy memcpy
#define __builtin_sqrtf(x) __fsqrt_rn(x)
#define __builtin_sqrt(x) __dsqrt_rn(x)
#define __builtin_fmaf(a, b, c) __fmaf_rn(a, b, c)
#define __builtin_fma(a, b, c) __fma_rn(a, b, c)
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000ll)
#define __builtin_nan(s) __longlong_as_double(0x7ff8000000000000ll)
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;

/* A number behind the operators of a vector. Masks are -1 and 0. */
struct vi;
struct hl;
struct vf {
  float v;
  vf() = default;
  INLINE_MEMBER vf(float x) : v(x) {}
  INLINE_MEMBER explicit vf(vi x);
  INLINE_MEMBER float &operator[](int) { return v; }
};
struct vi {
  i32 v;
  vi() = default;
  INLINE_MEMBER vi(i32 x) : v(x) {}
  INLINE_MEMBER explicit vi(vf x) : v(__float_as_int(x.v)) {}
  INLINE_MEMBER i32 &operator[](int) { return v; }
};
INLINE_MEMBER vf::vf(vi x) : v(__int_as_float(x.v)) {}
struct hd {
  double v;
  hd() = default;
  INLINE_MEMBER hd(double x) : v(x) {}
  INLINE_MEMBER explicit hd(hl x);
  INLINE_MEMBER double &operator[](int) { return v; }
};
struct hl {
  i64 v;
  hl() = default;
  INLINE_MEMBER hl(i64 x) : v(x) {}
  INLINE_MEMBER explicit hl(hd x) : v(__double_as_longlong(x.v)) {}
};
INLINE_MEMBER hd::hd(hl x) : v(__longlong_as_double(x.v)) {}
struct vh { u16 v; };
struct vb { u8 v; };
struct vl { hl a, b; };
struct vd { hd a, b; };
typedef vl wl;
typedef vd wd;

#define FLOATS(vec, mask, ints) \
  INLINE vec operator+(vec a, vec b) { return a.v + b.v; } \
  INLINE vec operator-(vec a, vec b) { return a.v - b.v; } \
  INLINE vec operator*(vec a, vec b) { return a.v * b.v; } \
  INLINE vec operator/(vec a, vec b) { return a.v / b.v; } \
  INLINE vec operator-(vec a) { return -a.v; } \
  INLINE vec &operator+=(vec &a, vec b) { a.v += b.v; return a; }
#define INTEGERS(vec, unsigned_, elem) \
  INLINE vec operator+(vec a, vec b) { return (elem)((unsigned_)a.v + (unsigned_)b.v); } \
  INLINE vec operator-(vec a, vec b) { return (elem)((unsigned_)a.v - (unsigned_)b.v); } \
  INLINE vec operator*(vec a, vec b) { return (elem)((unsigned_)a.v * (unsigned_)b.v); } \
  INLINE vec operator-(vec a) { return (elem)(0 - (unsigned_)a.v); } \
  INLINE vec operator&(vec a, vec b) { return a.v & b.v; } \
  INLINE vec operator|(vec a, vec b) { return a.v | b.v; } \
  INLINE vec operator^(vec a, vec b) { return a.v ^ b.v; } \
  INLINE vec operator~(vec a) { return ~a.v; } \
  INLINE vec operator<<(vec a, int n) { return (elem)((unsigned_)a.v << n); } \
  INLINE vec operator>>(vec a, int n) { return a.v >> n; } \
  INLINE vec &operator&=(vec &a, vec b) { a.v &= b.v; return a; }
#define COMPARISONS(vec, mask) \
  INLINE mask operator==(vec a, vec b) { return a.v == b.v ? -1 : 0; } \
  INLINE mask operator!=(vec a, vec b) { return a.v != b.v ? -1 : 0; } \
  INLINE mask operator<(vec a, vec b) { return a.v < b.v ? -1 : 0; } \
  INLINE mask operator<=(vec a, vec b) { return a.v <= b.v ? -1 : 0; } \
  INLINE mask operator>(vec a, vec b) { return a.v > b.v ? -1 : 0; } \
  INLINE mask operator>=(vec a, vec b) { return a.v >= b.v ? -1 : 0; }
FLOATS(vf, vi, vi) FLOATS(hd, hl, hl)
INTEGERS(vi, unsigned, i32) INTEGERS(hl, unsigned long long, i64)
COMPARISONS(vf, vi) COMPARISONS(vi, vi) COMPARISONS(hd, hl) COMPARISONS(hl, hl)

/* Conversions of values. */
template <class To> struct to;
#define CONVERT(x, t) to<t>::of(x)
#define __builtin_convertvector(x, t) CONVERT(x, t)
template <> struct to<vf> {
  INLINE_MEMBER static vf of(vi x) { return __int2float_rn(x.v); }
  INLINE_MEMBER static vf of(vl x) { return __ll2float_rn(x.a.v); }
  INLINE_MEMBER static vf of(vd x) { return __double2float_rn(x.a.v); }
};
template <> struct to<vi> {
  INLINE_MEMBER static vi of(vf x) { return __float2int_rz(x.v); }
  INLINE_MEMBER static vi of(vl x) { return (i32)x.a.v; }
  INLINE_MEMBER static vi of(vh x) { return (i32)x.v; }
  INLINE_MEMBER static vi of(vb x) { return (i32)x.v; }
};
template <> struct to<vl> { INLINE_MEMBER static vl of(vi x) { hl h((i64)x.v); return vl{h, h}; } };
template <> struct to<vd> {
  INLINE_MEMBER static vd of(vi x) { hd h((double)x.v); return vd{h, h}; }
  INLINE_MEMBER static vd of(vf x) { hd h((double)x.v); return vd{h, h}; }
};
template <> struct to<hd> { INLINE_MEMBER static hd of(hl x) { return __ll2double_rn(x.v); } };
template <> struct to<hl> { INLINE_MEMBER static hl of(hd x) { return __double2ll_rz(x.v); } };
template <> struct to<vh> { INLINE_MEMBER static vh of(vi x) { return vh{(u16)x.v}; } };
template <> struct to<vb> { INLINE_MEMBER static vb of(vi x) { return vb{(u8)x.v}; } };
#define CAST(t, x) (x)

INLINE vf set(float x) { return x; }
INLINE vf choose(vi m, vf a, vf b) { return m.v ? a.v : b.v; }
INLINE vf rounded(vf z) { return rintf(z.v); }
INLINE vf at_least(vf bound, vf x) { return x.v < bound.v ? bound.v : x.v; }
INLINE vf at_most(vf bound, vf x) { return x.v > bound.v ? bound.v : x.v; }
INLINE vf fma_(vf a, vf b, vf c) { return __fmaf_rn(a.v, b.v, c.v); }
INLINE int any(vi m) { return m.v; }
INLINE vi join(hl a, hl) { return (i32)a.v; }
INLINE vl spread(vi m) { return CONVERT(m, vl); }
