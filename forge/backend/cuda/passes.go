package cuda

import (
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Parts of lines that are folded in two passes are at least so long: those of a block of
// threads, and those of a single thread, which has a line where neighbouring lines are
// neighbours in memory.
const (
	blockPart  = 1 << 11
	threadPart = 1 << 6
)

// inPasses replaces kernels that fold few long lines by two: one that folds parts of each
// line, as many as there are multiprocessors, and one that folds the results in order.
func (t target) inPasses(kernels []*loop.Kernel) []*loop.Kernel {
	var list []*loop.Kernel
	for _, k := range kernels {
		if parts := t.partsOf(k); parts > 1 {
			list = append(list, split(k, parts)...)
		} else {
			list = append(list, k)
		}
	}
	return list
}

// partsOf is the number of parts of the lines of a kernel; 1 when it stays whole.
func (t target) partsOf(k *loop.Kernel) int {
	n := k.Nest
	if n == nil || len(n.Stages) != 2 || len(n.Line) != 1 {
		return 1
	}
	fold, last := n.Stages[0], n.Stages[1]
	points, line := product(n.Outer), n.Line[0]
	part, enough := blockPart, 2*t.sms
	if (&nestEmitter{emitter: &emitter{kernel: k}, nest: n, vars: make([]string, len(n.Outer)+1)}).across() {
		part, enough = threadPart, t.sms*2*blockThreads
	}
	if fold.Reduce == loop.NoReduction || fold.Store != nil || fold.When != nil || fold.Running != loop.NotRunning ||
		!last.Once || last.Require || last.When != nil || line < 16*part || points > enough/4 {
		return 1
	}
	whole := true
	fold.Expr.Walk(func(x *loop.Expr) {
		whole = whole && x.Op != loop.Index && x.Op != loop.Inside && (x.Op != loop.Load || len(x.Access.Guards)+len(x.Access.Gathers) == 0)
	})
	last.Expr.Walk(func(x *loop.Expr) { whole = whole && x.Op != loop.Load })
	parts := 1
	for whole && line%(2*parts) == 0 && line/(2*parts) >= part && points*parts < enough {
		parts *= 2
	}
	return parts
}

// split makes the two kernels of [target.inPasses].
func split(k *loop.Kernel, parts int) []*loop.Kernel {
	n := k.Nest
	fold, last := n.Stages[0], n.Stages[1]
	outer, length := len(n.Outer), n.Line[0]/parts
	sums := &loop.Local{Name: "parts", DType: fold.Expr.Type, Elements: product(n.Outer) * parts}
	// The parts are the first dimension, so that neighbouring lines stay neighbours.
	points := tensor.Strides(n.Outer)
	parted := append([]int{product(n.Outer)}, points...)

	first := &loop.Kernel{Op: k.Op, Params: append(slices.Clone(k.Params), loop.Param{Local: sums, Written: true})}
	divided := make(map[*loop.Access]*loop.Access)
	expr := rewrite(fold.Expr, func(a *loop.Access) *loop.Access {
		if divided[a] == nil {
			b := *a
			b.Strides = slices.Concat([]int{a.Strides[outer] * length}, a.Strides)
			divided[a] = &b
		}
		return divided[a]
	})
	first.Nest = &loop.Nest{Outer: append([]int{parts}, n.Outer...), Line: []int{length}, Stages: []loop.Stage{
		{Expr: expr, Reduce: fold.Reduce},
		{
			Expr: &loop.Expr{Op: loop.Ref, Type: fold.Expr.Type}, Once: true,
			Store: &loop.Access{Param: len(k.Params), Strides: append(slices.Clone(parted), 0)},
		},
	}}

	second := &loop.Kernel{Op: k.Op, Params: append(slices.Clone(k.Params), loop.Param{Local: sums})}
	second.Nest = &loop.Nest{Outer: n.Outer, Line: []int{parts}, Stages: []loop.Stage{
		{Expr: &loop.Expr{Op: loop.Load, Type: fold.Expr.Type, Access: &loop.Access{Param: len(k.Params), Strides: append(slices.Clone(points), product(n.Outer))}}, Reduce: fold.Reduce},
		last,
	}}
	return []*loop.Kernel{first, second}
}

// rewrite is a copy of an expression with other accesses.
func rewrite(x *loop.Expr, access func(*loop.Access) *loop.Access) *loop.Expr {
	done := make(map[*loop.Expr]*loop.Expr)
	var visit func(*loop.Expr) *loop.Expr
	visit = func(x *loop.Expr) *loop.Expr {
		if y := done[x]; y != nil {
			return y
		}
		y := *x
		if x.Access != nil {
			y.Access = access(x.Access)
		}
		y.Args = make([]*loop.Expr, len(x.Args))
		for i, a := range x.Args {
			y.Args[i] = visit(a)
		}
		done[x] = &y
		return &y
	}
	return visit(x)
}
