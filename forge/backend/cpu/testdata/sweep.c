
KERNEL void matmul_0(u16 *p0, const u16 *p1, const u16 *p2, const int *stop, long from, long to) {
  float sums[4096] __attribute__((aligned(64)));
  for (long u = from, next; u < to; u = next) {
    if (stopped(stop)) return;
    long panel = u % 11, begin = panel * 64;
    next = least(least(u + 64, u - panel + 11), to);
    long count = least((next - u) * 64, 700 - begin);
    for (long j = 0; j + 4 <= count; j += 4) {
      store_f32(sums + 0 + j, set_f32(0));
    }
    for (long k = 0; k < 600; k += 8) {
      if (k % 512 == 0 && stopped(stop)) return;
      vf a0_0 = set_bf16(*(p1 + (k + 0) * 1));
      vf a0_1 = set_bf16(*(p1 + (k + 1) * 1));
      vf a0_2 = set_bf16(*(p1 + (k + 2) * 1));
      vf a0_3 = set_bf16(*(p1 + (k + 3) * 1));
      vf a0_4 = set_bf16(*(p1 + (k + 4) * 1));
      vf a0_5 = set_bf16(*(p1 + (k + 5) * 1));
      vf a0_6 = set_bf16(*(p1 + (k + 6) * 1));
      vf a0_7 = set_bf16(*(p1 + (k + 7) * 1));
      for (long j = 0; j + 4 <= count; j += 4) {
        vf c0 = load_f32(sums + 0 + j);
        vf b0 = load_bf16(p2 + (k + 0) * 700 + (begin + j) * 1);
        c0 = fma_(a0_0, b0, c0);
        vf b1 = load_bf16(p2 + (k + 1) * 700 + (begin + j) * 1);
        c0 = fma_(a0_1, b1, c0);
        vf b2 = load_bf16(p2 + (k + 2) * 700 + (begin + j) * 1);
        c0 = fma_(a0_2, b2, c0);
        vf b3 = load_bf16(p2 + (k + 3) * 700 + (begin + j) * 1);
        c0 = fma_(a0_3, b3, c0);
        vf b4 = load_bf16(p2 + (k + 4) * 700 + (begin + j) * 1);
        c0 = fma_(a0_4, b4, c0);
        vf b5 = load_bf16(p2 + (k + 5) * 700 + (begin + j) * 1);
        c0 = fma_(a0_5, b5, c0);
        vf b6 = load_bf16(p2 + (k + 6) * 700 + (begin + j) * 1);
        c0 = fma_(a0_6, b6, c0);
        vf b7 = load_bf16(p2 + (k + 7) * 700 + (begin + j) * 1);
        c0 = fma_(a0_7, b7, c0);
        store_f32(sums + 0 + j, c0);
      }
    }
    for (long j = 0; j + 4 <= count; j += 4) {
      vf sum0 = load_f32(sums + 0 + j);
      {
        store_bf16(p0 + (begin + j) * 1, sum0);
      }
    }
  }
}

static void step_0_0(char *const *p, const int *stop, long from, long to) {
  matmul_0((void *)(p[2] + 0), (void *)(p[0] + 0), (void *)(p[1] + 0), stop, from, to);
}

int forge_run_0_0(char *const *p, const int *stop, struct team *team) {
  if (stopped(stop)) return 1;
  share(team, step_0_0, p, stop, 11, 1); /* %y bf16 */
  return stopped(stop);
}
