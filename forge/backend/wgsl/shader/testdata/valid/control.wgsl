// loops of all kinds
// want: 45 10 6 20 3
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() {
  var sum = 0u;
  for (var i = 0u; i < 10u; i++) { sum += i; }
  out[0] = sum;
  var n = 0u;
  while n < 10u { n += 1; }
  out[1] = n;
  var k = 0u;
  loop {
    if k > 5u { break; }
    continuing { k++; }
  }
  out[2] = k;
  var evens = 0u;
  for (var i = 0u; ; i++) {
    if i >= 10u { break; }
    if i % 2u == 1u { continue; }
    evens += i;
  }
  out[3] = evens;
  var m = 0u;
  loop {
    let before = m;
    m++;
    continuing {
      let after = before + 1u;
      break if after == 3u;
    }
  }
  out[4] = m;
}
---
// lanes part ways and meet again
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 0u;
  if (i < 10u) {
    v = 1u;
    if (i % 3u == 0u) { v += 10u; } else if (i % 3u == 1u) { v += 20u; } else { v += 30u; }
  } else if (i > 50u) {
    for (var k = 0u; k < i - 50u; k++) {
      if (k == 7u) { break; }
      if (k % 2u == 0u) { continue; }
      v += k * i;
    }
  } else {
    switch i & 7u {
      case 0u, 1u: { v = 100u; }
      case 2u: { v = 200u; if (i > 30u) { break; } v += 1u; }
      case 3u, default: { v = 300u; }
      case 5u { }
    }
  }
  out[i] = v;
}
---
// returns in the middle
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
fn collatz(start: u32) -> u32 {
  var n = start;
  var steps = 0u;
  loop {
    if (n == 1u) { return steps; }
    if (steps > 1000u) { break; }
    if (n % 2u == 0u) { n /= 2u; } else { n = 3u * n + 1u; }
    steps++;
  }
  return 0u;
}
fn sign3(v: i32) -> i32 {
  if (v > 0) { return 1; } else if (v < 0) { return -1; }
  return 0;
}
@compute @workgroup_size(32, 2) fn main(@builtin(local_invocation_index) i: u32, @builtin(local_invocation_id) id: vec3<u32>) {
  if (i == 5u) { return; }
  out[i] = collatz(i + 1u) + u32(sign3(i32(id.x) - 7) + 1) * 1000u + id.y * 100000u;
}
---
// variables that are the same for all lanes until they are not
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  var same = 3u;
  var n = 0u;
  for (var k = 0u; k < 20u; k++) {
    same += k;
    if (k == i) { break; }
    n = same;
  }
  var last = 0u;
  for (var k = 0u; k < 5u; k++) {
    if (k > i) { continue; }
    last = k;
  }
  var found = 0u;
  {
    var inner = 7u;
    if (i > 32u) { inner = 8u; }
    found = inner;
  }
  var at = 100u;
  while (at > in[3]) {
    at -= 1u;
    if (at < i + 40u) { break; }
  }
  out[i] = same + n * 1000u + last * 100000u + found * 1000000u + at * 10000000u;
}
---
// a switch on a value all lanes share, in a loop
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 0u;
  for (var k = 0; k < 6; k++) {
    switch k {
      case 0: { v += 1u; }
      case 1: { continue; }
      case 2: { if (i > 3u) { break; } v += 100u; }
      case 4: { if (i > 5u) { continue; } v += 1000u; }
      default: { v += 10000u; }
    }
    v += 100000u;
  }
  out[i] = v;
}
---
// workgroups and their ids
// groups: 2 3 2
@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
struct Ids {
  @builtin(global_invocation_id) global: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
}
@compute @workgroup_size(2, 2, 1) fn main(ids: Ids, @builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
  let n = g.x + ids.groups.x * (g.y + ids.groups.y * g.z);
  atomicAdd(&out[n], ids.global.x + 10u * ids.global.y + 100u * ids.global.z + 1000u * l.x + 10000u * l.y);
}
---
// barriers and workgroup memory
// groups: 1 1 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> a: array<u32, 64>;
var<workgroup> total: atomic<u32>;
var<workgroup> flag: u32;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  a[i] = i * i;
  atomicAdd(&total, i);
  if (i == 63u) { flag = 5u; }
  workgroupBarrier();
  let other = a[63u - i];
  let f = workgroupUniformLoad(&flag);
  out[i] = other + atomicLoad(&total) * 10000u + f;
  storageBarrier();
  let neighbour = out[(i + 1u) % 64u];
  storageBarrier();
  out[i] = neighbour;
}
---
// shadowing and nested scopes
// want: 3 2 1 7
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
const x = 1u;
fn f(x: u32) -> u32 { { let x = x + 1u; return x; } }
@compute @workgroup_size(1) fn main() {
  out[2] = x;
  let x = 2u;
  out[1] = x;
  { let x = 3u; out[0] = x; }
  for (var x = 5u; x < 6u; x++) { out[3] = f(x) + x - 4u; }
}
---
// calls keep the values that were read before them
// want: 11 1 30 2
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<private> p: u32 = 1u;
fn bump() -> u32 { p += 9u; return p; }
fn twice(q: ptr<function, u32>) -> u32 { *q *= 2u; return *q; }
@compute @workgroup_size(1) fn main() {
  out[0] = p + bump();
  p = 1u;
  let before = p;
  p = 10u;
  out[1] = before;
  var v = 10u;
  out[2] = v + twice(&v);
  let v1 = v;
  v = 0u;
  out[3] = v1 / 10u;
}
---
// lanes that continue keep what they have of the body's variables
// want: 9 9 9 9 5 5 5 5
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  var n = 0u;
  var sum = 0u;
  loop {
    var v = 1u;
    v = v + n;
    if (i >= 4u) { v += 1u; continue; }
    v = 4u;
    v += n;
    continuing {
      sum += v;
      n++;
      break if n == 2u;
    }
  }
  out[i] = sum;
}
---
// variables of functions that lanes leave one by one
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
fn f(i: u32, p: ptr<function, u32>) -> u32 {
  var steps = 0u;
  for (var k = 0u; k < 10u; k++) {
    steps += 1u;
    *p += k;
    if (k == i) { return steps * 10u; }
    if (k == i + 3u) { *p = 77u; break; }
  }
  *p += 1000u;
  return steps;
}
@compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 5u;
  let r = f(i, &v);
  var w = 6u;
  let s = f(100u, &w);
  out[i] = r + v * 100u + s * 100000u + w * 1000000u;
}
---
// nested loops that lanes leave at different depths
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(16) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 0u;
  var w = 0u;
  for (var a = 0u; a < 5u; a++) {
    for (var b = 0u; b < 5u; b++) {
      w += 1u;
      if (b > i) { continue; }
      switch (a + b + i) % 4u {
        case 0u: { v += 1u; }
        case 1u: { if (a == 2u) { break; } v += 10u; continue; }
        case 2u: { v += 100u; }
        default: { if (b == 3u) { v += 5u; break; } }
      }
      if (v > 700u) { break; }
      v += 1000u * u32(v < 5u);
    }
    if (a == i) { v += 3u; break; }
  }
  out[i] = v + w * 10000u;
}
