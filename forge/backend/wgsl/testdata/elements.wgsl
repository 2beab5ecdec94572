// cast_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<vec2u>;

fn add_i64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn neg_i64(a: vec2u) -> vec2u {
  return add_i64(~a, vec2u(1u, 0u));
}

fn abs_i64(a: vec2u) -> vec2u {
  return select(a, neg_i64(a), (a.y >> 31u) == 1u);
}

// The first 24 bits of a size, and whether there are others: the exponent of the last of
// the 24, then the bits, then whether it is more.
fn leading(x: vec2u) -> vec3u {
  let zeros = select(countLeadingZeros(x.y), 32u + countLeadingZeros(x.x), x.y == 0u);
  if (zeros >= 40u) { return vec3u(0u, x.x, 0u); }
  let drop = 40u - zeros;
  if (drop >= 32u) {
    let s = drop - 32u;
    let lost = x.x | (x.y & ((1u << s) - 1u));
    return vec3u(drop, x.y >> s, lost);
  }
  let lost = x.x & ((1u << drop) - 1u);
  return vec3u(drop, (x.x >> drop) | (x.y << (32u - drop)), lost);
}

fn half_of(x: vec2u, drop: u32) -> i32 { // how what is dropped compares with a half
  if (drop == 0u) { return -1; }
  let at = drop - 1u;
  var top = 0u;
  var rest = 0u;
  if (at >= 32u) {
    top = (x.y >> (at - 32u)) & 1u;
    rest = x.x | (x.y & ((1u << (at - 32u)) - 1u));
  } else {
    top = (x.x >> at) & 1u;
    rest = x.x & ((1u << at) - 1u);
  }
  return select(-1, select(0, 1, rest != 0u), top == 1u);
}

fn cast_f32_i64(x: vec2u) -> f32 {
  let a = abs_i64(x);
  let l = leading(a);
  let half = half_of(a, l.x);
  let m = l.y + select(0u, 1u, half > 0 || (half == 0 && (l.y & 1u) == 1u));
  let v = f32(m) * bitcast<f32>((l.x + 127u) << 23u);
  return select(v, -v, (x.y >> 31u) == 1u);
}

@compute @workgroup_size(4, 1, 1)
fn cast_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let at = group * 4u + lane;
  let i0 = i32(at);
  let t0 = p1[i0];
  let t1 = cast_f32_i64(t0);
  p0[i0] = t1;
}

// add_1
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<f32>;
@group(0) @binding(2) var<storage, read> p2: array<f32>;

@compute @workgroup_size(256, 1, 1)
fn add_1(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let at = group * 256u + lane;
  if (at >= 400u) { return; }
  let i0 = i32(at / 100u);
  let i1 = i32(at % 100u);
  let t0 = p1[i0 * 100 + i1];
  let t1 = p2[i1];
  let t2 = t0 + t1;
  p0[i0 * 100 + i1] = t2;
}

// maximum_2
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<f32>;
@group(0) @binding(2) var<storage, read> p2: array<f32>;

fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// NaN wins, and 0 is larger than -0.
fn maximum_f32(a: f32, b: f32) -> f32 {
  let equal = bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b));
  return select(select(b, equal, a == b), a, (a > b && !is_nan(b)) || is_nan(a));
}

@compute @workgroup_size(256, 1, 1)
fn maximum_2(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let at = group * 256u + lane;
  if (at >= 400u) { return; }
  let i0 = i32(at / 100u);
  let i1 = i32(at % 100u);
  let t0 = p1[i0 * 100 + i1];
  let t1 = p2[i0];
  let t2 = maximum_f32(t0, t1);
  p0[i0 * 100 + i1] = t2;
}

