// structures in memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
struct Inner { a: u32, b: vec3<u32>, c: u32 }
struct Outer { x: u32, @align(16) y: array<Inner, 2>, @size(32) z: u32, w: vec2<u32>, tail: array<u32> }
@group(0) @binding(1) var<storage, read> in: Outer;
@compute @workgroup_size(1) fn main() {
  out[0] = in.x;
  out[1] = in.y[1].a;
  out[2] = in.y[0].b.z;
  out[3] = in.y[1].c;
  out[4] = in.z;
  out[5] = in.w.y;
  out[6] = in.tail[1];
  out[7] = arrayLength(&in.tail);
  let copy = in.y;
  out[8] = copy[1].b.x;
  let made = Inner(1u, vec3(2u), 4u);
  out[9] = made.a + made.b.y + made.c;
  var v: Inner;
  v.b.y = 5u;
  v.c = 6u;
  out[10] = v.a + v.b.x + v.b.y + v.c;
  v = made;
  out[11] = v.b.z;
}
---
// storing structures and arrays
@group(0) @binding(0) var<storage, read_write> out: Out;
struct Out { n: u32, v: vec3<u32>, m: array<vec2<u32>, 3>, last: u32 }
@compute @workgroup_size(1) fn main() {
  var o = Out(1u, vec3(2u, 3u, 4u), array(vec2(5u, 6u), vec2(7u), vec2u()), 8u);
  o.m[2].y = 9u;
  out = o;
  out.m[1] = o.m[0] * 2u;
}
---
// matrices
// tolerance: 1e-5
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read> in: array<mat3x3<f32>>;
@group(0) @binding(2) var<storage, read> wide: mat2x4<f32>;
@compute @workgroup_size(1) fn main() {
  let m = in[0];
  let n = in[1];
  let p = m * n;
  for (var i = 0; i < 3; i++) {
    for (var j = 0; j < 3; j++) { out[i * 3 + j] = p[i][j]; }
  }
  let v = m * vec3(1.0, 2.0, 3.0);
  let w = vec3(1.0, 2.0, 3.0) * m;
  let t = transpose(m);
  out[9] = v.x + w.y;
  out[10] = t[0][2];
  out[11] = determinant(m);
  let s = m * 2.0 + n - 0.5 * m;
  out[12] = s[1].z;
  let q = wide * vec2f(2, 3);
  out[13] = q.w;
  let r = transpose(wide) * wide;
  out[14] = r[1][0];
  var made = mat2x2f(1, 2, 3, 4);
  made[1] = vec2f(5, 6);
  made[0][1] = 7;
  made *= mat2x2f(vec2f(1, 2), vec2f(3, 4));
  out[15] = made[0][0];
  out[16] = made[1][1];
  let z = mat3x2<f32>();
  out[17] = z[2][1];
}
---
// pointers
// want: 6 2 5 100 7
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
struct S { a: u32, b: array<u32, 4> }
fn add(p: ptr<function, u32>, v: u32) { *p += v; }
fn sum(p: ptr<function, S>) -> u32 {
  var s = (*p).a;
  for (var i = 0u; i < 4u; i++) { s += p.b[i]; }
  return s;
}
fn put(p: ptr<function, array<u32, 4>>, i: u32) { (*p)[i] = 2u; }
fn first(p: ptr<storage, array<u32>, read_write>) { (*p)[3] = 100u; }
var<private> hidden: u32;
fn hide(p: ptr<private, u32>) { *p = 7u; }
@compute @workgroup_size(1) fn main() {
  var s = S(1u, array(1u, 1u, 1u, 1u));
  let p = &s;
  add(&s.a, 1u);
  out[0] = sum(p);
  put(&s.b, 2u);
  out[1] = s.b[2];
  let q = &(*p).b[3];
  *q = 5u;
  out[2] = p.b[3];
  first(&out);
  hide(&hidden);
  out[4] = hidden;
}
---
// arrays indexed by what lanes do not share
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
const table = array<u32, 5>(3, 1, 4, 1, 5);
@compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {
  var a: array<u32, 8>;
  for (var k = 0u; k < 8u; k++) { a[k] = k * k; }
  var b: array<array<u32, 4>, 4>;
  b[i % 4u][i / 4u] = i;
  a[i % 8u] += 1000u;
  var v = vec4<u32>(1u, 2u, 3u, 4u);
  v[i % 4u] = 9u;
  let fixed = array<u32, 3>(10u, i, 30u);
  out[i] = a[(i * 3u) % 8u] + b[i % 4u][i / 4u] * 10u + v[(i + 1u) % 4u] * 100000u + table[i % 5u] * 1000000u + fixed[i % 3u] * 10000000u;
  let swapped = v.yxwz;
  v = v.wzyx;
  out[i + 16u] = v[i % 4u] * 10u + swapped[i % 4u];
}
---
// overrides
// set: n 5
// set: 7 2.5
// want: 5 2.5 10 1
override n: u32 = 3u;
@id(7) override scale: f32;
override doubled = n * 2u;
override on: bool = true;
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
var<workgroup> w: array<f32, doubled + 1u>;
var<private> start = scale;
@compute @workgroup_size(n) fn main(@builtin(local_invocation_index) i: u32) {
  w[i] = f32(i);
  if (i == 1u) { w[doubled] = 4.0; }
  if (i == 0u) {
    out[0] = f32(n);
    out[1] = start;
    out[2] = f32(doubled);
    out[3] = f32(on);
  }
}
---
// aliases and names without template lists
// want: 3 1.5 2
alias Real = f32;
alias Pair = vec2<Real>;
alias List = array<Pair, 2>;
@group(0) @binding(0) var<storage, read_write> out: array<Real>;
@compute @workgroup_size(1) fn main() {
  var l = List(Pair(1, 2), vec2(1.5));
  out[0] = l[0].x + l[0].y;
  out[1] = l[1].y;
  let m = mat2x2(1.0, 2.0, 3.0, 4.0);
  out[2] = m[0].y;
  let k = array(vec3(1, 2, 3), vec3(4, 5, 6));
  out[3] = f32(k[1].z);
}
---
// templates and comparisons
// want: 1 1 0
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() {
  let a = 1; let b = 2; let c = 3;
  var x: array<u32,select(2,3,1>0)>;
  x[0] = 1u;
  out[0] = x[0];
  out[1] = u32(a < b) * u32(c > b);
  let y = vec2<u32>(u32(a<b), u32(c>(b)));
  out[2] = y.x - y.y;
  var z = 8u;
  z >>= 1u;
  z <<= 2u;
  out[3] = z;
  out[4] = u32(z>=1u);
}
---
// uniform buffers
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
struct U { a: f32, b: vec2<f32>, @align(16) c: array<vec4<f32>, 2>, d: mat3x3<f32>, e: i32 }
@group(0) @binding(3) var<uniform> u: U;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = u.c[i / 2u][i];
  if (i == 0u) {
    out[4] = u.a;
    out[5] = u.b.y;
    out[6] = u.d[2][1];
    out[7] = f32(u.e);
    let m = u.d;
    out[8] = m[1].z;
  }
}
---
// numbers of every form
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn main() {
  out[0] = 0x1p4;
  out[1] = 0xa.8p0f;
  out[2] = 1e3;
  out[3] = .5;
  out[4] = 2.;
  out[5] = 3f;
  out[6] = 1E-2f;
  out[7] = f32(0xFFu);
  out[8] = f32(-2147483648);
  out[9] = f32(4294967295u);
  out[10] = 0x.8;
  out[11] = f32(0i);
}
