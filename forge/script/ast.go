package script

import (
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/ir"
)

// File is parsed and checked source.
type File struct {
	Source *Source
	Funcs  []*Func // in order of the text; never empty
	limits Limits
}

// Func is one function.
type Func struct {
	Span         // from def to the end of the return statement
	Name   Ident // as called
	Params []Param
	Result []*Type // one per value of Return; empty when not annotated
	Doc    string  // the string that opens the body, with common indentation removed
	Body   []Assign
	Return []Expr // one tensor, or the elements of a tuple

	file *File
}

// Source is the text that the function was parsed from, its own lines alone.
func (f *Func) Source() string { return f.file.Source.Text[f.Start:f.End] }

// File is the file that holds the function.
func (f *Func) File() *File { return f.file }

// Pos is the position of the function's name.
func (f *Func) Pos() ir.Pos { return f.file.Source.Pos(f.Name.Span) }

// Diagnose describes a problem at a place in the function.
func (f *Func) Diagnose(span Span, message, hint string, notes ...string) *display.Diagnostic {
	return diagnose(f.file.Source, span, message, hint, notes...)
}

// Signature is the function's first line without def and the colon:
// "layer(x: f32[8,16], w, b)".
func (f *Func) Signature() string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name.Name
		if p.Type != nil {
			params[i] += ": " + p.Type.String()
		}
	}
	s := f.Name.Name + "(" + strings.Join(params, ", ") + ")"
	results := make([]string, len(f.Result))
	for i, t := range f.Result {
		results[i] = t.String()
	}
	switch len(results) {
	case 0:
	case 1:
		s += " -> " + results[0]
	default:
		s += " -> (" + strings.Join(results, ", ") + ")"
	}
	return s
}

// Specs are the annotated types of the inputs; ok is false when any parameter
// has none.
func (f *Func) Specs() (specs []ir.Spec, ok bool) {
	for _, p := range f.Params {
		if p.Type == nil {
			return nil, false
		}
		specs = append(specs, p.Type.Spec())
	}
	return specs, true
}

// Ident is a name in the source.
type Ident struct {
	Span
	Name string
}

// Param is one parameter; Type is nil when it is not annotated.
type Param struct {
	Name Ident
	Type *Type
}

// Type is an annotation f32[dims...]; no dims is a scalar.
type Type struct {
	Span
	Shape []int
}

// String is the annotation as ForgeScript writes it.
func (t *Type) String() string {
	if len(t.Shape) == 0 {
		return "f32"
	}
	dims := make([]string, len(t.Shape))
	for i, d := range t.Shape {
		dims[i] = strconv.Itoa(d)
	}
	return "f32[" + strings.Join(dims, ",") + "]"
}

// Spec is the type in the compiler's form.
func (t *Type) Spec() ir.Spec { return ir.F32(t.Shape...) }

// Assign binds the value of an expression to a name, or the values of a tuple
// to as many names.
type Assign struct {
	Names []Ident
	Value Expr
}

// Expr is one of [*Name], [*Number], [*Neg], [*Binary], [*Call], and, as an
// argument only, [*Const] and [*Tuple].
type Expr interface{ span() Span }

// Name is the use of a parameter or an assigned name.
type Name struct{ Ident }

// Number is a numeric literal, finite and representable in float32.
type Number struct {
	Span
	Text  string
	Value float64
	// Whole says that it is written without point and exponent, as an axis
	// must be.
	Whole bool
}

// Neg is a minus sign before an operand.
type Neg struct {
	Span
	X Expr
}

// Binary is X Op Y where Op is one of + - * / @.
type Binary struct {
	Span
	Op   Ident // the operator and where it stands
	X, Y Expr
}

// Call applies a builtin or a function of the scope. A method call x.f(y) has
// x as its first argument and Method set.
type Call struct {
	Span
	Fun    Ident
	Args   []Expr
	Named  []NamedArg
	Method bool
}

// NamedArg is a keyword argument such as axis=-1.
type NamedArg struct {
	Name  Ident
	Value Expr
}

// Const is True or False.
type Const struct {
	Span
	Value bool
}

// Tuple is a list of whole numbers: the shape of reshape, the axes of
// transpose.
type Tuple struct {
	Span
	Elems []Expr
}

// invalid stands where an expression could not be parsed.
type invalid struct{ Span }

func (e *Name) span() Span    { return e.Span }
func (e *Number) span() Span  { return e.Span }
func (e *Neg) span() Span     { return e.Span }
func (e *Binary) span() Span  { return e.Span }
func (e *Call) span() Span    { return e.Span }
func (e *Const) span() Span   { return e.Span }
func (e *Tuple) span() Span   { return e.Span }
func (e *invalid) span() Span { return e.Span }
