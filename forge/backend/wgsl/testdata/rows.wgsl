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

// A product without its last bit, which no compiler joins with the sum that it goes into. A
// joined one is not rounded, and what its rounding leaves would be added twice.
fn apart(p: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(p) & 0xfffffffeu);
}

// a * b + c with one rounding, or nearly: the product in two parts, which are exact, and
// the sum with what its rounding leaves. The numbers are far from the ends of the range.
fn fused(a: f32, b: f32, c: f32) -> f32 {
  let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let al = a - ah;
  let bl = b - bh;
  let p = apart(a * b);
  let e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  let s = p + c;
  let t = s - p;
  return s + (((p - (s - t)) + (c - t)) + e);
}

// Far from the ends of the range, so that products of it and its parts are numbers.
fn moderate(x: f32) -> bool {
  let a = bitcast<u32>(x) & 0x7fffffffu;
  return a > 0x0f000000u && a < 0x70000000u;
}

// WGSL lets a quotient be off by 2.5 units of the last place, and a root by more: what is
// left of a tells the rest.
fn div_f32(a: f32, b: f32) -> f32 {
  let q = a / b;
  let r = fused(-q, b, a) / b;
  return select(q, q + r, moderate(a) && moderate(b) && moderate(q));
}

fn power_of_two(k: i32) -> f32 {
  return bitcast<f32>((k + 127) << 23u);
}

// p times 2 to the n, rounded once: the first of two products is exact.
fn scale(p: f32, n: f32) -> f32 {
  let k = i32(n);
  let half = k >> 1u;
  return (p * power_of_two(half)) * power_of_two(k - half);
}

// p and n with exp(x) = p * 2^n.
struct parts {
  p: f32,
  n: f32,
}

fn exp_parts(x: f32) -> parts {
  let n = round(x * 1.442695);
  var r = fused(n, -0.6931472, x);
  r = fma(n, 1.9046542e-09, r);
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

// Sums of two floats.
struct twice {
  hi: f32,
  lo: f32,
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

