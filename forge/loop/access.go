package loop

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Param is a pointer to the first element of a value, or of memory of the node's
// own; the other is nil.
type Param struct {
	Value   *ir.Value
	Local   *Local
	Written bool
}

// DType is the type of the elements.
func (p Param) DType() tensor.DType {
	if p.Local != nil {
		return p.Local.DType
	}
	return p.Value.Spec.DType
}

// Elements is their number.
func (p Param) Elements() int {
	if p.Local != nil {
		return p.Local.Elements
	}
	return p.Value.Spec.Elements()
}

func (p Param) String() string {
	if p.Local != nil {
		return "$" + p.Local.Name
	}
	return p.Value.String()
}

// Local is memory that the kernels of a node share and nothing else sees. Its
// content does not last from one run to the next, unless it is a constant.
type Local struct {
	Name     string
	DType    tensor.DType
	Elements int
	Constant *tensor.Tensor // the content; nil for work space
}

// Affine is an index: Offset plus a step for each dimension of the loops, times the
// loop's variable.
type Affine struct {
	Offset  int
	Strides []int
}

// Access is an affine walk over a parameter, in elements.
type Access struct {
	Param   int
	Offset  int
	Strides []int
	// Bits says that elements of half precision are moved as they are stored.
	Bits    bool
	Guards  []Guard
	Gathers []Gather
}

// Guard holds where an index, whose steps are not negative, is at least 0 and below
// Size. Where a guard of an access does not hold, there is no element.
type Guard struct {
	Affine
	Size int
}

// Gather adds Index times Step to the place of an access. The kernel faults where
// the index, of type i64, is below 0 or not below Size.
type Gather struct {
	Index *Expr
	Step  int
	Size  int
}

// Varies reports whether the value of the expression depends on a loop dimension.
func (e *Expr) Varies(dim int) bool {
	varies := false
	e.Walk(func(x *Expr) {
		switch x.Op {
		case Load:
			varies = varies || x.Access.Varies(dim)
		case Index, Inside:
			varies = varies || x.Affine.Strides[dim] != 0
		}
	})
	return varies
}

// Varies reports whether the place of the access depends on a loop dimension.
func (a *Access) Varies(dim int) bool {
	varies := a.Strides[dim] != 0
	for _, g := range a.Guards {
		varies = varies || g.Strides[dim] != 0
	}
	for _, g := range a.Gathers {
		varies = varies || g.Index.Varies(dim)
	}
	return varies
}

// CanFault reports whether there may be an error that only a run finds.
func (k *Kernel) CanFault() bool {
	if k.Nest == nil {
		return false
	}
	can := false
	for _, s := range k.Nest.Stages {
		can = can || s.Require || s.Store != nil && len(s.Store.Gathers) > 0
		for _, e := range []*Expr{s.Expr, s.When} {
			if e != nil {
				e.Walk(func(x *Expr) { can = can || x.canFault() })
			}
		}
	}
	return can
}

func (e *Expr) canFault() bool {
	return e.Op == Load && len(e.Access.Gathers) > 0 || e.DividesIntegers()
}

// DividesIntegers reports whether the operation faults at a divisor of 0. Divisors
// that are constants are not 0.
func (e *Expr) DividesIntegers() bool {
	return e.Op == "div" && !e.Type.IsFloat() && e.Args[1].Op != Const
}
