
KERNEL void linear_0_3x3_1(float *p0, const float *p1, const float *p2, const float *p3, const int *stop, const float *b, long r, long c) {
  const float *a = p1 + r * 6;
  vf c0_0 = load_f32(p3 + (c + 0) * 1);
  vf c0_1 = load_f32(p3 + (c + 4) * 1);
  vf c0_2 = load_part_f32(p3 + (c + 8) * 1, 1);
  vf c1_0 = load_f32(p3 + (c + 0) * 1);
  vf c1_1 = load_f32(p3 + (c + 4) * 1);
  vf c1_2 = load_part_f32(p3 + (c + 8) * 1, 1);
  vf c2_0 = load_f32(p3 + (c + 0) * 1);
  vf c2_1 = load_f32(p3 + (c + 4) * 1);
  vf c2_2 = load_part_f32(p3 + (c + 8) * 1, 1);
  for (long k = 0; k < 6; k += 1) {
    {
      vf b0 = load_f32(b + (k + 0) * 9 + 0);
      PIN(b0);
      vf b1 = load_f32(b + (k + 0) * 9 + 4);
      PIN(b1);
      vf b2 = load_part_f32(b + (k + 0) * 9 + 8, 1);
      PIN(b2);
      vf a0 = set_f32(a[0 + (k + 0) * 1]);
      c0_0 = fma_(a0, b0, c0_0);
      c0_1 = fma_(a0, b1, c0_1);
      c0_2 = fma_(a0, b2, c0_2);
      vf a1 = set_f32(a[6 + (k + 0) * 1]);
      c1_0 = fma_(a1, b0, c1_0);
      c1_1 = fma_(a1, b1, c1_1);
      c1_2 = fma_(a1, b2, c1_2);
      vf a2 = set_f32(a[12 + (k + 0) * 1]);
      c2_0 = fma_(a2, b0, c2_0);
      c2_1 = fma_(a2, b1, c2_1);
      c2_2 = fma_(a2, b2, c2_2);
    }
  }
  {
    vf t0 = v_relu(c0_0);
    store_f32(p0 + (r + 0) * 9 + (c + 0) * 1, t0);
  }
  {
    vf t1 = v_relu(c0_1);
    store_f32(p0 + (r + 0) * 9 + (c + 4) * 1, t1);
  }
  {
    vf t2 = v_relu(c0_2);
    store_part_f32(p0 + (r + 0) * 9 + (c + 8) * 1, t2, 1);
  }
  {
    vf t3 = v_relu(c1_0);
    store_f32(p0 + (r + 1) * 9 + (c + 0) * 1, t3);
  }
  {
    vf t4 = v_relu(c1_1);
    store_f32(p0 + (r + 1) * 9 + (c + 4) * 1, t4);
  }
  {
    vf t5 = v_relu(c1_2);
    store_part_f32(p0 + (r + 1) * 9 + (c + 8) * 1, t5, 1);
  }
  {
    vf t6 = v_relu(c2_0);
    store_f32(p0 + (r + 2) * 9 + (c + 0) * 1, t6);
  }
  {
    vf t7 = v_relu(c2_1);
    store_f32(p0 + (r + 2) * 9 + (c + 4) * 1, t7);
  }
  {
    vf t8 = v_relu(c2_2);
    store_part_f32(p0 + (r + 2) * 9 + (c + 8) * 1, t8, 1);
  }
}
KERNEL void linear_0_2x3_1(float *p0, const float *p1, const float *p2, const float *p3, const int *stop, const float *b, long r, long c) {
  const float *a = p1 + r * 6;
  vf c0_0 = load_f32(p3 + (c + 0) * 1);
  vf c0_1 = load_f32(p3 + (c + 4) * 1);
  vf c0_2 = load_part_f32(p3 + (c + 8) * 1, 1);
  vf c1_0 = load_f32(p3 + (c + 0) * 1);
  vf c1_1 = load_f32(p3 + (c + 4) * 1);
  vf c1_2 = load_part_f32(p3 + (c + 8) * 1, 1);
  for (long k = 0; k < 6; k += 1) {
    {
      vf b0 = load_f32(b + (k + 0) * 9 + 0);
      PIN(b0);
      vf b1 = load_f32(b + (k + 0) * 9 + 4);
      PIN(b1);
      vf b2 = load_part_f32(b + (k + 0) * 9 + 8, 1);
      PIN(b2);
      vf a0 = set_f32(a[0 + (k + 0) * 1]);
      c0_0 = fma_(a0, b0, c0_0);
      c0_1 = fma_(a0, b1, c0_1);
      c0_2 = fma_(a0, b2, c0_2);
      vf a1 = set_f32(a[6 + (k + 0) * 1]);
      c1_0 = fma_(a1, b0, c1_0);
      c1_1 = fma_(a1, b1, c1_1);
      c1_2 = fma_(a1, b2, c1_2);
    }
  }
  {
    vf t9 = v_relu(c0_0);
    store_f32(p0 + (r + 0) * 9 + (c + 0) * 1, t9);
  }
  {
    vf t10 = v_relu(c0_1);
    store_f32(p0 + (r + 0) * 9 + (c + 4) * 1, t10);
  }
  {
    vf t11 = v_relu(c0_2);
    store_part_f32(p0 + (r + 0) * 9 + (c + 8) * 1, t11, 1);
  }
  {
    vf t12 = v_relu(c1_0);
    store_f32(p0 + (r + 1) * 9 + (c + 0) * 1, t12);
  }
  {
    vf t13 = v_relu(c1_1);
    store_f32(p0 + (r + 1) * 9 + (c + 4) * 1, t13);
  }
  {
    vf t14 = v_relu(c1_2);
    store_part_f32(p0 + (r + 1) * 9 + (c + 8) * 1, t14, 1);
  }
}
KERNEL void linear_0(float *p0, const float *p1, const float *p2, const float *p3, const int *stop, long from, long to) {
  for (long u = from, next; u < to; u = next) {
    if (stopped(stop)) return;
    long v = u % 2, head = v / 2 * 2, size = least(2, 2 - head);
    long panel = v % 2 / size, t = head + v % 2 % size;
    long end = least(head + size, t + to - u);
    next = u + end - t;
    long c = panel * 12;
    const float *b = p2 + 0 * 9 + c * 1;
    for (; t < end; t++) {
      long r = t * 2 + (t < 1 ? t : 1);
      if (t < 1)
        linear_0_3x3_1(p0, p1, p2, p3, stop, b, r, c);
      else
        linear_0_2x3_1(p0, p1, p2, p3, stop, b, r, c);
    }
  }
}

int forge_run_0_0(char *const *p, const int *stop, struct team *team) {
  if (stopped(stop)) return 1;
  linear_0((void *)(p[3] + 0), (void *)(p[0] + 0), (void *)(p[1] + 0), (void *)(p[2] + 0), stop, 0, 2); /* %y f32 */
  return stopped(stop);
}
