// Numbers that are sums of two floats (twice, in floats.wgsl), and what is had from them:
// powers, and the angles of positions.

// a is 0 or the larger one.
fn twice_sum(a: twice, b: twice) -> twice {
  let s = apart(a.hi + b.hi);
  let e = apart(b.hi - apart(s - a.hi)) + (a.lo + b.lo);
  let h = apart(s + e);
  return twice(h, e - apart(h - s));
}

fn twice_times(a: twice, b: twice) -> twice {
  let p = exact_product(a.hi, b.hi);
  return twice(p.hi, fma(a.lo, b.hi, fma(a.hi, b.lo, p.lo)));
}

fn log2_twice(a: f32) -> twice {
  let low = a < 1.1754944e-38;
  let x = select(a, a * 8388608.0, low);
  let k = (bitcast<i32>(x) - 0x3f3504f3) >> 23u;
  let e = select(0.0, -23.0, low) + f32(k);
  let m = bitcast<f32>(bitcast<i32>(x) - (k << 23u));
  let f = apart(m - 1.0);
  let d_hi = apart(m + 1.0);
  let d_lo = apart(m - apart(d_hi - 1.0));
  let s_hi = f / d_hi;
  let back = exact_product(s_hi, d_hi);
  let s = twice(s_hi, fma(-s_hi, d_lo, apart(f - back.hi) - back.lo) / d_hi);
  let u = twice_times(s, s);
  let cube = twice_times(s, u);
  var p = fma(0.33251557, u.hi, 0.41206598);
  p = fma(p, u.hi, 0.5770782);
  let tail = apart((cube.hi * u.hi) * p);
  let third = twice_times(cube, twice(0.9617967, -7.028462e-09));
  let first = twice_times(s, twice(2.88539, 3.851926e-08));
  return twice_sum(twice_sum(twice_sum(twice(e, 0.0), first), third), twice(tail, 0.0));
}

fn pow_finite(a: f32, y: f32) -> f32 {
  let l = log2_twice(a);
  let bits = exact_product(y, l.hi);
  let whole = bits.hi;
  let over = whole > 129.0;
  let under = whole < -151.0;
  let t = select(whole, 0.0, over || under);
  let tail = fma(y, l.lo, bits.lo);
  let n = round(t);
  let z = (apart(t - n) + tail) * 0.6931472;
  var q = fma(0.0013770742, z, 0.008371741);
  q = fma(q, z, 0.041668735);
  q = fma(q, z, 0.16666493);
  q = fma(q, z, 0.49999994);
  let v = scale(1.0 + fma(q, z * z, z), n);
  return select(select(v, 0.0, under), from_bits(0x7f800000u), over);
}

fn pow_f32(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (is_nan(x) || is_nan(y)) { return from_bits(0x7fc00000u); }
  let a = abs(x);
  let b = abs(y);
  let k = i32(select(0.0, y, b < 16777216.0));
  let whole = b >= 8388608.0 || f32(k) == y;
  let odd = b < 16777216.0 && whole && (k & 1) == 1;
  let a_far = (bitcast<u32>(a) & 0x7f800000u) == 0x7f800000u;
  let b_far = (bitcast<u32>(b) & 0x7f800000u) == 0x7f800000u;
  var v = 0.0;
  if (a == 0.0 || a_far || b_far) {
    v = select(select(0.0, from_bits(0x7f800000u), (a_far || a > 1.0) == (y > 0.0)), 1.0, a == 1.0);
  } else if (x < 0.0 && !whole) {
    return from_bits(0x7fc00000u);
  } else {
    v = pow_finite(a, y);
  }
  return select(v, bitcast<f32>(bitcast<u32>(v) ^ (bitcast<u32>(x) & 0x80000000u)), odd);
}

// Numbers of f64 in expressions are two of f32, whose sum they are: angles of positions.

fn cast_f64_i64(x: vec2u) -> twice {
  let hi = cast_f32_i64(x);
  return twice(hi, cast_f32_i64(sub_i64(x, cast_i64_f32(hi))));
}

fn cast_f32_f64(x: twice) -> f32 {
  return x.hi + x.lo;
}

fn mul_f64(a: twice, b: twice) -> twice {
  return twice_times(a, b);
}

// The quarter turns of both parts, and what is left of an angle of at most an eighth turn. The
// second part is below 100000, as positions are below 2^31.
fn twice_turns(x: twice) -> turns {
  var a = quarter_turns(abs(x.hi));
  if (x.hi < 0.0) { a = turns(0 - a.q, -a.r); }
  let b = near_turns(x.lo);
  var t = turns(a.q + b.q, apart(a.r + b.r));
  if (t.r > 0.7853982) { t = turns(t.q + 1, t.r - 1.5707964); }
  if (t.r < -0.7853982) { t = turns(t.q - 1, t.r + 1.5707964); }
  return t;
}

fn sin_f64(t: turns) -> twice {
  return twice(sin_or_cos(t.q, t.r), 0.0);
}

fn cos_f64(t: turns) -> twice {
  return twice(sin_or_cos(t.q + 1, t.r), 0.0);
}
