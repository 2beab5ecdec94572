// division by zero
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1 / 0; //! division by zero
}
---
// division of a value by zero
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i / 0u; //! division by zero
}
---
// remainder by zero
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec2u(i) % vec2u(1, 0); //! division by zero
}
---
// compound division by zero
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = i;
  x /= 0u; //! division by zero
}
---
// float division by zero
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1.0 / 0.0; //! cannot be represented
}
---
// overflow of f32
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1e38f * 10f; //! cannot be represented
}
---
// overflow of an abstract integer
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 9223372036854775807 + 1; //! cannot be represented
}
---
// lowest by minus one
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = (-2147483647i - 1i) / -1i; //! cannot be represented
}
---
// shift too far
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1u << 32u; //! bit width
}
---
// shift of a value too far
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i << 33u; //! bit width
}
---
// shift right too far
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i >> 32u; //! bit width
}
---
// shift that loses bits
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 0xffffffffu << 1u; //! overflow
}
---
// shift that changes the sign
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 0x40000000i << 1u; //! sign
}
---
// index beyond an array
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = in[8]; //! out of bounds [0..7]
}
---
// negative index
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = in[-1]; //! out of bounds
}
---
// negative index of a runtime-sized array
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = out[-1]; //! out of bounds
}
---
// index beyond a vector
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = vec3(1);
  let x = v[3]; //! out of bounds [0..2]
}
---
// index beyond a matrix
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = mat2x2f();
  let x = v[2]; //! out of bounds [0..1]
}
---
// root of a negative
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = sqrt(-1.0); //! sqrt
}
---
// logarithm of zero
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = log(0.0); //! log
}
---
// arc beyond its domain
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = acos(2.0); //! acos
}
---
// clamp the wrong way round
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = clamp(i, 5u, 3u); //! clamp
}
---
// const of a value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  const x = i; //! const-expression
}
---
// const of a let
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let y = 1;
  const x = y; //! const-expression
}
---
// const of an override
override o = 1;
const x = o; //! const-expression
---
// failed assertion
const x = 1;
const_assert x == 2; //! failed
---
// failed assertion in a function
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  const_assert(1 > 2); //! failed
}
---
// assertion of a value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  const_assert i == 1u; //! const-expression
}
---
// assertion of a number
const_assert 1; //! must be a bool
---
// bit field beyond the word
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = extractBits(i, 30u, 5u); //! bit width
}
---
// exponent too large
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = ldexp(f32(i), 200); //! e2
}
---
// bitcast of another size
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = bitcast<vec2u>(i); //! bitcast
}
---
// bitcast to infinity
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = bitcast<f32>(0x7f800000); //! cannot be represented
}
