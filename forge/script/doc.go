// Package script is ForgeScript, the small Python-shaped language of tensor
// programs: scan -> parse -> check -> trace.
//
// A source file is a sequence of functions. Each is pure: it names its inputs,
// assigns intermediate values, and returns one tensor or a flat tuple of them. There is no control
// flow, so a function applied to inputs of known shapes *is* a dataflow graph,
// and [File.Trace] writes that graph down as package ir's SSA form:
//
//	def layer(x, w, b):        %x: f32[8,16], %w: f32[16,12], %b: f32[12]
//	    h = x @ w + b          %0 = matmul %x, %w;  %h = add %0, %b
//	    return relu(h)         %1 = relu %h
//
// # Grammar
//
// In EBNF over tokens; NEWLINE ends a logical line, and inside parentheses or
// brackets a line may be broken anywhere. Blank lines and comments (# to the
// end of the line) are nothing.
//
//	File      = { Function } .
//	Function  = "def" NAME "(" [ Param { "," Param } [ "," ] ] ")" [ "->" Types ] ":" Body .
//	Param     = NAME [ ":" Type ] .
//	Type      = "f32" [ "[" [ INTEGER { "," INTEGER } [ "," ] ] "]" ] .
//	Types     = Type | "(" Type "," Type { "," Type } [ "," ] ")" .
//	Body      = Return NEWLINE
//	          | NEWLINE INDENT [ STRING NEWLINE ] { Assign NEWLINE } Return NEWLINE DEDENT .
//	Assign    = NAME { "," NAME } "=" Expr .
//	Return    = "return" Expr { "," Expr } .
//	Expr      = Term { ( "+" | "-" ) Term } .
//	Term      = Unary { ( "*" | "/" | "@" ) Unary } .
//	Unary     = "-" Unary | Primary .
//	Primary   = Atom { "." NAME "(" [ Args ] ")" } .
//	Atom      = NAME | NUMBER | NAME "(" [ Args ] ")" | "(" Expr ")" .
//	Args      = Arg { "," Arg } [ "," ] .
//	Arg       = Expr | NAME "=" Expr | NAME "=" Constant | Tuple .
//	Constant  = [ "-" ] INTEGER | "True" | "False" .
//	Tuple     = ( "(" | "[" ) [ "-" ] INTEGER { "," [ "-" ] INTEGER } [ "," ] ( ")" | "]" ) .
//
// INDENT and DEDENT are those of Python with spaces only; a body has one depth
// of indentation, because nothing nests in it.
//
// # Meaning
//
//   - Every value is a dense float32 tensor of static shape; a number is a
//     tensor of rank 0. A number must be finite and representable in float32.
//   - + - * / broadcast as in NumPy: shapes align at the right, and a missing
//     or 1 dimension stretches. @ and matmul need rank 2 or more; the leading
//     dimensions broadcast.
//   - A name may be assigned again; earlier uses keep the earlier value, as
//     values never change. A name that is assigned and not used is an error
//     unless it starts with an underscore.
//   - Functions of one file, and of the [Scope] given to [Parse], may call one
//     another in any order. A call is replaced by the callee's body, so
//     recursion is refused.
//   - A function whose return lists several expressions returns a tuple. Its
//     call stands alone on the right of an assignment to as many names,
//     a, b = f(x); tuples do not nest and are not values.
//   - A string is allowed in one place, first in a body: it documents the
//     function.
//   - Annotations give the shapes that a function is compiled for when nobody
//     names others, so that it can stand alone. A call may bring other shapes.
//     The annotation of the result is checked when the inputs have theirs.
//
// # Source text
//
// Source is UTF-8; a byte order mark at the start is skipped, and lines end in
// LF or CR LF. Tabs are refused outside comments and strings, since their
// width is a matter of taste and indentation is not. Names are ASCII.
//
// Every problem is reported as a [display.Diagnostic] with line, column and
// what to write instead, several at once where the later ones do not follow
// from the first. [Limits] bound what hostile source can cost.
package script
