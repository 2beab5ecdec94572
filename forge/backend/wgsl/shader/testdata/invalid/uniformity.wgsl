// barrier in a branch
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (i < 2u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier after a return
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (i < 2u) { return; }
  storageBarrier(); //! uniform control flow
}
---
// barrier after a break
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  for (var k = 0; k < 4; k++) {
    if (i == 2u) { break; }
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier before a break
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  for (var k = 0; k < 4; k++) {
    workgroupBarrier(); //! uniform control flow
    if (i == 2u) { break; }
  }
}
---
// barrier in a loop of another length
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  for (var k = 0u; k < i; k++) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier after a continue
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  for (var k = 0u; k < 4u; k++) {
    if (k == i) { continue; }
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by a function
fn f() {
  workgroupBarrier(); //! uniform control flow
}
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (i < 2u) { f(); }
}
---
// barrier by a parameter
fn f(c: bool) {
  if (c) {
    workgroupBarrier(); //! uniform control flow
  }
}
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  f(i < 2u);
}
---
// barrier by a result
fn f(k: u32) -> bool { return k < 2u; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (f(i)) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by a pointer
fn f(p: ptr<function, bool>, k: u32) { *p = k < 2u; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var c = false;
  f(&c, i);
  if (c) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by written memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (out[0] == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by workgroup memory
var<workgroup> w: u32;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (w == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by private memory
var<private> p: u32;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (p == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by an atomic
var<workgroup> w: atomic<u32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (atomicLoad(&w) == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by a part of a variable
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = vec2u(0u, 0u);
  v.x = i;
  if (v.y == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by a variable of a branch
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 0u;
  if (i == 1u) { v = 1u; }
  if (v == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
---
// barrier by a variable of the last turn
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 0u;
  for (var k = 0; k < 4; k++) {
    if (v == 1u) {
      workgroupBarrier(); //! uniform control flow
    }
    v = i;
  }
}
---
// barrier in a switch
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i {
    case 1u { workgroupBarrier(); } //! uniform control flow
    default { }
  }
}
---
// barrier after a break in a switch
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch 1 {
    default {
      if (i == 1u) { break; }
      workgroupBarrier(); //! uniform control flow
    }
  }
}
---
// barrier on the right of and
fn f() -> bool {
  workgroupBarrier(); //! uniform control flow
  return true;
}
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i < 2u && f();
}
---
// load of a place that differs
var<workgroup> w: array<u32, 4>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = workgroupUniformLoad(&w[i]); //! argument 0
}
---
// load in a branch
var<workgroup> w: u32;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (i == 1u) { let x = workgroupUniformLoad(&w); } //! uniform control flow
}
---
// barrier by a structure of builtins
struct In { @builtin(workgroup_id) g: vec3u, @builtin(local_invocation_index) i: u32 }
@compute @workgroup_size(4) fn main(in: In) {
  if (in.g.x == 1u) {
    workgroupBarrier(); //! uniform control flow
  }
}
