// two invocations write one scalar
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: array<u32, 4>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  w[i / 2u] = i; //! 5:3: race: this invocation writes 'w' (scalar 0 of it), which local invocation (0, 0, 0) wrote with no workgroupBarrier between (entry point main, workgroup (0, 0, 0), local invocation (1, 0, 0))
  out[i] = 1u;
}
---
// all invocations write one variable
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: u32;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  w = 1u; //! writes 'w' (scalar 0 of it)
  out[i] = 1u;
}
---
// no barrier between a write and a read
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: array<u32, 8>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  w[i] = i;
  out[i] = w[7u - i]; //! reads 'w' (scalar 7 of it), which local invocation (7, 0, 0) wrote
}
---
// no barrier between a read and a write
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: array<u32, 8>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = w[7u - i];
  w[i] = i; //! writes 'w' (scalar 0 of it), which local invocation (7, 0, 0) read
}
---
// no barrier between a read by all and a write by one
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: u32;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  let old = w;
  if (i == 0u) { w = old + 1u; } //! which another invocation read with no workgroupBarrier between
  out[i] = old;
}
---
// a write by one that all read
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: u32;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  if (i == 3u) { w = 5u; }
  out[i] = w; //! reads 'w'
}
---
// a barrier of the other kind of memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = i;
  workgroupBarrier();
  out[i + 8u] = out[7u - i]; //! race: this invocation reads byte 28 of 'out', which local invocation (7, 0, 0) wrote with no storageBarrier between
}
---
// a barrier of the other kind, the other way round
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> w: array<u32, 8>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  w[i] = i;
  storageBarrier();
  out[i] = w[7u - i]; //! reads 'w'
}
---
// two workgroups write one scalar
// groups: 2 1 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = 1u; //! writes byte 0 of 'out', which workgroup (0, 0, 0) wrote and nothing orders workgroups (entry point main, workgroup (1, 0, 0), local invocation (0, 0, 0))
}
---
// a workgroup reads what another wrote
// groups: 1 2 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
  if (g.y == 0u) {
    out[i] = 1u;
  } else {
    out[i + 8u] = out[i]; //! reads byte 0 of 'out', which workgroup (0, 0, 0) wrote
  }
}
---
// a workgroup writes what another read
// groups: 1 2 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
  if (g.y == 0u) {
    out[i + 8u] = out[i];
  } else {
    out[i] = 1u; //! writes byte 0 of 'out', which workgroup (0, 0, 0) read
  }
}
---
// a workgroup writes what it and another read
// groups: 2 1 1
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(workgroup_id) g: vec3<u32>) {
  let first = out[0];
  out[g.x + 8u] = first;
  if (g.x == 1u) { out[0] = 1u; } //! which an invocation of another workgroup read
}
---
// half of a word races, the other half does not
enable f16;
@group(0) @binding(0) var<storage, read_write> out: array<f16>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = 1.0h;
  out[(i + 1u) % 8u] = 2.0h; //! writes byte 2 of 'out'
}
