
/* An error that the operator itself will tell: of the first step that found one. */
#define FAULT atomicMin(fault, step)

/* Folds over the threads of a group, in a fixed order and with the result in each:
   a warp by exchange, a block by way of one number for each warp. */
template <int group> INLINE void sync_() {
  if (group == 32) __syncwarp();
  if (group > 32) __syncthreads();
}
#define FOLD(name, t, elem, vec, op) \
  template <int group> INLINE vec fold_##name##_##t(vec x) { \
    if (group == 1) return x; \
    for (int d = 16; d > 0; d /= 2) x = op(x, set_##t(__shfl_xor_sync(~0u, lane0_##t(x), d))); \
    if (group == 32) return x; \
    __shared__ elem part[32]; \
    __syncthreads(); \
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = lane0_##t(x); \
    __syncthreads(); \
    x = set_##t(part[threadIdx.x % (group / 32)]); \
    for (int d = group / 64; d > 0; d /= 2) x = op(x, set_##t(__shfl_xor_sync(~0u, lane0_##t(x), d))); \
    return x; \
  }
FOLD(prod, f32, float, vf, v_mul) FOLD(sum, f32, float, vf, v_add) FOLD(max, f32, float, vf, v_maximum) FOLD(min, f32, float, vf, v_minimum)
FOLD(prod, f64, double, vd, v_mul_f64) FOLD(sum, f64, double, vd, v_add_f64) FOLD(max, f64, double, vd, v_maximum_f64) FOLD(min, f64, double, vd, v_minimum_f64)
FOLD(prod, i32, i32, vi, v_mul_i32) FOLD(sum, i32, i32, vi, v_add_i32) FOLD(max, i32, i32, vi, v_maximum_i32) FOLD(min, i32, i32, vi, v_minimum_i32)
FOLD(prod, i64, i64, vl, v_mul_i64) FOLD(sum, i64, i64, vl, v_add_i64) FOLD(max, i64, i64, vl, v_maximum_i64) FOLD(min, i64, i64, vl, v_minimum_i64)
