// sdpa_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<f32>;
@group(0) @binding(2) var<storage, read> p2: array<f32>;
@group(0) @binding(3) var<storage, read> p3: array<f32>;
var<workgroup> query: array<f32, 16>;
var<workgroup> weights: array<f32, 64>;
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
fn sdpa_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let h = i32(group / 9u);
  let i = i32(group % 9u);
  let g = h / 2;
  let seen = min(i + 1, 9);
  for (var c = i32(lane); c < 16; c += 64) {
    query[c] = p1[h * 144 + i * 16 + c];
  }
  var best = from_bits(0xff800000u);
  var own_total = 0.0;
  var sums: array<f32, 1>;
  for (var start = 0; start < seen; start += 64) {
    var score = from_bits(0xff800000u);
    var excluded = true;
    workgroupBarrier();
    if (start + i32(lane) < seen) {
      let j = start + i32(lane);
      var dot = 0.0;
      for (var c = 0; c < 16; c++) {
        dot = fma(query[c], p2[g * 144 + j * 16 + c], dot);
      }
      score = dot * 0.25;
      excluded = false;
      if (excluded) { score = from_bits(0xff800000u); }
    }
    workgroupBarrier();
    all_f32[lane] = score;
    for (var step = 32u; step > 0u; step /= 2u) {
      workgroupBarrier();
      if (lane < step) { all_f32[lane] = maximum_f32(all_f32[lane], all_f32[lane + step]); }
    }
    workgroupBarrier();
    let top = all_f32[0];
    let next = maximum_f32(best, top);
    let none = bitcast<u32>(next) == 0xff800000u;
    let shrink = select(exp_f32(best - next), 1.0, none);
    let weight = select(exp_f32(score - next), 0.0, none || bitcast<u32>(score) == 0xff800000u);
    best = next;
    own_total = own_total * shrink + weight;
    weights[lane] = select(weight, -1.0, excluded);
    workgroupBarrier();
    for (var p = 0; p < 1; p++) {
      let e = i32(lane) + p * 64;
      if (e >= 16) { break; }
      var sum = sums[p] * shrink;
      for (var k = 0; k < min(64, seen - start); k++) {
        let j = start + k;
        if (weights[k] < 0.0) { continue; }
        sum = fma(weights[k], p3[g * 144 + j * 16 + e], sum);
      }
      sums[p] = sum;
    }
  }
  workgroupBarrier();
  all_f32[lane] = own_total;
  for (var step = 32u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { all_f32[lane] = all_f32[lane] + all_f32[lane + step]; }
  }
  workgroupBarrier();
  let total = all_f32[0];
  for (var p = 0; p < 1; p++) {
    let e = i32(lane) + p * 64;
    if (e >= 16) { break; }
    let result = select(sums[p] / total, 0.0, total == 0.0);
    p0[h * 144 + i * 16 + e] = result;
  }
}

