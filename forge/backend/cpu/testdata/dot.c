
KERNEL void matmul_0(float *p0, const float *p1, const float *p2, const int *stop, long from, long to) {
  float sums[8] __attribute__((aligned(64)));
  long block = from / 1 % 1;
  long panel = from / 1 % 1;
  for (long u = from; u < to; u++, block++) {
    if (block == 1) block = 0, panel++;
    if (stopped(stop)) return;
    long c = panel * 4, r = block * 2;
    for (long j = 0; j < 4; j += 3) {
      long r0 = r + 0 < 2 ? r + 0 : 1;
      long r1 = r + 1 < 2 ? r + 1 : 1;
      long c0 = c + j + 0 < 3 ? c + j + 0 : 2;
      long c1 = c + j + 1 < 3 ? c + j + 1 : 2;
      long c2 = c + j + 2 < 3 ? c + j + 2 : 2;
      vf c0_0 = set(0);
      vf c0_1 = set(0);
      vf c0_2 = set(0);
      vf c1_0 = set(0);
      vf c1_1 = set(0);
      vf c1_2 = set(0);
      for (long k = 0; k + 4 <= 40; k += 4) {
        vf a0 = load_f32(p1 + r0 * 40 + k * 1);
        vf a1 = load_f32(p1 + r1 * 40 + k * 1);
        vf b0 = load_f32(p2 + k * 1 + c0 * 40);
        c0_0 = fma_(a0, b0, c0_0);
        c1_0 = fma_(a1, b0, c1_0);
        vf b1 = load_f32(p2 + k * 1 + c1 * 40);
        c0_1 = fma_(a0, b1, c0_1);
        c1_1 = fma_(a1, b1, c1_1);
        vf b2 = load_f32(p2 + k * 1 + c2 * 40);
        c0_2 = fma_(a0, b2, c0_2);
        c1_2 = fma_(a1, b2, c1_2);
      }
      if (j + 0 < 4) sums[0 + j] = lane0_f32(fold_sum_f32(c0_0));
      if (j + 1 < 4) sums[1 + j] = lane0_f32(fold_sum_f32(c0_1));
      if (j + 2 < 4) sums[2 + j] = lane0_f32(fold_sum_f32(c0_2));
      if (j + 0 < 4) sums[4 + j] = lane0_f32(fold_sum_f32(c1_0));
      if (j + 1 < 4) sums[5 + j] = lane0_f32(fold_sum_f32(c1_1));
      if (j + 2 < 4) sums[6 + j] = lane0_f32(fold_sum_f32(c1_2));
    }
    if (r + 0 < 2) {
      if (c + 4 <= 3) {
        vf sum = load(sums + 0);
        {
          store_f32(p0 + (r + 0) * 3 + c * 1, sum);
        }
      }
      if (c + 4 > 3) {
        vf sum = load(sums + 0);
        {
          store_part_f32(p0 + (r + 0) * 3 + c * 1, sum, 3);
        }
      }
    }
    if (r + 1 < 2) {
      if (c + 4 <= 3) {
        vf sum = load(sums + 4);
        {
          store_f32(p0 + (r + 1) * 3 + c * 1, sum);
        }
      }
      if (c + 4 > 3) {
        vf sum = load(sums + 4);
        {
          store_part_f32(p0 + (r + 1) * 3 + c * 1, sum, 3);
        }
      }
    }
  }
}

int forge_run_0_0(char *const *p, const int *stop, struct team *team) {
  if (stopped(stop)) return 1;
  matmul_0((void *)(p[2] + 0), (void *)(p[0] + 0), (void *)(p[1] + 0), stop, 0, 1); /* %y f32 */
  return stopped(stop);
}
