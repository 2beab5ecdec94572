// integer arithmetic wraps
// want: 4294967295 0 1 2147483648 4294967294
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<u32>;
@compute @workgroup_size(1) fn main() {
  let zero = in[0];
  out[0] = zero - 1u;
  out[1] = (zero - 1u) + 1u;
  out[2] = (zero - 1u) * (zero - 1u);
  out[3] = 1u << (zero + 31u);
  out[4] = (zero - 1u) << 1u;
  out[5] = (zero + 7u) / 2u;
  out[6] = (zero + 7u) % 4u;
  out[7] = ~zero >> 4u;
  out[8] = (zero + 12u) & 10u;
  out[9] = (zero + 12u) | 3u;
  out[10] = (zero + 12u) ^ 5u;
}
---
// division by zero and the overflow of division are defined
// want: 5 0 -2147483648 0 -2 -1 -2147483648
@group(0) @binding(0) var<storage, read_write> out: array<i32>;
@group(0) @binding(1) var<storage, read> in: array<u32>;
@compute @workgroup_size(1) fn main() {
  let zero = i32(in[0]);
  var low = zero + 2147483647;
  low++;
  out[0] = (5 + zero) / zero;
  out[1] = (5 + zero) % zero;
  out[2] = low / (zero - 1);
  out[3] = low % (zero - 1);
  out[4] = (zero - 7) / 3;
  out[5] = (zero - 7) % 3;
  out[6] = -low;
  out[7] = i32((in[0] + 5u) / in[0]);
  out[8] = i32((in[0] + 5u) % in[0]);
  out[9] = (zero - 9) >> 1u;
  out[10] = abs(low);
}
---
// shift amounts count modulo the width
// want: 2 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<u32>;
@compute @workgroup_size(1) fn main() {
  let by = in[0] + 33u;
  out[0] = 1u << by;
  out[1] = 2u >> by;
}
---
// float arithmetic
// want: 0.5 -1.5 -6 0.33333334 1 -1
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@compute @workgroup_size(1) fn main() {
  let x = in[0] + 7.0; // 1
  out[0] = x - 0.5;
  out[1] = -x * 1.5;
  out[2] = in[0];
  out[3] = x / 3.0;
  out[4] = (x * 7.0) % 3.0;
  out[5] = (-x * 7.0) % 3.0;
  out[6] = f32(x < 2.0) + f32(x <= 1.0) * 2.0 + f32(x > 1.0) * 4.0 + f32(x >= 1.0) * 8.0 + f32(x == 1.0) * 16.0 + f32(x != 1.0) * 32.0;
}
---
// conversions
// want: -3 3 0 4294967040 1 0 1065353216 4294967293 3
// groups: 1 1 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@compute @workgroup_size(1) fn main() {
  let x = in[0] + 3.0; // -3
  out[0] = u32(i32(x * 1.1));
  out[1] = u32(-x * 1.1);
  out[2] = u32(x);
  out[3] = u32(-x * 1e20);
  out[4] = u32(bool(x));
  out[5] = u32(bool(x + 3.0));
  out[6] = bitcast<u32>(x + 4.0);
  out[7] = bitcast<u32>(i32(x));
  out[8] = u32(f32(u32(-x)));
  out[9] = bitcast<u32>(f32(i32(x)));
  out[10] = bitcast<u32>(f32(x < 0.0));
  out[11] = u32(i32(x * -1e20));
  out[12] = u32(i32(x * 1e20));
}
---
// every binary operator on vectors and scalars
// tolerance: 1e-6
@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> in: array<vec4<f32>>;
@compute @workgroup_size(1) fn main() {
  let a = in[0];
  let b = in[1];
  let s = in[2].x;
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = a / b;
  out[4] = a + s;
  out[5] = s - a;
  out[6] = s * a;
  out[7] = a / s;
  out[8] = -a;
  out[9] = vec4<f32>(a < b);
  out[10] = vec4f(a == a.xxzz);
  out[11] = select(a, b, a > b);
  out[12] = a.wzyx;
  out[13] = vec4f(a.xy, b.ba);
  var c = a;
  c *= 2.0;
  c.y += 1.0;
  c -= b;
  out[14] = c;
  out[15] = vec4(1, 2.5, vec2(3));
}
---
// every integer operator on vectors
@group(0) @binding(0) var<storage, read_write> out: array<vec3<i32>>;
@group(0) @binding(1) var<storage, read> in: array<vec3<i32>>;
@compute @workgroup_size(1) fn main() {
  let a = in[0];
  let b = in[1];
  out[0] = a + b;
  out[1] = a * b - a;
  out[2] = a / b;
  out[3] = a % b;
  out[4] = a & b;
  out[5] = a | b;
  out[6] = a ^ b;
  out[7] = ~a;
  out[8] = a << vec3<u32>(b);
  out[9] = a >> vec3<u32>(3u);
  out[10] = vec3<i32>(a < b) + 2 * vec3<i32>(a >= b);
  out[11] = vec3<i32>(!(a == b)) + vec3<i32>((a > b) | (a < b)) + vec3<i32>((a > b) & (a < b));
  out[12] = min(a, b) + max(a, b) * 3;
  out[13] = -a;
}
---
// abstract numbers take the type they are used as
// want: 0.5 7 3 1e+10 0.1 16
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
const half = 1 / 2.0;
const big = 0x100000000 / 0x10000000; // too large for i32 on the way
@compute @workgroup_size(1) fn main() {
  out[0] = half;
  const seven = 3 + 4;
  out[1] = seven;
  out[2] = 1 + 2;
  out[3] = 10000000000;
  out[4] = 0.1;
  out[5] = big;
}
---
// short circuits
// want: 1 0 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<u32>;
var<private> calls: u32;
fn called(v: bool) -> bool { calls++; return v; }
@compute @workgroup_size(1) fn main() {
  let zero = in[0];
  if (zero == 0u || called(true)) { out[0] = 1u; }
  if (zero != 0u && called(true)) { out[1] = 1u; }
  if ((called(true) && called(false)) || called(true)) { out[2] = 1u; }
  out[3] = calls;
  out[4] = u32(zero < arrayLength(&in) && in[zero] == 0u);
  out[5] = u32((zero == 0u) | (zero == 1u)) + u32((zero == 0u) & (zero == 1u)) + u32(!(zero == 0u));
}
