
static int conv2d_0_odd(float *p0, const float *p1, const float *p2, const float *p3, const int *stop) {
  int odd = 0;
  for (long o = 0; o < 3; o++) {
    for (long k = 0; k < 2; k++) {
      for (long a = 0; a < 2; a++) {
        for (long b = 0; b < 2; b++) {
          float w = lane0_f32(set_f32(*(p2 + o * 8 + k * 4 + a * 2 + b * 1)));
          odd |= w - w != 0;
        }
      }
    }
  }
  return odd;
}
static void conv2d_0_exact(float *p0, const float *p1, const float *p2, const float *p3, const int *stop, long i, long g, long top, long bottom, long left, long right) {
  for (long r = 0; r < 3; r++) {
    long o = (g * 3 + r);
    for (long y = top; y < bottom; y++) {
      if (stopped(stop)) return;
      for (long v = left; v < right; v++) {
        vf sum = set_f32(*(p3 + o * 1));
        for (long k = 0; k < 2; k++) {
          for (long a = 0; a < 2; a++) {
            for (long b = 0; b < 2; b++) {
              long row = y * 2 - 0 + a * 1, col = v * 2 - 1 + b * 1;
              if (row < 0 || row >= 6 || col < 0 || col >= 9) continue;
              vf w = set_f32(*(p2 + o * 8 + k * 4 + a * 2 + b * 1)), p = set_f32(*(p1 + i * 108 + (g * 2 + k) * 54 + row * 9 + col * 1));
              sum = fma_(w, p, sum);
            }
          }
        }
        {
          *(p0 + i * 45 + o * 15 + y * 5 + v * 1) = lane0_f32(sum);
        }
      }
    }
  }
}
KERNEL void conv2d_0_3x1x2_0(float *p0, const float *p1, const float *p2, const float *p3, const int *stop, const float *s, float *line, long i, long g, long o, long y, long v) {
  vf c0_0 = set_f32(*(p3 + (g * 3 + o + 0) * 1));
  vf c0_1 = set_f32(*(p3 + (g * 3 + o + 0) * 1));
  vf c1_0 = set_f32(*(p3 + (g * 3 + o + 1) * 1));
  vf c1_1 = set_f32(*(p3 + (g * 3 + o + 1) * 1));
  vf c2_0 = set_f32(*(p3 + (g * 3 + o + 2) * 1));
  vf c2_1 = set_f32(*(p3 + (g * 3 + o + 2) * 1));
  const float *weights = p2 + (g * 3 + o) * 8;
  for (long k = 0; k < 2; k++) {
    {
      const float *from = s + k * 60 + (0 * 1 % 2 * 3 + 0 * 1 / 2) * 5;
      {
        {
          vf b0 = load_f32(from + (0 * 1 % 2 * 30 + 0 * 1 / 2) + 0);
          PIN(b0);
          vf b1 = load_f32(from + (0 * 1 % 2 * 30 + 0 * 1 / 2) + 4);
          PIN(b1);
          vf a0 = set_f32(weights[0 + k * 4 + 0 * 2 + 0 * 1]);
          c0_0 = fma_(a0, b0, c0_0);
          c0_1 = fma_(a0, b1, c0_1);
          vf a1 = set_f32(weights[8 + k * 4 + 0 * 2 + 0 * 1]);
          c1_0 = fma_(a1, b0, c1_0);
          c1_1 = fma_(a1, b1, c1_1);
          vf a2 = set_f32(weights[16 + k * 4 + 0 * 2 + 0 * 1]);
          c2_0 = fma_(a2, b0, c2_0);
          c2_1 = fma_(a2, b1, c2_1);
        }
      }
      {
        {
          vf b0 = load_f32(from + (1 * 1 % 2 * 30 + 1 * 1 / 2) + 0);
          PIN(b0);
          vf b1 = load_f32(from + (1 * 1 % 2 * 30 + 1 * 1 / 2) + 4);
          PIN(b1);
          vf a0 = set_f32(weights[0 + k * 4 + 0 * 2 + 1 * 1]);
          c0_0 = fma_(a0, b0, c0_0);
          c0_1 = fma_(a0, b1, c0_1);
          vf a1 = set_f32(weights[8 + k * 4 + 0 * 2 + 1 * 1]);
          c1_0 = fma_(a1, b0, c1_0);
          c1_1 = fma_(a1, b1, c1_1);
          vf a2 = set_f32(weights[16 + k * 4 + 0 * 2 + 1 * 1]);
          c2_0 = fma_(a2, b0, c2_0);
          c2_1 = fma_(a2, b1, c2_1);
        }
      }
    }
    {
      const float *from = s + k * 60 + (1 * 1 % 2 * 3 + 1 * 1 / 2) * 5;
      {
        {
          vf b0 = load_f32(from + (0 * 1 % 2 * 30 + 0 * 1 / 2) + 0);
          PIN(b0);
          vf b1 = load_f32(from + (0 * 1 % 2 * 30 + 0 * 1 / 2) + 4);
          PIN(b1);
          vf a0 = set_f32(weights[0 + k * 4 + 1 * 2 + 0 * 1]);
          c0_0 = fma_(a0, b0, c0_0);
          c0_1 = fma_(a0, b1, c0_1);
          vf a1 = set_f32(weights[8 + k * 4 + 1 * 2 + 0 * 1]);
          c1_0 = fma_(a1, b0, c1_0);
          c1_1 = fma_(a1, b1, c1_1);
          vf a2 = set_f32(weights[16 + k * 4 + 1 * 2 + 0 * 1]);
          c2_0 = fma_(a2, b0, c2_0);
          c2_1 = fma_(a2, b1, c2_1);
        }
      }
      {
        {
          vf b0 = load_f32(from + (1 * 1 % 2 * 30 + 1 * 1 / 2) + 0);
          PIN(b0);
          vf b1 = load_f32(from + (1 * 1 % 2 * 30 + 1 * 1 / 2) + 4);
          PIN(b1);
          vf a0 = set_f32(weights[0 + k * 4 + 1 * 2 + 1 * 1]);
          c0_0 = fma_(a0, b0, c0_0);
          c0_1 = fma_(a0, b1, c0_1);
          vf a1 = set_f32(weights[8 + k * 4 + 1 * 2 + 1 * 1]);
          c1_0 = fma_(a1, b0, c1_0);
          c1_1 = fma_(a1, b1, c1_1);
          vf a2 = set_f32(weights[16 + k * 4 + 1 * 2 + 1 * 1]);
          c2_0 = fma_(a2, b0, c2_0);
          c2_1 = fma_(a2, b1, c2_1);
        }
      }
    }
  }
  {
    store_f32(line + 0 + v, c0_0);
  }
  {
    store_f32(line + 4 + v, c0_1);
  }
  {
    store_f32(line + 16 + v, c1_0);
  }
  {
    store_f32(line + 20 + v, c1_1);
  }
  {
    store_f32(line + 32 + v, c2_0);
  }
  {
    store_f32(line + 36 + v, c2_1);
  }
}
KERNEL void conv2d_0(float *p0, const float *p1, const float *p2, const float *p3, const int *stop, long from, long to) {
  float s[124] __attribute__((aligned(64)));
  float line[48] __attribute__((aligned(64)));
  const int exact = conv2d_0_odd(p0, p1, p2, p3, stop);
  long column = from / 1 % 1;
  long band = from / 1 % 1;
  long g = from / 1 % 1;
  long i = from / 1 % 1;
  for (long u = from; u < to; u++, column++) {
    if (column == 1) column = 0, band++;
    if (band == 1) band = 0, g++;
    if (g == 1) g = 0, i++;
    if (stopped(stop)) return;
    long top = band * 3, left = column * 16;
    long rows = least(3, 3 - top);
    if (exact) { conv2d_0_exact(p0, p1, p2, p3, stop, i, g, top, top + rows, left, least(left + 16, 5)); continue; }
    for (long k = 0; k < 2; k++) {
      for (long y = 0; y < 6; y++) {
        long from = top * 2 + y - 0;
        for (long q = 0; q < 2; q++) {
          float *to = s + k * 60 + ((q * 2 + y % 2) * 3 + y / 2) * 5;
          long begin = left * 2 + q - 1;
          long lo = begin < 0 ? (1 - begin) / 2 : 0, hi = begin < 9 ? (8 - begin) / 2 + 1 : 0;
          if (from < 0 || from >= 6) hi = 0;
          if (hi > 5) hi = 5;
          if (lo > hi) lo = hi;
          long n = 0;
          for (; n < lo; n++) to[n] = 0;
          for (; n + 4 <= hi; n += 4) store_f32(to + n, load_strided_f32(p1 + i * 108 + (g * 2 + k) * 54 + from * 9 + (begin + n * 2) * 1, 2, 4));
          for (; n < hi; n++) to[n] = lane0_f32(set_f32(*(p1 + i * 108 + (g * 2 + k) * 54 + from * 9 + (begin + n * 2) * 1)));
          for (; n < 5; n++) to[n] = 0;
        }
      }
    }
    for (long t = 0; t < 1; t++) {
      long o = t * 2 + least(t, 1);
      for (long y = 0; y < 1; y += 1) {
        for (long v = left; v < least(left + 16, 16); v += 8) {
          if (v < 8) conv2d_0_3x1x2_0(p0, p1, p2, p3, stop, s + y * 5 + v - left, line, i, g, o, top + y, v);
          if (v == 8) conv2d_0_3x1x2_0(p0, p1, p2, p3, stop, s + y * 5 + v - left, line, i, g, o, top + y, v);
        }
      }
      for (long r = 0; r < 3 - (t >= 1); r++) {
        for (long y = 0; y < 3; y++) {
          store_f32(p0 + i * 45 + (g * 3 + o + r) * 15 + y * 5 + 0 * 1, load_f32(line + r * 16 + y * 5 + 0));
          store_part_f32(p0 + i * 45 + (g * 3 + o + r) * 15 + y * 5 + 4 * 1, load_f32(line + r * 16 + y * 5 + 4), 1);
        }
      }
    }
  }
}

int forge_run_0_0(char *const *p, const int *stop, struct team *team) {
  if (stopped(stop)) return 1;
  conv2d_0((void *)(p[3] + 0), (void *)(p[0] + 0), (void *)(p[1] + 0), (void *)(p[2] + 0), stop, 0, 1); /* %y f32 */
  return stopped(stop);
}
