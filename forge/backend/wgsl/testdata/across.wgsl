// max_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<u32>;

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

fn half_bf16(pair: u32, at: i32) -> f32 {
  return bitcast<f32>(select(pair << 16u, pair & 0xffff0000u, (at & 1) == 1));
}

fn round_bf16(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  let rounded = (b + 0x7fffu + ((b >> 16u) & 1u)) & 0xffff0000u;
  return select(bitcast<f32>(rounded), x, is_nan(x));
}

@compute @workgroup_size(64, 1, 1)
fn max_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let at = group * 64u + lane;
  if (at >= 40u) { return; }
  let i0 = i32(at);
  var s0 = from_bits(0xff800000u);
  for (var e = 0u; e < 30u; e++) {
    let i1 = i32(e);
    let t0 = half_bf16(p1[(i0 + i1 * 40) / 2], i0 + i1 * 40);
    s0 = maximum_f32(s0, t0);
  }
  let s1 = s0;
  p0[i0] = round_bf16(s1);
}

