// index beyond a runtime-sized array
// groups: 2 1 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(40) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  out[id.x] = 1u; //! 5:7: index 64 of 'out' is out of bounds: it has 64 elements (entry point main, workgroup (1, 0, 0), local invocation (24, 0, 0))
}
---
// index beyond an array of read-only storage
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<u32, 8>;
@compute @workgroup_size(4, 4) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = in[i]; //! index 8 of 'in' is out of bounds: it has 8 elements (entry point main, workgroup (0, 0, 0), local invocation (0, 2, 0))
}
---
// index beyond an array of a structure
struct S { n: u32, list: array<vec2<u32>, 3>, tail: array<u32> }
@group(0) @binding(0) var<storage, read_write> out: S;
@compute @workgroup_size(1) fn main() {
  let i = out.n + 3u;
  out.list[i].x = 1u; //! index 3 of 'out' is out of bounds: it has 3 elements
}
---
// index beyond the tail of a structure
struct S { n: u32, list: array<vec2<u32>, 3>, tail: array<u32> }
@group(0) @binding(0) var<storage, read_write> out: S;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  out.tail[i] = 1u; //! index 56 of 'out' is out of bounds: it has 56 elements
}
---
// index beyond an array of uniform memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<uniform> in: array<vec4<u32>, 2>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = in[i].x; //! index 2 of 'in'
}
---
// index beyond an array of workgroup memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: array<array<u32, 4>, 4>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  w[1][i] = i; //! index 4 of 'w' is out of bounds: it has 4 elements
  out[i] = w[1][i];
}
---
// index beyond an array of private memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<private> p: array<u32, 3>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  p[i] = i; //! index 3 of 'p'
  out[i] = p[0];
}
---
// index beyond an array of function memory, all lanes alike
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  var v: array<u32, 3>;
  for (var k = 0u; k <= 3u; k++) {
    v[k] = k; //! index 3 of 'v'
  }
  out[i] = v[0];
}
---
// index below an array
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  out[i32(i) - 2] = 1u; //! index -2 of 'out' is out of bounds
}
---
// index beyond a vector
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  var v = vec4<u32>(i);
  out[i] = v[i]; //! index 4 of 'v'
}
---
// index beyond a value
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  let v = array<u32, 3>(1u, i, 2u);
  out[i] = v[i]; //! index 3 of 'value'
}
---
// index beyond what a pointer points to
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: array<u32, 4>;
fn put(p: ptr<workgroup, array<u32, 4>>, i: u32) {
  (*p)[i] = 1u; //! index 4 of 'w'
}
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  put(&w, i);
  out[i] = 1u;
}
---
// index beyond an array in the right side of a condition
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(5) fn main(@builtin(local_invocation_index) i: u32) {
  if (i < 3u || out[i * 30u] == 0u) { //! index 90 of 'out' is out of bounds: it has 64 elements (entry point main, workgroup (0, 0, 0), local invocation (3, 0, 0))
    out[i] = 1u;
  }
}
