package check

import "forgekernel/forge/backend/wgsl/shader/syntax"

func (c *checker) binary(e *syntax.Binary) *Expr {
	x, y := c.value(e.X), c.value(e.Y)
	r := c.operation(e.Op, e.At(), x, y)
	if r == nil {
		fail(e.At(), "no matching overload for 'operator %s (%s, %s)'", e.Op, x.Type, y.Type)
	}
	return r
}

// operation is a binary operator on checked operands, or nil where it has none
// of their types.
func (c *checker) operation(op string, at syntax.Pos, x, y *Expr) *Expr {
	xs, ys := x.Type.Scalar(), y.Type.Scalar()
	if xs == nil || ys == nil {
		return nil
	}
	switch op {
	case "&&", "||":
		if x.Type != boolType || y.Type != boolType {
			return nil
		}
		return c.logical(op, at, x, y)
	case "<<", ">>":
		return c.shift(op, at, x, y)
	}
	elem := unify(xs, ys)
	if elem == nil {
		return nil
	}
	x, y = c.converted(x, c.types.like(x.Type, elem)), c.converted(y, c.types.like(y.Type, elem))
	t := c.operationType(op, x.Type, y.Type, elem)
	if t == nil {
		return nil
	}
	r := &Expr{Op: Binary, Name: op, Type: t, Pos: at, Args: []*Expr{x, y}}
	if op == "/" || op == "%" {
		refuseZero(r)
	}
	return c.fold(r)
}

// unify is the scalar type that both convert to, or nil.
func unify(x, y *Type) *Type {
	switch {
	case converts(x, y):
		return y
	case converts(y, x):
		return x
	}
	return nil
}

// refuseZero fails for an integer division by the constant zero.
func refuseZero(r *Expr) {
	y := r.Args[1]
	if y.Op != Const || !y.Type.Scalar().isInt() {
		return
	}
	for _, w := range y.Words {
		if w == 0 {
			fail(r.Pos, divisionByZero)
		}
	}
}

func (c *checker) logical(op string, at syntax.Pos, x, y *Expr) *Expr {
	if x.Op == Const && (x.Words[0] == 0) == (op == "&&") {
		return &Expr{Op: Const, Type: boolType, Pos: at, Words: x.Words}
	}
	return c.fold(&Expr{Op: Logical, Name: op, Type: boolType, Pos: at, Args: []*Expr{x, y}})
}

func (c *checker) shift(op string, at syntax.Pos, x, y *Expr) *Expr {
	ys := y.Type.Scalar()
	if !x.Type.Scalar().isInt() || !ys.isInt() || ys.Kind == I32 || x.Type.Kind == Mat ||
		x.Type.Words != y.Type.Words {
		return nil
	}
	y = c.converted(y, c.types.like(y.Type, u32))
	if y.Op != Const {
		x = c.concrete(x)
	} else if x.Type.Scalar() != abstractInt {
		for _, w := range y.Words {
			if w >= 32 {
				fail(at, "%s", tooFar(map[string]string{"<<": "left", ">>": "right"}[op], 32))
			}
		}
	}
	return c.fold(&Expr{Op: Binary, Name: op, Type: x.Type, Pos: at, Args: []*Expr{x, y}})
}

// operationType is the result of an operator on operands of one scalar type,
// or nil.
func (c *checker) operationType(op string, x, y, elem *Type) *Type {
	switch op {
	case "==", "!=":
		if x != y || x.Kind == Mat {
			return nil
		}
		return c.types.like(x, boolType)
	case "<", ">", "<=", ">=":
		if x != y || x.Kind == Mat || elem == boolType {
			return nil
		}
		return c.types.like(x, boolType)
	case "&", "|":
		if x != y || x.Kind == Mat || elem.isFloat() {
			return nil
		}
		return x
	case "^":
		if x != y || !elem.isInt() {
			return nil
		}
		return x
	}
	if elem == boolType {
		return nil
	}
	if x.Kind == Mat || y.Kind == Mat {
		return c.matrixType(op, x, y, elem)
	}
	switch {
	case x == y, y.Kind != Vec:
		return x
	case x.Kind != Vec:
		return y
	}
	return nil
}

// matrixType is the result of an operator where an operand is a matrix.
func (c *checker) matrixType(op string, x, y, elem *Type) *Type {
	if op == "+" || op == "-" {
		if x == y {
			return x
		}
		return nil
	}
	switch {
	case op != "*":
	case x.isScalar():
		return y
	case y.isScalar():
		return x
	case x.Kind == Vec:
		if x.N == y.Rows {
			return c.types.vec(elem, y.N)
		}
	case y.Kind == Vec:
		if x.N == y.N {
			return c.types.vec(elem, x.Rows)
		}
	case x.N == y.Rows:
		return c.types.mat(elem, y.N, x.Rows)
	}
	return nil
}
