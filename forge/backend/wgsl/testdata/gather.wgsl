// gather_0
@group(0) @binding(0) var<storage, read_write> p0: array<f32>;
@group(0) @binding(1) var<storage, read> p1: array<u32>;
@group(0) @binding(2) var<storage, read> p2: array<vec2u>;
@group(0) @binding(3) var<storage, read_write> fault: atomic<u32>;

fn widen_f16(h: u32) -> f32 {
  let m = h & 0x7fffu;
  var b = (m << 13u) + 0x38000000u;
  if (m >= 0x7c00u) { b = (m << 13u) | 0x7f800000u; }
  if (m < 0x400u) { b = bitcast<u32>(f32(m) * 5.9604645e-08); }
  return bitcast<f32>(b | ((h & 0x8000u) << 16u));
}

fn half_f16(pair: u32, at: i32) -> f32 {
  return widen_f16(select(pair, pair >> 16u, (at & 1) == 1));
}

fn inside_i64(at: vec2u, size: u32) -> bool {
  return at.y == 0u && at.x < size;
}

@compute @workgroup_size(32, 1, 1)
fn gather_0(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
  let group = id.x;
  let at = group * 32u + lane;
  if (at >= 24u) { return; }
  let i0 = i32(at / 8u);
  let i1 = i32(at % 8u);
  let t0 = p2[i0];
  let t1 = inside_i64(t0, 50u);
  if (!t1) {
    atomicStore(&fault, 1u);
  }
  var t2 = f32();
  if (t1) { t2 = half_f16(p1[(i1 + i32(t0.x) * 8) / 2], i1 + i32(t0.x) * 8); }
  p0[i0 * 8 + i1] = t2;
}

