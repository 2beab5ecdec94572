// sum of i32 and u32
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1i + 2u; //! no matching overload
}
---
// sum of float and int
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i + 1.0; //! no matching overload
}
---
// negative u32
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = -i; //! no matching overload
}
---
// negative constant for u32
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x: u32 = -1; //! cannot be represented as 'u32'
}
---
// too large for i32
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x: i32 = 2147483648; //! cannot be represented as 'i32'
}
---
// too large for a let
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 2147483648; //! cannot be represented as 'i32'
}
---
// literal too large
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 4294967296u; //! cannot be represented as 'u32'
}
---
// float to int
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x: i32 = 1.0; //! cannot initialize
}
---
// too large for f32
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x: f32 = 1e39; //! cannot be represented as 'f32'
}
---
// bool arithmetic
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = true + true; //! no matching overload
}
---
// not of a number
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = !i; //! no matching overload
}
---
// complement of a float
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = ~1.0; //! no matching overload
}
---
// and of numbers
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i && true; //! no matching overload
}
---
// vectors of two widths
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec2f() + vec3f(); //! no matching overload
}
---
// matrix with a vector of the wrong size
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = mat2x3f() * vec3f(); //! no matching overload
}
---
// comparison of vectors as a condition
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (vec2(1, 2) == vec2(1, 2)) { } //! must be bool
}
---
// number as a condition
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  if (i) { } //! must be bool
}
---
// number as a loop condition
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  while (1) { } //! must be bool
}
---
// i32 shift amount
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1u << 2i; //! no matching overload
}
---
// assignment of another type
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1.0;
  x = i; //! cannot assign
}
---
// assignment to a let
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1;
  x = 2; //! cannot assign
}
---
// assignment to a parameter
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  i = 2u; //! cannot assign
}
---
// assignment to a constant
const c = 1u;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  c = 2u; //! cannot assign
}
---
// store to read-only memory
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  in[0] = 1.0; //! read-only
}
---
// store of an abstract float
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  out[0] = 1.5; //! cannot assign
}
---
// increment of a float
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1.0;
  x++; //! integer scalar
}
---
// compound of another type
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1u;
  x += 1.0; //! no matching overload
}
---
// index by a float
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = in[1.0]; //! index must be
}
---
// index of a scalar
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i[0]; //! cannot index
}
---
// member of a scalar
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = i.x; //! cannot index
}
---
// value missing
fn f() { }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = f(); //! does not return a value
}
---
// too few arguments
fn f(a: i32) -> i32 { return a; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = f(); //! too few arguments
}
---
// too many arguments
fn f(a: i32) -> i32 { return a; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = f(1, 2); //! too many arguments
}
---
// argument of another type
fn f(a: i32) -> i32 { return a; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = f(i); //! type mismatch for argument 1
}
---
// return of another type
fn f() -> i32 {
  return 1.0; //! return statement type
}
---
// return of nothing
fn f() -> i32 {
  return; //! return statement type
}
---
// return of something
fn f() {
  return 1; //! return statement type
}
---
// return missing
fn f() -> i32 {
  let x = 1;
} //! missing return
---
// return missing in a branch
fn f(a: bool) -> i32 {
  if (a) { return 1; }
} //! missing return
---
// return missing after a loop
fn f(a: bool) -> i32 {
  loop { if (a) { break; } return 1; }
} //! missing return
---
// too few components
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec3f(1, 2); //! no matching constructor
}
---
// too many components
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec2f(1, 2, 3); //! no matching constructor
}
---
// component of another type
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec2f(1, i); //! no matching constructor
}
---
// too few elements
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = array<i32, 3>(1, 2); //! too few
}
---
// too many elements
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = array<i32, 1>(1, 2); //! too many
}
---
// mixed elements
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = array(1i, 2u); //! cannot infer
}
---
// too few members
struct S { a: i32, b: i32 }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = S(1); //! too few
}
---
// member of another type
struct S { a: i32, b: i32 }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = S(1.5, 2); //! type mismatch
}
---
// runtime-sized local
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x: array<u32>; //! type 'array<u32>' cannot be used in address space 'function': it is not constructible
}
---
// load of a runtime-sized array
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> in: array<f32, 8>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = out; //! cannot load memory of type 'array<u32>': it is not constructible
}
---
// load of an atomic
var<workgroup> a: atomic<u32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = a; //! atomic variables can only be read with atomicLoad and the like
}
---
// store of an atomic
var<workgroup> a: atomic<u32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  a = 1u; //! cannot assign 'u32' to 'atomic<u32>'
}
---
// atomic of a float
var<workgroup> a: atomic<f32>; //! atomic only supports
---
// atomic in private memory
var<private> a: atomic<u32>; //! type 'atomic<u32>' cannot be used in address space 'private': it is not constructible
---
// atomic in read-only memory
@group(0) @binding(0) var<storage> a: atomic<u32>; //! read_write
---
// bool in storage
@group(0) @binding(0) var<storage> a: bool; //! host-shareable
---
// bool in a structure in storage
struct S { a: vec2<bool> } //! host-shareable
@group(0) @binding(0) var<storage> a: S;
---
// runtime-sized array in the middle
struct S { a: array<u32>, //! last member
 b: u32 }
---
// runtime-sized array in workgroup memory
var<workgroup> a: array<u32>; //! storage
---
// runtime-sized array in uniform memory
@group(0) @binding(0) var<uniform> a: array<vec4f>; //! storage
---
// array of runtime-sized arrays
@group(0) @binding(0) var<storage> a: array<array<u32>, 2>; //! fixed size
---
// empty array
var<private> a: array<u32, 0>; //! greater than 0
---
// negative array
var<private> a: array<u32, -1>; //! greater than 0
---
// array counted by a float
var<private> a: array<u32, 1.5>; //! integer
---
// array counted by a value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x: array<u32, i>; //! array count must evaluate to a constant integer expression or override variable
}
---
// vector of vectors
var<private> a: vec2<vec2<f32>>; //! vector element
---
// matrix of integers
var<private> a: mat2x2<i32>; //! matrix element
---
// half without its extension
var<private> a: f16; //! extension
---
// half literal without its extension
const a = 1h; //! extension
---
// empty structure
struct S { } //! at least one member
---
// alignment that is no power
struct S { @align(3) a: u32 } //! power-of-two
---
// alignment too small
struct S { @align(8) a: vec4f } //! alignment
---
// size too small
struct S { @size(2) a: u32 } //! @size
---
// address of a value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let p = &1; //! address
}
---
// address of a component
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = vec2(1, 2);
  let p = &v.x; //! vector component
}
---
// dereference of a value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = *i; //! dereference
}
---
// pointer of another type
fn f(p: ptr<function, i32>) { *p = 1; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 1u;
  f(&v); //! type mismatch
}
---
// aliased pointers
fn f(p: ptr<function, i32>, q: ptr<function, i32>) { *p = *q; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var v = 1;
  f(&v, &v); //! aliased
}
---
// alias of a variable of the module
var<private> v: i32;
fn f(p: ptr<private, i32>) { *p = v; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  f(&v); //! aliased
}
---
// dropped value
@must_use fn f() -> i32 { return 1; }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  f(); //! must_use
}
---
// dropped value of a builtin
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  abs(1); //! ignoring return value
}
---
// dropped constructor
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  vec2(1, 2); //! not used
}
---
// switch on a float
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch 1.5 { default { } } //! integer
}
---
// case of another type
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i {
    case 1i { } //! the case selector values must have the same type as the selector expression
    default { }
  }
}
---
// case that is no constant
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i {
    case i { } //! constant
    default { }
  }
}
---
// case twice
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i {
    case 1, 2 { }
    case 2 { } //! duplicate
    default { }
  }
}
---
// default twice
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i {
    default { }
    default { } //! default
  }
}
---
// no default
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i { //! default
    case 1 { }
  }
}
---
// break outside
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  break; //! must be in a loop
}
---
// continue outside
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  continue; //! must be in a loop
}
---
// continue in a switch
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i { default {
    continue; //! must be in a loop
  } }
}
---
// return in continuing
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop { if (i == 1u) { break; } continuing {
    return; //! continuing
  } }
}
---
// break in continuing
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop { continuing {
    break; //! continuing
  } }
}
---
// continue in continuing
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop { if (i == 1u) { break; } continuing {
    continue; //! continuing
  } }
}
---
// continue over a declaration
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop {
    if (i == 1u) { continue; } //! bypasses
    let x = i;
    continuing { let y = x; break if y == 1u; }
  }
}
---
// loop without end
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop { //! does not exit
    let x = 1;
  }
}
---
// for without end
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  for (;;) { //! does not exit
  }
}
---
// discard
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  discard; //! discard
}
