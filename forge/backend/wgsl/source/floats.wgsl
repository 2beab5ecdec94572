// Functions of f32 that are more than one of WGSL's. They repeat those of package mathf step
// by step. WGSL lets a device take a NaN for any number and a number below 2^-126 for 0, so
// that NaN is told by its bits. And a compiler may take floats for real numbers: join a
// product with a sum, or fma as two steps, regroup sums and products, make x of (x + c) - c,
// put a factor before a sum, and multiply by 1 / b. So what a rounding leaves is had from
// integers (exact_product, div_f32, near_turns), or of sums that are apart, and other sums and
// products are those that lose at most a unit of the last place by any of it.

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// A number from its bits, at run time: WGSL has no constants that are not finite, and a
// device may round those below 2^-126 away.
fn from_bits(b: u32) -> f32 {
  var bits = b;
  return bitcast<f32>(bits);
}

fn with_sign(x: f32, s: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}

fn abs_f32(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}

fn neg_f32(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u);
}

fn ne_f32(a: f32, b: f32) -> bool {
  return is_nan(a) || is_nan(b) || !(a == b);
}

fn eq_f32(a: f32, b: f32) -> bool {
  return a == b && !is_nan(a) && !is_nan(b);
}

fn lt_f32(a: f32, b: f32) -> bool {
  return a < b && !is_nan(a) && !is_nan(b);
}

fn le_f32(a: f32, b: f32) -> bool {
  return a <= b && !is_nan(a) && !is_nan(b);
}

// NaN wins, and 0 is larger than -0.
fn maximum_f32(a: f32, b: f32) -> f32 {
  let equal = bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b));
  return select(select(b, equal, a == b), a, (a > b && !is_nan(b)) || is_nan(a));
}

// NaN wins, and -0 is smaller than 0.
fn minimum_f32(a: f32, b: f32) -> f32 {
  let equal = bitcast<f32>(bitcast<u32>(a) | bitcast<u32>(b));
  return select(select(b, equal, a == b), a, (a < b && !is_nan(b)) || is_nan(a));
}

fn relu_f32(x: f32) -> f32 {
  return select(x, 0.0, x <= 0.0 && !is_nan(x));
}

// x, which a compiler does not know to be the number that it is made of: one NaN is another.
fn apart(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  return bitcast<f32>(select(b, 0x7fc00000u, b == 0x7fedcba9u));
}

// Sums of two floats.
struct twice {
  hi: f32,
  lo: f32,
}

fn exponent_bits(x: f32) -> u32 {
  return (bitcast<u32>(x) >> 23u) & 0xffu;
}

fn mantissa_bits(x: f32) -> u32 {
  return (bitcast<u32>(x) & 0x7fffffu) | 0x800000u;
}

// a * b of finite numbers: its first 24 bits, cut, and the others, of integers. A product below
// 2^-79 or above 2^126 is what the device makes of it.
fn exact_product(a: f32, b: f32) -> twice {
  let m = mantissa_bits(a);
  let n = mantissa_bits(b);
  let low = (m & 0xfffu) * (n & 0xfffu);
  let middle = (m >> 12u) * (n & 0xfffu) + (m & 0xfffu) * (n >> 12u) + (low >> 12u);
  let top = f32((m >> 12u) * (n >> 12u) + (middle >> 12u));
  let bottom = f32(((middle & 0xfffu) << 12u) | (low & 0xfffu));
  let e = exponent_bits(a) + exponent_bits(b);
  let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  let hi = bitcast<f32>(sign | (bitcast<u32>(top) + ((e - 276u) << 23u)));
  let lo = bitcast<f32>(sign | bitcast<u32>(bottom * power_of_two(bitcast<i32>(e) - 300)));
  let plain = exponent_bits(a) != 0u && exponent_bits(b) != 0u && e >= 174u && e <= 380u;
  return twice(select(a * b, hi, plain), select(0.0, lo, plain));
}

// Whether x has an exponent between the two; those of normal numbers are 1 to 254.
fn exponent_within(x: f32, least: u32, most: u32) -> bool {
  return exponent_bits(x) >= least && exponent_bits(x) <= most;
}

// What r units of the last place of q are.
fn units_of(q: f32, r: f32) -> f32 {
  return r * bitcast<f32>((bitcast<u32>(q) & 0xff800000u) - 0x0b800000u);
}

// WGSL lets a quotient be off by 2.5 units of the last place. What is left of a tells the rest:
// it is below 2^31 of its units, so that a product of words has it.
fn div_f32(a: f32, b: f32) -> f32 {
  let q = a / b;
  let shift = (exponent_bits(a) + 150u - exponent_bits(q) - exponent_bits(b)) & 31u;
  let left = bitcast<i32>((mantissa_bits(a) << shift) - mantissa_bits(q) * mantissa_bits(b));
  let r = units_of(q, f32(left) / f32(mantissa_bits(b)));
  let plain = exponent_within(a, 1u, 254u) && exponent_within(b, 1u, 254u);
  return select(q, q + r, plain && exponent_within(q, 24u, 254u));
}

// What q * q leaves of x, in units of the last place of q times itself.
fn left_of_root(x: f32, q: f32) -> i32 {
  let shift = (exponent_bits(x) + 150u - 2u * exponent_bits(q)) & 31u;
  return bitcast<i32>((mantissa_bits(x) << shift) - mantissa_bits(q) * mantissa_bits(q));
}

// WGSL lets a root be off by more. The next number is nearer from half a unit on, and the one
// before from half of its unit, which is smaller for a power of two.
fn sqrt_f32(x: f32) -> f32 {
  let q = sqrt(x);
  let near = q + units_of(q, f32(left_of_root(x, q)) / f32(2u * mantissa_bits(q)));
  let left = left_of_root(x, near);
  let m = bitcast<i32>(mantissa_bits(near));
  let below = select(m, m >> 1u, m == 0x800000);
  let step = select(select(0, -1, left <= -below), 1, left > m);
  return select(q, bitcast<f32>(bitcast<i32>(near) + step), x > 0.0 && exponent_within(x, 1u, 254u));
}

fn rsqrt_f32(x: f32) -> f32 {
  return div_f32(1.0, sqrt_f32(x));
}

fn power_of_two(k: i32) -> f32 {
  return bitcast<f32>((k + 127) << 23u);
}

// p times 2 to the n, rounded once: the first of two products is exact.
fn scale(p: f32, n: f32) -> f32 {
  let k = i32(n);
  let half = k >> 1u;
  return apart(p * power_of_two(half)) * power_of_two(k - half);
}

// p and n with exp(x) = p * 2^n.
struct parts {
  p: f32,
  n: f32,
}

// x of a size of at most 200, so that n has 9 bits: n times the first 15 of log(2) is exact,
// and so is what it leaves of x.
fn exp_parts(x: f32) -> parts {
  let n = round(x * 1.442695);
  let r = fma(n, -1.4286068e-06, apart(x - n * 0.69314575));
  var q = fma(0.0013770742, r, 0.008371741);
  q = fma(q, r, 0.041668735);
  q = fma(q, r, 0.16666493);
  q = fma(q, r, 0.49999994);
  return parts(1.0 + fma(q, r * r, r), n);
}

// Beyond the bounds exp overflows and vanishes, as it does at them.
fn exp_f32(x: f32) -> f32 {
  let e = exp_parts(clamp(x, -105.0, 89.5));
  return select(scale(e.p, e.n), x, is_nan(x));
}

// exp of minus the size of x.
fn exp_down(x: f32) -> f32 {
  let e = exp_parts(max(-105.0, bitcast<f32>(bitcast<u32>(x) | 0x80000000u)));
  return select(scale(e.p, e.n), x, is_nan(x));
}

// The exponent has 8 bits: it times the first 15 of log(2) is exact.
fn log_f32(x: f32) -> f32 {
  let low = x < 1.1754944e-38;
  let y = select(x, x * 8388608.0, low);
  let k = (bitcast<i32>(y) - 0x3f3504f3) >> 23u;
  let e = select(0.0, -23.0, low) + f32(k);
  let f = apart(bitcast<f32>(bitcast<i32>(y) - (k << 23u)) - 1.0);
  var p = fma(0.053509347, f, -0.10922534);
  p = fma(p, f, 0.121088855);
  p = fma(p, f, -0.12549633);
  p = fma(p, f, 0.14209637);
  p = fma(p, f, -0.16659373);
  p = fma(p, f, 0.20002222);
  p = fma(p, f, -0.25000167);
  p = fma(p, f, 0.33333313);
  let f2 = f * f;
  var tail = fma(e, 1.4286068e-06, (p * f) * f2);
  tail = fma(f2, -0.5, tail);
  let r = select(fma(e, 0.69314575, apart(f + tail)), from_bits(0xff800000u), x == 0.0);
  let beyond = (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u;
  return select(select(r, x, beyond), from_bits(0x7fc00000u), x < 0.0 || is_nan(x));
}

fn sigmoid_f32(x: f32) -> f32 {
  let z = exp_down(x);
  return select(1.0, z, x < 0.0) / (1.0 + z);
}

fn tanh_f32(x: f32) -> f32 {
  let a = abs(x);
  let u = x * x;
  var p = fma(-0.005692296, u, 0.020628167);
  p = fma(p, u, -0.053736515);
  p = fma(p, u, 0.13331406);
  p = fma(p, u, -0.3333328);
  let near = fma(p * u, x, x);
  let far = 1.0 - 2.0 / (exp_f32(2.0 * a) + 1.0);
  return select(with_sign(select(far, near, a < 0.625), x), x, is_nan(x));
}

fn silu_f32(x: f32) -> f32 {
  let e = exp_parts(clamp(x, -200.0, 0.0));
  let small = scale(x * e.p, e.n);
  let z = exp_down(x);
  var y = select(x, x * z, x < 0.0) / (1.0 + z);
  y = select(y, small, x < -17.0);
  y = select(y, from_bits(0x80000000u), x < -110.0);
  return select(y, x, is_nan(x));
}

fn upper_tail(a: f32, factor: f32) -> f32 {
  let h = exact_product(a, a);
  let r = 1.0 / (a + 4.0);
  let u = (a - 4.0) * r;
  var g = fma(-0.00010944991, u, 0.00020977492);
  g = fma(g, u, 0.0015553567);
  g = fma(g, u, -0.0035390898);
  g = fma(g, u, -0.0075223357);
  g = fma(g, u, 0.06041119);
  g = fma(g, u, -0.18652377);
  g = fma(g, u, 0.38713625);
  g = fma(g, u, -0.60789657);
  g = fma(g, u, 0.75528514);
  g = g * r;
  g = fma(g, -0.5 * h.lo, g);
  let x = exp_parts(max(-0.5 * h.hi, -110.0));
  return select(scale((g * factor) * x.p, x.n), 0.0, a > 14.6);
}

fn erf_f32(x: f32) -> f32 {
  let a = abs(x);
  let u = x * x;
  var p = fma(7.806904e-05, u, -0.0007997853);
  p = fma(p, u, 0.005187162);
  p = fma(p, u, -0.026853347);
  p = fma(p, u, 0.11283579);
  p = fma(p, u, -0.37612626);
  p = fma(p, u, 0.12837917);
  let far = with_sign(1.0 - upper_tail(a * 1.4142135, 2.0), x);
  return select(select(far, fma(p, x, x), a < 1.0), x, is_nan(x));
}

fn gelu_f32(x: f32) -> f32 {
  let a = abs(x);
  let u = x * x;
  var p = fma(5.779289e-07, u, -9.619444e-06);
  p = fma(p, u, 0.00011623674);
  p = fma(p, u, -0.0011883752);
  p = fma(p, u, 0.009974165);
  p = fma(p, u, -0.06649053);
  p = fma(p, u, 0.3989423);
  let tail = upper_tail(a, select(1.0, x, x < 0.0));
  var y = select(x * (1.0 - tail), tail, x < 0.0);
  y = select(y, x * fma(p, x, 0.5), a < 1.25);
  y = select(y, from_bits(0x80000000u), x < -15.0);
  return select(y, x, is_nan(x));
}

// Far out the sigmoid is 0 or 1, so that the limits come by themselves, but that -inf * 0 is
// no number.
fn gelu_tanh_f32(x: f32) -> f32 {
  let v = x * fma(x * x, 0.071354814, 1.5957692);
  return select(max(x, -1.7014118e+38) * sigmoid_f32(v), x, is_nan(x));
}

fn atan_f32(x: f32) -> f32 {
  let a = abs(x);
  let far = a > 2.4142135;
  let middle = !far && a > 0.41421356;
  let b = select(select(a, (a - 1.0) / (a + 1.0), middle), -1.0 / a, far);
  let hi = select(select(0.0, 0.7853982, middle), 1.5707964, far);
  let lo = select(select(0.0, -2.1855694e-08, middle), -4.371139e-08, far);
  let z = b * b;
  var p = fma(-0.06083229, z, 0.10595918);
  p = fma(p, z, -0.14243838);
  p = fma(p, z, 0.1999849);
  p = fma(p, z, -0.33333316);
  return select(with_sign(hi + (fma(p, z * b, b) + lo), x), x, is_nan(x));
}

// Quarter turns of an angle, and the angle that is left.
struct turns {
  q: i32,
  r: f32,
}

// The bits of 2 / pi.
const two_over_pi = array<u32, 8>(
  0x0000a2f9u, 0x836e4e44u, 0x1529fc27u, 0x57d1f534u, 0xddc0db62u, 0x95993c43u, 0x9041fe51u, 0x63abdebbu);

// x >= 2^16.
fn turns_exact(x: f32) -> turns {
  let bits = bitcast<u32>(x);
  let m = (bits & 0x7fffffu) | 0x800000u;
  let first = clamp((bits >> 23u), 136u, 254u) - 136u;
  let shift = first % 32u;
  var words = two_over_pi;
  var w: array<u32, 4>;
  for (var i = 0u; i < 4u; i++) {
    w[i] = (words[first / 32u + i] << shift) | ((words[first / 32u + i + 1u] >> 1u) >> (31u - shift));
  }
  let low = multiply_words(m, w[2]);
  let lower = multiply_words(m, w[3]);
  let carried = add_i64(low, vec2u(lower.y, 0u));
  let product = add_i64(mul_i64(vec2u(m, 0u), vec2u(w[1], w[0])), vec2u(carried.y, 0u));
  var fraction = vec2u(product.x, product.y << 2u);
  fraction.y = bitcast<u32>(bitcast<i32>(fraction.y) >> 2u);
  let f = cast_f32_i64(fraction);
  let rest = cast_f32_i64(sub_i64(fraction, cast_i64_f32(f)));
  let h = exact_product(f, 3.4061217e-19);
  let r = h.hi + apart(fma(rest, 3.4061217e-19, fma(f, -9.4783964e-27, h.lo)));
  return turns(bitcast<i32>(sub_i64(product, fraction).y >> 30u), r);
}

// x of at most 100000, of either sign. With pi / 2 as a float, what n times it leaves of x is
// below 1 and has no bits below 2^-24, so that words have it. n has 16 bits, and the parts of the
// rest of pi / 2 have 8: their products are exact, and what the sums lose goes into the next.
fn near_turns(x: f32) -> turns {
  let n = round(x * 0.63661975);
  let m = mantissa_bits(x) << ((exponent_bits(x) - 126u) & 31u);
  let steps = select(m, 0u - m, x < 0.0);
  let left = f32(bitcast<i32>(steps - bitcast<u32>(i32(n)) * 26353590u)) * 5.9604645e-08;
  let whole = select(left, x, exponent_bits(x) < 126u);
  let first = apart(whole + n * 4.353933e-08);
  let lost = apart(n * 4.353933e-08 - apart(first - whole));
  let second = apart(n * 1.718945e-10 + lost);
  let r = apart(first + second);
  return turns(i32(n), r + fma(n, 1.6513996e-13, apart(second - apart(r - first))));
}

// x >= 0.
fn quarter_turns(x: f32) -> turns {
  if (x > 100000.0) { return turns_exact(x); }
  return near_turns(x);
}

fn sin_or_cos(q: i32, r: f32) -> f32 {
  let u = r * r;
  var s = fma(2.7249314e-06, u, -0.00019840083);
  s = fma(s, u, 0.008333332);
  s = fma(s, u, -0.16666667);
  var c = fma(2.4547437e-05, u, -0.00138883);
  c = fma(c, u, 0.041666664);
  let v = select(fma(u * u, c, fma(u, -0.5, 1.0)), fma(s * u, r, r), (q & 1) == 0);
  return bitcast<f32>(bitcast<i32>(v) ^ ((q & 2) << 30u));
}

fn sin_f32(x: f32) -> f32 {
  let finite = (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
  let t = quarter_turns(select(0.0, abs(x), finite));
  let v = bitcast<f32>(bitcast<u32>(sin_or_cos(t.q, t.r)) ^ (bitcast<u32>(x) & 0x80000000u));
  return select(from_bits(0x7fc00000u), v, finite);
}

fn cos_f32(x: f32) -> f32 {
  let finite = (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
  let t = quarter_turns(select(0.0, abs(x), finite));
  return select(from_bits(0x7fc00000u), sin_or_cos(t.q + 1, t.r), finite);
}

// Whole numbers have the sign of x, also where they are 0.
fn round_f32(x: f32) -> f32 {
  return select(with_sign(round(x), x), x, is_nan(x));
}

fn floor_f32(x: f32) -> f32 {
  return select(with_sign(floor(x), x), x, is_nan(x));
}

fn ceil_f32(x: f32) -> f32 {
  return select(with_sign(ceil(x), x), x, is_nan(x));
}
