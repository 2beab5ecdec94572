// bool for abs
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = abs(true); //! no matching call
}
---
// integer for sqrt
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = sqrt(i); //! no matching call
}
---
// vectors of two widths
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = max(vec2f(), vec3f()); //! no matching call
}
---
// vector with a scalar
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = max(vec2f(), 1.0); //! no matching call
}
---
// too many for min
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = min(1, 2, 3); //! no matching call
}
---
// none for exp
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = exp(); //! no matching call
}
---
// dot of scalars
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = dot(1.0, 2.0); //! no matching call
}
---
// cross of two
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = cross(vec2f(), vec2f()); //! no matching call
}
---
// select by a number
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = select(1, 2, i); //! no matching call
}
---
// select of two types
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = select(1i, 2u, true); //! no matching call
}
---
// length of a fixed array
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = arrayLength(&in); //! no matching call
}
---
// length of a value
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = arrayLength(out); //! cannot load memory of type 'array<u32>': it is not constructible
}
---
// atomic on a plain word
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  atomicAdd(&out[0], 1u); //! no matching call
}
---
// atomic of another type
var<workgroup> w: atomic<u32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  atomicAdd(&w, 1i); //! no matching call
}
---
// barrier with an argument
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  workgroupBarrier(1); //! no matching call
}
---
// barrier as a value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = workgroupBarrier(); //! function 'workgroupBarrier' does not return a value
}
---
// unsigned sign
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = sign(i); //! no matching call
}
---
// pack of integers
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = pack2x16float(vec2u()); //! no matching call
}
---
// transpose of a vector
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = transpose(vec2f()); //! no matching call
}
---
// determinant of a rectangle
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = determinant(mat2x3f()); //! no matching call
}
---
// bits of a float
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = countOneBits(1.0); //! no matching call
}
---
// template list of a function
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = abs<f32>(1.0); //! template
}
---
// uniform load of private memory
var<private> p: u32;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = workgroupUniformLoad(&p); //! no matching call
}
---
// derivative
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = dpdx(1.0); //! unresolved call target 'dpdx'
}
---
// texture function
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = textureLoad(i); //! unresolved call target 'textureLoad'
}
