// Integers of 64 bits are vectors of their low and their high word, and wrap around.
// Conversions of floats to integers truncate, saturate, and make NaN 0.

fn add_i64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn neg_i64(a: vec2u) -> vec2u {
  return add_i64(~a, vec2u(1u, 0u));
}

fn sub_i64(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// All 64 bits of a product.
fn multiply_words(a: u32, b: u32) -> vec2u {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let low = al * bl;
  let middle = ah * bl + (low >> 16u);
  let other = al * bh + (middle & 0xffffu);
  return vec2u((other << 16u) | (low & 0xffffu), ah * bh + (middle >> 16u) + (other >> 16u));
}

fn mul_i64(a: vec2u, b: vec2u) -> vec2u {
  let p = multiply_words(a.x, b.x);
  return vec2u(p.x, p.y + a.x * b.y + a.y * b.x);
}

fn eq_i64(a: vec2u, b: vec2u) -> bool {
  return a.x == b.x && a.y == b.y;
}

fn ne_i64(a: vec2u, b: vec2u) -> bool {
  return a.x != b.x || a.y != b.y;
}

fn lt_i64(a: vec2u, b: vec2u) -> bool {
  return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}

fn le_i64(a: vec2u, b: vec2u) -> bool {
  return !lt_i64(b, a);
}

fn below_u64(a: vec2u, b: vec2u) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn maximum_i64(a: vec2u, b: vec2u) -> vec2u {
  return select(a, b, lt_i64(a, b));
}

fn minimum_i64(a: vec2u, b: vec2u) -> vec2u {
  return select(a, b, lt_i64(b, a));
}

fn abs_i64(a: vec2u) -> vec2u {
  return select(a, neg_i64(a), (a.y >> 31u) == 1u);
}

// Quotients truncate; the smallest over -1 wraps around to itself, and over 0 is anything.
fn div_i64(a: vec2u, b: vec2u) -> vec2u {
  let n = abs_i64(a);
  let d = abs_i64(b);
  var q = vec2u(0u, 0u);
  if (n.y == 0u && d.y == 0u) {
    q.x = n.x / max(d.x, 1u);
  } else {
    var rest = vec2u(0u, 0u);
    for (var i = 0u; i < 64u; i++) {
      let bit = (select(n.x, n.y, i < 32u) >> (31u - i % 32u)) & 1u;
      let carried = rest.y >> 31u; // rest is below 2^63, and so is what is left of it
      rest = vec2u((rest.x << 1u) | bit, (rest.y << 1u) | (rest.x >> 31u));
      q = vec2u(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
      if (carried == 1u || !below_u64(rest, d)) {
        rest = sub_i64(rest, d);
        q.x |= 1u;
      }
    }
  }
  return select(q, neg_i64(q), ((a.y ^ b.y) >> 31u) == 1u);
}

fn div_i32(a: i32, b: i32) -> i32 {
  let plain = b != 0 && b != -1;
  return select(select(a, 0 - a, b == -1), a / select(1, b, plain), plain);
}

fn abs_i32(a: i32) -> i32 {
  return select(a, 0 - a, a < 0);
}

fn inside_i64(at: vec2u, size: u32) -> bool {
  return at.y == 0u && at.x < size;
}

fn cast_i64_i32(x: i32) -> vec2u {
  return vec2u(bitcast<u32>(x), bitcast<u32>(x >> 31u));
}

fn cast_i32_i64(x: vec2u) -> i32 {
  let plain = x.y == bitcast<u32>(bitcast<i32>(x.x) >> 31u);
  return select(select(2147483647, -2147483647 - 1, (x.y >> 31u) == 1u), bitcast<i32>(x.x), plain);
}

// Both terms are exact, so that the sum is rounded once.
fn cast_f32_i32(x: i32) -> f32 {
  return f32(x >> 16u) * 65536.0 + f32(x & 0xffff);
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

// To f32, rounded to odd: the result can be rounded again, to half precision, as if it were
// exact.
fn odd_i64(x: vec2u) -> f32 {
  let l = leading(abs_i64(x));
  let v = f32(l.y | select(0u, 1u, l.z != 0u)) * bitcast<f32>((l.x + 127u) << 23u);
  return select(v, -v, (x.y >> 31u) == 1u);
}

fn odd_i32(x: i32) -> f32 {
  return odd_i64(cast_i64_i32(x));
}

fn cast_i32_f32(x: f32) -> i32 {
  let plain = x > -2147483648.0 && x < 2147483648.0 && !is_nan(x);
  let far = select(2147483647, -2147483647 - 1, x < 0.0);
  return select(select(far, 0, is_nan(x)), i32(select(0.0, x, plain)), plain);
}

fn cast_i64_f32(x: f32) -> vec2u {
  let b = bitcast<u32>(x);
  let e = (b >> 23u) & 0xffu;
  if (is_nan(x) || e < 127u) { return vec2u(0u, 0u); }
  let negative = (b >> 31u) == 1u;
  if (e >= 190u) { return select(vec2u(0xffffffffu, 0x7fffffffu), vec2u(0u, 0x80000000u), negative); }
  let m = (b & 0x7fffffu) | 0x800000u;
  var v = vec2u(0u, 0u);
  if (e <= 150u) {
    v.x = m >> (150u - e);
  } else if (e < 182u) {
    let s = e - 150u;
    v = vec2u(m << s, (m >> 1u) >> (31u - s));
  } else {
    v.y = m << (e - 182u);
  }
  return select(v, neg_i64(v), negative);
}

fn cast_bool_f32(x: f32) -> bool {
  return !(x == 0.0) || is_nan(x);
}

fn cast_bool_i64(x: vec2u) -> bool {
  return (x.x | x.y) != 0u;
}
