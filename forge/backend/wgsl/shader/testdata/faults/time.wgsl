// a loop without an end
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  while (out[60u] == 0u) { //! this loop is where the workgroup passed its limit of 1048576 invocation-instructions; it may be endless
    out[i] = i;
  }
}
---
// a loop without an end for one invocation
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  var n = i + 1u;
  for (; n != 0u; n = (n * 2u) % 8u) { }
  out[i] = n;
  loop { //! (entry point main, workgroup (0, 0, 0), local invocation (5, 0, 0))
    if (i != 5u) { break; }
  }
}
---
// a turn too many by a wrapped counter
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  for (var k = i; k >= 0u; k--) { //! limit
    if (k < 64u) { out[i] = k; }
  }
}
