// Elements of half precision, of which a word holds two.

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

fn half_bf16(pair: u32, at: i32) -> f32 {
  return bitcast<f32>(select(pair << 16u, pair & 0xffff0000u, (at & 1) == 1));
}

fn halves_f16(v: vec2u) -> vec4f {
  return vec4f(half_f16(v.x, 0), half_f16(v.x, 1), half_f16(v.y, 0), half_f16(v.y, 1));
}

fn halves_bf16(v: vec2u) -> vec4f {
  return vec4f(half_bf16(v.x, 0), half_bf16(v.x, 1), half_bf16(v.y, 0), half_bf16(v.y, 1));
}

// The nearest numbers of half precision.
fn round_f16(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  let a = b & 0x7fffffffu;
  if (a > 0x7f800000u) { return x; }
  var r = (a + 0xfffu + ((a >> 13u) & 1u)) & 0xffffe000u;
  if (a < 0x38800000u) { // a sum that rounds to multiples of 2^-24, of which this is the number
    let n = bitcast<u32>(bitcast<f32>(a) + 0.5) - 0x3f000000u;
    r = bitcast<u32>(f32(n) * 5.9604645e-08);
  }
  if (a >= 0x477ff000u) { r = 0x7f800000u; }
  return bitcast<f32>(r | (b & 0x80000000u));
}

fn round_bf16(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  let rounded = (b + 0x7fffu + ((b >> 16u) & 1u)) & 0xffff0000u;
  return select(bitcast<f32>(rounded), x, is_nan(x));
}
