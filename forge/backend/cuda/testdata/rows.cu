extern "C" __global__ void __launch_bounds__(256) exp_0(float *p0, const float *p1, int *fault, int step) { ENTER;
  for (i32 u = (i32)blockIdx.x * 256 + threadIdx.x; u < 6400; u += (i32)gridDim.x * 256) {
    i32 j0 = u / 1;
    vf t0 = load_f32(p1 + (0 + j0 * 1));
    vf t1 = v_exp(t0);
    store_f32(p0 + (0 + j0 * 1), t1);
  }
}

extern "C" __global__ void __launch_bounds__(128) sum_1(float *p0, const float *p1, int *fault, int step) { ENTER;
  const int lane = threadIdx.x % 32;
  for (i32 u = (i32)blockIdx.x * 4 + threadIdx.x / 32; u < 64; u += (i32)gridDim.x * 4) {
    i32 i0 = u / 1;
    alignas(16) float t0[1][4];
    _Pragma("unroll")
    for (int part = 0; part < 1; part++) {
      const int first = (part * 32 + lane) * 4;
      if (first >= 100) break;
      move_<16>(t0[part], p1 + (0 + i0 * 100 + first * 1));
    }
    vf s0 = set(0x0p+00f);
    _Pragma("unroll")
    for (int part = 0; part < 1; part++) {
      const int first = (part * 32 + lane) * 4;
      if (first >= 100) break;
      _Pragma("unroll")
      for (int l = 0; l < 4; l++) {
        const i32 j0 = first + l;
        vf t1 = load_f32(t0[part] + l);
        s0 = v_add(s0, t1);
      }
    }
    s0 = fold_sum_f32<32>(s0);
    vf s1 = s0;
    if (lane == 0) store_f32(p0 + (0 + i0 * 1), s1);
  }
}

