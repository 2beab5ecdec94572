/* What all kernels of attention have in common. A shape S has the sizes and steps of
   one attention as constants; see shape.go. */
#ifndef INLINE
#define INLINE static __device__ __forceinline__
#endif
#ifndef AWAIT /* kernels do not overlap */
#define READY
#define AWAIT
#endif
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;

namespace attention {

template <class S> struct operands {
  const typename S::elem *q, *k, *v;
  typename S::out_elem *out;
  const typename S::mask_elem *mask;
  const typename S::table_elem *table;
  const typename S::pos_elem *pos;
  const typename S::length_elem *length;
};

/* Elements as they are computed with. */
template <class S> INLINE typename S::real get(const typename S::elem *p) {
  if constexpr (S::kind == 2) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(*p));
    return x;
  } else if constexpr (S::kind == 3) {
    return __int_as_float(*p << 16);
  } else {
    return *p;
  }
}
template <class S> INLINE typename S::elem narrow(typename S::real x) {
  if constexpr (S::kind == 2) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
  } else if constexpr (S::kind == 3) {
    const unsigned bits = __float_as_uint(x);
    return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  } else {
    return x;
  }
}
/* Stores a result, rounded to the type of the shape. */
template <class S> INLINE void put(typename S::out_elem *p, typename S::real x) {
  const typename S::elem y = narrow<S>(x);
  if constexpr (S::widened) *p = get<S>(&y);
  else *p = y;
}

/* Two numbers in one register, the first in its lower half. */
template <class S> INLINE unsigned pack(float low, float high) {
  unsigned r;
  if constexpr (S::kind == 3) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

/* 2 to the power x, within two units in the last place. */
INLINE float power(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
INLINE double power(double x) { return exp2(x); }

INLINE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
INLINE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

template <class T> INLINE T lowest() { return (T)__int_as_float(0xff800000); }
template <class T> INLINE T larger(T a, T b) { return a > b ? a : b; }

/* The number of keys that query i of batch b sees; 0 for padding. */
template <class S> INLINE int visible(const operands<S> &p, int b, int i) {
  if constexpr (S::cached) {
    i64 at = (i64)p.pos[b * S::pos_step] + i;
    if constexpr (S::bounded)
      if (at >= (i64)p.length[b * S::length_step]) return 0;
    return at < 0 ? 0 : at >= S::keys ? S::keys : (int)at + 1;
  } else {
    return S::causal && !S::strict && i + 1 < S::keys ? i + 1 : S::keys;
  }
}

/* The most and the least keys that rows of a block see. */
template <class S> INLINE void seen_by(const operands<S> &p, int b, int first, int last, int &most, int &least) {
  most = 0;
  least = S::keys;
  if constexpr (S::cached) {
    for (int i = first / S::ratio; i <= (last - 1) / S::ratio; i++) {
      const int n = visible(p, b, i);
      most = n > most ? n : most;
      least = n < least ? n : least;
    }
  } else {
    most = visible(p, b, (last - 1) / S::ratio);
    least = visible(p, b, first / S::ratio);
  }
}

/* The batch, or the block, and the row in which key j of batch b stands; a row below 0
   where the table names no block. */
struct place { i64 batch; int row; };
template <class S> INLINE place locate(const operands<S> &p, int b, int j) {
  if constexpr (S::paged) {
    i64 block = (i64)p.table[b * S::table_row + (i64)(j / S::block) * S::table_step];
    const bool known = block >= 0 && block < S::blocks;
    return place{known ? block : 0, known ? j % S::block : -1};
  } else {
    return place{b, j};
  }
}

/* The same for any j from 0 on, without a branch; nothing is known of what is beyond the
   keys that there can be. */
template <class S> INLINE place locate_any(const operands<S> &p, int b, int j) {
  return locate(p, b, j < S::keys ? j : S::keys - 1);
}

/* What the mask says of a pair: a score that is scaled already, with the number that is
   added. excluded becomes true where the pair takes no part. */
template <class S> INLINE typename S::real masked(const operands<S> &p, typename S::real score, int b, int h, int i, int j, bool &excluded) {
  typedef typename S::real real;
  if constexpr (S::masked == 2) {
    excluded = excluded || !p.mask[b * S::mask_batch + h * S::mask_head + i * S::mask_row + (i64)j * S::mask_key];
  } else if constexpr (S::masked == 1) {
    real m;
    const typename S::mask_elem *at = p.mask + b * S::mask_batch + h * S::mask_head + i * S::mask_row + (i64)j * S::mask_key;
    m = get<S>(at);
    score += m;
    excluded = excluded || (!S::strict && m == lowest<real>());
  }
  if constexpr (S::causal && S::strict) excluded = excluded || j > i;
  return excluded ? lowest<real>() : score;
}

template <class T> INLINE T warp_max(T x) {
  for (int d = 16; d > 0; d /= 2) x = larger(x, __shfl_xor_sync(~0u, x, d));
  return x;
}
template <class T> INLINE T warp_sum(T x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
  return x;
}

/* A softmax that goes on: the largest score so far, times log2(e), the sum of the
   weights relative to it, and the weighted sums of the channels of a lane. */
template <class S> struct row_state {
  static constexpr int each = (S::e + 31) / 32 > 0 ? (S::e + 31) / 32 : 1;
  typename S::real top, sum, o[each];
};

/* Four neighbouring channels at once. */
template <class S> INLINE void get4(typename S::real (&x)[4], const typename S::elem *p) {
  struct alignas(4 * sizeof(typename S::elem) < 16 ? 4 * sizeof(typename S::elem) : 16) four { typename S::elem e[4]; };
  const four y = *(const four *)p;
  for (int t = 0; t < 4; t++) x[t] = get<S>(&y.e[t]);
}

/* The product of a query with 32 keys, at[j] for the key of lane j, negative where there is
   none. Lanes by eight read neighbouring channels of one key, and four keys at a time. */
template <class S> INLINE typename S::real dots(const operands<S> &p, const typename S::elem *q, i64 at) {
  typedef typename S::real real;
  const int lane = threadIdx.x % 32;
  real result = 0;
  #pragma unroll
  for (int i = 0; i < 8; i++) {
    const i64 from = __shfl_sync(~0u, at, i * 4 + lane / 8);
    real dot = 0;
    if (from >= 0)
      for (int c = lane % 8 * 4; c < S::d; c += 32) {
        real x[4], y[4];
        get4<S>(x, q + c);
        get4<S>(y, p.k + from + c);
        for (int t = 0; t < 4; t++) dot = fused(x[t], y[t], dot);
      }
    for (int d = 1; d < 8; d *= 2) dot += __shfl_xor_sync(~0u, dot, d);
    dot = __shfl_sync(~0u, dot, lane % 4 * 8);
    if (lane / 4 == i) result = dot;
  }
  return result;
}

/* One warp adds keys from, from + 32 * step and so on, below to, in groups of 32
   neighbours, one key for each lane. */
template <class S> INLINE void attend_keys(const operands<S> &p, row_state<S> &r, int b, int h, int i, int from, int to, int step) {
  typedef typename S::real real;
  constexpr real log2e = (real)1.4426950408889634;
  const int lane = threadIdx.x % 32, g = h / S::ratio;
  const typename S::elem *q = p.q + b * S::q_batch + h * S::q_head + i * S::q_row;
  r.top = lowest<real>();
  r.sum = 0;
  for (int c = 0; c < r.each; c++) r.o[c] = 0;
  for (int first = from; first < to; first += 32 * step) {
    const int j = first + lane;
    const place at = locate_any(p, b, j);
    const bool there = j < to && at.row >= 0;
    bool excluded = !there;
    const i64 key = there ? at.batch * S::k_batch + g * S::k_head + at.row * S::k_row : -1;
    const i64 value = there ? at.batch * S::v_batch + g * S::v_head + at.row * S::v_row : 0;
    real dot = 0;
    if constexpr (S::fours) {
      dot = dots(p, q, key);
    } else if (there) {
      #pragma unroll 4
      for (int c = 0; c < S::d; c++) dot = fused(get<S>(q + c * S::q_step), get<S>(p.k + key + c * S::k_step), dot);
    }
    real score = lowest<real>();
    if (there) score = masked(p, dot * (real)S::scale, b, h, i, j, excluded);
    const real scaled = score * log2e, top = larger(r.top, warp_max(scaled));
    const real base = top == lowest<real>() ? 0 : top;
    const real shrink = power(r.top - base), weight = power(scaled - base);
    const unsigned skipped = __ballot_sync(~0u, excluded && !(S::strict && there));
    r.top = top;
    r.sum = r.sum * shrink + warp_sum(weight);
    for (int c = 0; c < r.each; c++) r.o[c] *= shrink;
    #pragma unroll 8
    for (int t = 0; t < 32; t++) {
      const real w = __shfl_sync(~0u, weight, t);
      const i64 row = __shfl_sync(~0u, value, t);
      if (skipped >> t & 1) continue;
      for (int c = 0; c < r.each; c++)
        if (lane + 32 * c < S::e) r.o[c] = fused(w, get<S>(p.v + row + (lane + 32 * c) * S::v_step), r.o[c]);
    }
  }
}

/* The factor that makes a result of sums of weighted values, and the result where all
   scores are -inf. */
template <class S> INLINE typename S::real finished(typename S::real o, typename S::real sum) {
  typedef typename S::real real;
  if (sum == 0) return S::strict && S::keys > 0 ? (real)__int_as_float(0x7fc00000) : (real)0;
  return o / sum;
}

/* The result of one query by one warp, key by key: excluded values are not touched. */
template <class S> INLINE void attend_row(const operands<S> &p, int b, int h, int i) {
  row_state<S> r;
  attend_keys(p, r, b, h, i, 0, visible(p, b, i), 1);
  typename S::out_elem *out = p.out + b * S::out_batch + h * S::out_head + i * S::out_row;
  const int lane = threadIdx.x % 32;
  for (int c = 0; c < r.each; c++)
    if (lane + 32 * c < S::e) put<S>(out + (lane + 32 * c) * S::out_step, finished<S>(r.o[c], r.sum));
}

}  // namespace attention
