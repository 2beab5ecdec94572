package loop

// Opcode is a scalar operation. Those that are not of this file's constants
// are named as the operator that they compute.
type Opcode string

// Leaves of an expression.
const (
	Load  Opcode = "load"  // an element of a parameter
	Const Opcode = "const" // a number
	Ref   Opcode = "ref"   // the value of an earlier stage
	Acc   Opcode = "acc"   // the sum that an epilogue finishes
)

// Expr is a scalar expression. It is a graph: a shared subexpression is computed
// once.
type Expr struct {
	Op     Opcode
	Args   []*Expr
	Value  float32 // of a Const
	Stage  int     // of a Ref
	Access *Access // of a Load
}

// conditions are the operations that give true or false; select takes one first.
var conditions = map[Opcode]bool{"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "and": true, "or": true, "not": true}

// IsCondition reports whether the expression is true or false rather than a
// number.
func (e *Expr) IsCondition() bool { return conditions[e.Op] }

// Walk calls visit for each expression below e and for e, operands first and
// each once.
func (e *Expr) Walk(visit func(*Expr)) { e.walk(visit, make(map[*Expr]bool)) }

func (e *Expr) walk(visit func(*Expr), seen map[*Expr]bool) {
	if seen[e] {
		return
	}
	seen[e] = true
	for _, a := range e.Args {
		a.walk(visit, seen)
	}
	visit(e)
}

func apply(op Opcode, args ...*Expr) *Expr { return &Expr{Op: op, Args: args} }
func number(v float32) *Expr               { return &Expr{Op: Const, Value: v} }
func stage(i int) *Expr                    { return &Expr{Op: Ref, Stage: i} }
