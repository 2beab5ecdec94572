package loop

import (
	"slices"

	"forgekernel/forge/tensor"
)

// FoldsLines reports whether a kernel folds lines to numbers and does no more than to finish
// each, so that a line can be folded in parts.
func FoldsLines(k *Kernel) bool {
	n := k.Nest
	if n == nil || len(n.Stages) != 2 || len(n.Line) != 1 {
		return false
	}
	fold, last := n.Stages[0], n.Stages[1]
	if fold.Reduce == NoReduction || fold.Store != nil || fold.When != nil || fold.Running != NotRunning || !last.Once || last.Require || last.When != nil {
		return false
	}
	whole := true
	fold.Expr.Walk(func(x *Expr) {
		whole = whole && x.Op != Index && x.Op != Inside && (x.Op != Load || len(x.Access.Guards)+len(x.Access.Gathers) == 0)
	})
	last.Expr.Walk(func(x *Expr) { whole = whole && x.Op != Load })
	return whole
}

// InParts makes two kernels of one that [FoldsLines]: the first folds each of so many equal
// parts of a line, and the second the results, in order.
func InParts(k *Kernel, parts int) []*Kernel {
	n := k.Nest
	fold, last := n.Stages[0], n.Stages[1]
	outer, length := len(n.Outer), n.Line[0]/parts
	sums := &Local{Name: "parts", DType: fold.Expr.Type, Elements: product(n.Outer) * parts}
	// The parts are the first dimension, so that neighbouring lines stay neighbours.
	points := tensor.Strides(n.Outer)
	parted := append([]int{product(n.Outer)}, points...)

	first := &Kernel{Op: k.Op, Params: append(slices.Clone(k.Params), Param{Local: sums, Written: true})}
	divided := make(map[*Access]*Access)
	expr := fold.Expr.WithAccesses(func(a *Access) *Access {
		if divided[a] == nil {
			b := *a
			b.Strides = slices.Concat([]int{a.Strides[outer] * length}, a.Strides)
			divided[a] = &b
		}
		return divided[a]
	})
	first.Nest = &Nest{Outer: append([]int{parts}, n.Outer...), Line: []int{length}, Stages: []Stage{
		{Expr: expr, Reduce: fold.Reduce},
		{
			Expr: &Expr{Op: Ref, Type: fold.Expr.Type}, Once: true,
			Store: &Access{Param: len(k.Params), Strides: append(slices.Clone(parted), 0)},
		},
	}}

	second := &Kernel{Op: k.Op, Params: append(slices.Clone(k.Params), Param{Local: sums})}
	second.Nest = &Nest{Outer: n.Outer, Line: []int{parts}, Stages: []Stage{
		{Expr: &Expr{Op: Load, Type: fold.Expr.Type, Access: &Access{Param: len(k.Params), Strides: append(slices.Clone(points), product(n.Outer))}}, Reduce: fold.Reduce},
		last,
	}}
	return []*Kernel{first, second}
}
