// softmax_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<f32>;
var<workgroup> all_f32: array<f32, 64>;

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// A number from its bits, at run time: WGSL has no constants that are not finite, and a
// device may round those below 2^-126 away.
fn from_bits(b: u32) -> f32 {
  var bits = b;
  return bitcast<f32>(bits);
}

// NaN wins, and 0 is larger than -0.
fn maximum_f32(a: f32, b: f32) -> f32 {
  let equal = bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b));
  return select(select(b, equal, a == b), a, (a > b && !is_nan(b)) || is_nan(a));
}

// x, which a compiler does not know to be the number that it is made of: one NaN is another.
fn apart(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  return bitcast<f32>(select(b, 0x7fc00000u, b == 0x7fedcba9u));
}

fn exponent_bits(x: f32) -> u32 {
  return (bitcast<u32>(x) >> 23u) & 0xffu;
}

fn mantissa_bits(x: f32) -> u32 {
  return (bitcast<u32>(x) & 0x7fffffu) | 0x800000u;
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

@compute @workgroup_size(64, 1, 1)
fn softmax_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let i0 = i32(group);
  var part0 = from_bits(0xff800000u);
  for (var at = lane; at < 100u; at += 64u) {
    let i1 = i32(at);
    let t0 = p1[i0 * 100 + i1];
    part0 = maximum_f32(part0, t0);
  }
  workgroupBarrier();
  all_f32[lane] = part0;
  for (var step = 32u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { all_f32[lane] = maximum_f32(all_f32[lane], all_f32[lane + step]); }
  }
  workgroupBarrier();
  let s0 = all_f32[0];
  var part1 = 0.0;
  for (var at = lane; at < 100u; at += 64u) {
    let i1 = i32(at);
    let t1 = p1[i0 * 100 + i1];
    let t2 = exp_f32(t1 - s0);
    p0[i0 * 100 + i1] = t2;
    part1 = part1 + t2;
  }
  workgroupBarrier();
  all_f32[lane] = part1;
  for (var step = 32u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { all_f32[lane] = all_f32[lane] + all_f32[lane + step]; }
  }
  workgroupBarrier();
  let s1 = all_f32[0];
  for (var at = lane; at < 100u; at += 64u) {
    let i1 = i32(at);
    let t3 = p0[i0 * 100 + i1];
    let t4 = div_f32(t3, s1);
    p0[i0 * 100 + i1] = t4;
  }
}

