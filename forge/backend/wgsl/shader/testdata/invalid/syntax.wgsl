// no brace
@compute @workgroup_size(1) fn main()
var x = 1; //! expected '{'
---
// no semicolon
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1
  x = 2; //! expected ';'
}
---
// no operand
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1 + ; //! expected expression
}
---
// no parenthesis
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = (1 + 2; //! expected ')'
}
---
// and with or
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = true && false || true; //! requires parenthesis
}
---
// bits with sum
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1 & 2 + 3; //! requires parenthesis
}
---
// sum with bits
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1 + 2 | 3; //! requires parenthesis
}
---
// chained comparison
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = (1 < 2) == true == false; //! requires parenthesis
}
---
// chained shift
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1u << 2u << 3u; //! requires parenthesis
}
---
// shift of a sum
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  let x = 1u + 2u << 3u; //! requires parenthesis
}
---
// reserved word
const self = 1; //! reserved
---
// keyword as a name
const loop = 1; //! expected identifier
---
// underscores
const __x = 1; //! underscores
---
// lone underscore
const _ = 1; //! expected identifier
---
// leading zero
const x = 012; //! leading 0s
---
// bad suffix
const x = 1.0u; //! expected
---
// unterminated comment
const x = 1;
/* //! unterminated
---
// character
const x = 1;
$ //! invalid character
---
// module let
let x = 1; //! module-scope
---
// const without value
const x: i32; //! expected '='
---
// prefix increment
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1;
  ++x; //! expected identifier for statement, found '++'
}
---
// expression statement
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1;
  x; //! expected
}
---
// assignment in a condition
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  var x = 1;
  if (x = 2) { } //! expected
}
---
// template list without end
const x: array<i32, 4 = array<i32, 4>(); //! expected '=' for 'const' declaration, found '<'
---
// empty template list
const x: vec2<> = vec2(1); //! expected '>' for template list, found '>'
---
// late directive
const x = 1;
enable f16; //! directives
---
// unknown extension
enable bogus; //! not supported
---
// unknown feature
requires bogus; //! not supported
---
// attribute of nothing
@compute
; //! expected declaration
---
// else without if
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  else { } //! expected
}
---
// case without a selector
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  switch i { case { } default { } } //! expected
}
---
// continuing in the middle
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop { continuing { break if true; }
  let x = 1; } //! expected '}' for loop: 'continuing' must be its last statement
}
---
// break if elsewhere
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
  loop { if (i == 1u) { break; }
    break if true; //! break-if
  }
}
---
// struct member without type
struct S { a, } //! expected ':'
---
// no value in hex
const x = 0x; //! hex literal has no digits
