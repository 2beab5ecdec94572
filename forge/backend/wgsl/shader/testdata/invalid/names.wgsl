// unresolved value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = y; //! unresolved value 'y'
}
---
// unresolved type
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x: Thing; //! unresolved type
}
---
// unresolved call
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = thing(1); //! unresolved call target
}
---
// twice in a scope
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1;
  let x = 2; //! redeclaration of 'x'
}
---
// twice in the module
const a = 1;
fn a() { } //! redeclaration of 'a'
---
// twice as parameters
fn f(a: i32,
 a: i32) { } //! redeclaration of 'a'
---
// out of scope
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  { let x = 1; }
  let y = x; //! unresolved value
}
---
// before its declaration
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let y = x; //! unresolved value
  let x = 1;
}
---
// parameter hidden in the body
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let i = 1; //! redeclaration
}
---
// recursion
fn f() { g(); } //! cyclic
fn g() { f(); }
---
// constant of itself
const a = a + 1; //! cyclic
---
// structure of itself
struct S { a: S } //! cyclic
---
// function as value
fn f() { }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = f; //! cannot use function
}
---
// type as value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = f32; //! cannot use type
}
---
// variable as function
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1;
  let y = x(1); //! cannot call
}
---
// variable as type
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x: i; //! cannot use 'i' as a type
}
---
// builtin function as value
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = abs; //! cannot use builtin function
}
---
// struct member twice
struct S { a: i32,
 a: f32 } //! redefinition
---
// no such member
struct S { a: i32 }
var<private> s: S;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = s.b; //! not found
}
---
// no such component
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec2(1, 2).z; //! invalid vector swizzle
}
---
// mixed swizzle
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = vec2(1, 2).xg; //! invalid vector swizzle
}
---
// call of an entry point
@compute @workgroup_size(1) fn other() { }
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  other(); //! entry point
}
---
// template of a variable
const a = 1;
const b = a<i32>; //! template
---
// vector without parameter
var<private> v: vec3; //! expected '<' for 'vec3'
