// no workgroup size
@compute fn main() { } //! workgroup_size
---
// workgroup size of zero
@compute @workgroup_size(0) fn main() { } //! at least 1
---
// workgroup size of a float
@compute @workgroup_size(1.5) fn main() { } //! @workgroup_size arguments must be of type 'i32' or 'u32'
---
// workgroup size of two types
@compute @workgroup_size(1i, 2u) fn main() { } //! same type
---
// size without a stage
@workgroup_size(1) fn main() { } //! compute
---
// result of an entry point
@compute @workgroup_size(1)
fn main() -> i32 { return 1; } //! compute entry points must not return a value
---
// parameter without builtin
@compute @workgroup_size(1)
fn main(x: u32) { } //! attribute
---
// builtin of another type
@compute @workgroup_size(1)
fn main(@builtin(local_invocation_index) x: i32) { } //! store type
---
// unknown builtin
@compute @workgroup_size(1)
fn main(@builtin(bogus) x: u32) { } //! unresolved builtin
---
// builtin of another stage
@compute @workgroup_size(1)
fn main(@builtin(vertex_index) x: u32) { } //! builtin
---
// builtin twice
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) x: vec3u, @builtin(workgroup_id) y: vec3u) { } //! multiple times
---
// no address space
var x: u32; //! address space
---
// function address space
var<function> x: u32; //! module-scope 'var' must not use address space 'function'
---
// unknown address space
var<bogus> x: u32; //! unresolved address space
---
// unknown access mode
@group(0) @binding(0) var<storage, bogus> x: u32; //! unresolved access mode
---
// access mode of private memory
var<private, read_write> x: u32; //! only variables in <storage> address space may specify an access mode
---
// no binding
var<storage> x: u32; //! @group
---
// group alone
@group(0) var<storage> x: u32; //! @binding
---
// binding of private memory
@group(0) @binding(0) var<private> x: u32; //! non-resource
---
// binding of a float
@group(0) @binding(1.5) var<storage> x: u32; //! @binding must be an i32 or u32 value
---
// negative binding
@group(0) @binding(-1) var<storage> x: u32; //! @binding value must be non-negative
---
// binding used twice
@group(0) @binding(0) var<storage> x: u32;
@group(0) @binding(0) var<storage> y: u32; //! binding
@compute @workgroup_size(1) fn main() { _ = x + y; }
---
// initial value of workgroup memory
var<workgroup> x: u32 = 1u; //! initializer
---
// initial value that is no constant
var<private> a = 1;
var<private> b = a; //! var 'a' cannot be referenced at module-scope
---
// no type and no value
var<private> a; //! 'var' declaration requires a type or initializer
---
// no type and no value in a function
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var a; //! 'var' declaration requires a type or initializer
}
---
// override of a vector
override a = vec2(1, 2); //! 'vec2<i32>' cannot be used as the type of an 'override'
---
// override number twice
@id(1) override a = 1;
@id(1) override b = 2; //! unique
---
// override number too large
@id(70000) override a = 1; //! between
---
// private memory in a function
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var<private> x: u32; //! function-scope 'var' declaration must use 'function' address space
}
---
// attribute twice
@group(0) @group(0) @binding(0) var<storage> x: u32; //! duplicate
---
// unknown attribute
@bogus fn f() { } //! expected attribute
---
// must_use of nothing
@must_use fn f() { } //! must_use
---
// constant with an attribute
@id(1) const a = 1; //! @id is not valid for 'const' declaration
---
// array result
@group(0) @binding(0) var<storage> x: array<u32>;
fn f() -> array<u32> { } //! function return type must be a constructible type
---
// pointer result
fn f(p: ptr<function, u32>) -> ptr<function, u32> { return p; } //! function return type must be a constructible type
---
// pointer in a structure
struct S { p: ptr<function, u32> } //! a member of a structure cannot be of type 'ptr<function, u32, read_write>'
---
// unknown diagnostic severity
diagnostic(bogus, derivative_uniformity); //! severity
