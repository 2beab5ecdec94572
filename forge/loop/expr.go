package loop

import (
	"slices"

	"forgekernel/forge/tensor"
)

// Opcode is a scalar operation. Those that are not of this file's constants
// are named as the operator that they compute.
type Opcode string

// Leaves of an expression.
const (
	Load  Opcode = "load"  // an element of a parameter
	Const Opcode = "const" // a number
	Ref   Opcode = "ref"   // the value of an earlier stage
	Acc   Opcode = "acc"   // the sum that an epilogue finishes
	// Index is the number that Affine gives, an i64 or, when all are small enough,
	// an i32.
	Index Opcode = "index"
	// Inside is true where Affine is at least 0 and below Int.
	Inside Opcode = "inside"
)

// Operations between types.
const (
	// Cast converts to the type of the expression. To a float it rounds to nearest
	// even; to an integer it truncates, saturates, and makes NaN 0; to bool it
	// compares with zero.
	Cast Opcode = "cast"
	// Odd converts to f32 by rounding to odd, so that the result can be rounded
	// once more, to half precision, as if it were exact.
	Odd Opcode = "odd"
	// RoundF16 and RoundBF16 give the nearest f32 that the type has.
	RoundF16  Opcode = "round_f16"
	RoundBF16 Opcode = "round_bf16"
)

// Expr is a scalar expression. It is a graph: a shared subexpression is computed
// once.
type Expr struct {
	Op Opcode
	// Type is f32, f64, i64, i32 or bool, or that of 16 bits which are only moved.
	Type   tensor.DType
	Args   []*Expr // of a Load with guards, the value where one does not hold
	Value  float64 // of a Const of a float type
	Int    int64   // of a Const of another type, where a bool has 0 or 1; of an Inside
	Stage  int     // of a Ref
	Access *Access // of a Load
	Affine Affine  // of an Index or Inside
}

// conditions are the operations that give true or false whatever they are given.
var conditions = map[Opcode]bool{"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true}

// Walk calls visit for each expression below e and for e, operands and the indices
// of gathers first, and each once.
func (e *Expr) Walk(visit func(*Expr)) { e.walk(visit, make(map[*Expr]bool)) }

func (e *Expr) walk(visit func(*Expr), seen map[*Expr]bool) {
	if seen[e] {
		return
	}
	seen[e] = true
	if e.Op == Load {
		for _, g := range e.Access.Gathers {
			g.Index.walk(visit, seen)
		}
	}
	for _, a := range e.Args {
		a.walk(visit, seen)
	}
	visit(e)
}

// apply is an operation whose result has the type of its last operand, or is a
// condition.
func apply(op Opcode, args ...*Expr) *Expr {
	e := &Expr{Op: op, Type: args[len(args)-1].Type, Args: args}
	if conditions[op] {
		e.Type = tensor.Bool
	}
	return e
}

func cast(to tensor.DType, x *Expr) *Expr {
	if x.Type == to {
		return x
	}
	return &Expr{Op: Cast, Type: to, Args: []*Expr{x}}
}

// number is a constant of a type.
func number(t tensor.DType, v float64) *Expr {
	if t.IsFloat() {
		return &Expr{Op: Const, Type: t, Value: v}
	}
	return &Expr{Op: Const, Type: t, Int: int64(v)}
}

func stage(i int, t tensor.DType) *Expr { return &Expr{Op: Ref, Type: t, Stage: i} }

// computed is the type that elements of a stored type are computed with: f32 for
// half precision.
func computed(d tensor.DType) tensor.DType {
	if isHalf(d) {
		return tensor.F32
	}
	return d
}

func isHalf(d tensor.DType) bool { return d == tensor.F16 || d == tensor.BF16 }

// round is x as the nearest number that a stored type has.
func round(d tensor.DType, x *Expr) *Expr {
	switch d {
	case tensor.F16:
		return apply(RoundF16, x)
	case tensor.BF16:
		return apply(RoundBF16, x)
	}
	return x
}

// integer is a constant i64.
func integer(v int) *Expr { return &Expr{Op: Const, Type: tensor.I64, Int: int64(v)} }

// index is the variable of loop dimension dim among count.
func index(dim, count int) *Expr {
	steps := make([]int, count)
	steps[dim] = 1
	return &Expr{Op: Index, Type: tensor.I64, Affine: Affine{Strides: steps}}
}

// Replace is the expression with another one in place of all leaves of a kind. What does
// not change is shared.
func (e *Expr) Replace(leaf Opcode, by *Expr) *Expr {
	return e.replace(leaf, by, make(map[*Expr]*Expr))
}

func (e *Expr) replace(leaf Opcode, by *Expr, done map[*Expr]*Expr) *Expr {
	if e.Op == leaf {
		return by
	}
	if done[e] == nil {
		changed := *e
		changed.Args = make([]*Expr, len(e.Args))
		for i, a := range e.Args {
			changed.Args[i] = a.replace(leaf, by, done)
		}
		done[e] = &changed
		if slices.Equal(changed.Args, e.Args) {
			done[e] = e
		}
	}
	return done[e]
}

// WithAccesses is a copy of the expression with other accesses, those of gathers' indices
// left as they are.
func (e *Expr) WithAccesses(access func(*Access) *Access) *Expr {
	done := make(map[*Expr]*Expr)
	var visit func(*Expr) *Expr
	visit = func(x *Expr) *Expr {
		if y := done[x]; y != nil {
			return y
		}
		y := *x
		if x.Access != nil {
			y.Access = access(x.Access)
		}
		y.Args = make([]*Expr, len(x.Args))
		for i, a := range x.Args {
			y.Args[i] = visit(a)
		}
		done[x] = &y
		return &y
	}
	return visit(e)
}
