package pass

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// viewRules are about operators that move elements without changing them.
var viewRules = []simplification{
	{
		Rule: Rule{"identity-move", true, "the elements stay where they are"},
		ops:  []string{"reshape", "transpose", "expand", "narrow", "pad", "concat", "cast"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			x := n.In[0]
			switch {
			case len(n.In) == 1 && n.Op.Name != "transpose" && stands(n, x) && !reverses(n):
				return s.is(rule, n, x, "it changes neither shape nor type")
			case n.Op.Name == "transpose" && isIdentity(permOf(n)):
				return s.is(rule, n, x, "every dimension keeps its place")
			}
			return false, nil
		},
	},
	{
		Rule: Rule{"reshape-of-reshape", true, "both keep the row-major order, so only the last shape counts"},
		ops:  []string{"reshape"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			m := made(n.In[0], "reshape")
			if m == nil {
				return false, nil
			}
			return s.turns(rule, n, "it reshapes a reshape", "reshape", ir.Attrs{"shape": n.Out[0].Spec.Shape}, m.In[0])
		},
	},
	{
		Rule: Rule{"transpose-of-transpose", true, "two permutations are one"},
		ops:  []string{"transpose"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			m := made(n.In[0], "transpose")
			if m == nil {
				return false, nil
			}
			inner, outer := permOf(m), permOf(n)
			perm := make([]int, len(outer))
			for i, p := range outer {
				perm[i] = inner[p]
			}
			if isIdentity(perm) {
				return s.is(rule, n, m.In[0], "the two transposes undo one another")
			}
			return s.turns(rule, n, "it transposes a transpose", "transpose", ir.Attrs{"perm": perm}, m.In[0])
		},
	},
	{
		Rule: Rule{"transpose-to-reshape", true, "where only dimensions of length 1 change places, the row-major order stays"},
		ops:  []string{"transpose"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			if !keepsOrder(n) {
				return false, nil
			}
			return s.turns(rule, n, "only dimensions of length 1 change places", "reshape", ir.Attrs{"shape": n.Out[0].Spec.Shape}, n.In[0])
		},
	},
	{
		Rule: Rule{"narrow-of-narrow", true, "a slice of a slice is a slice"},
		ops:  []string{"narrow"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			m := made(n.In[0], "narrow")
			axis := axisOf(n.Int("axis"), n.In[0].Spec.Rank())
			if m == nil || axisOf(m.Int("axis"), n.In[0].Spec.Rank()) != axis {
				return false, nil
			}
			start, step := slice(m)
			innerStart, innerStep := slice(n)
			attrs := ir.Attrs{"axis": axis, "start": start + innerStart*step, "length": n.Int("length"), "step": step * innerStep}
			if n.Int("length") == 0 { // the slice of nothing may start beyond the end
				attrs["start"], attrs["step"] = 0, 1
			}
			return s.turns(rule, n, "it is a slice of a slice", "narrow", attrs, m.In[0])
		},
	},
	{
		Rule: Rule{"expand-of-expand", true, "both repeat the same elements, so only the last shape counts"},
		ops:  []string{"expand"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			m := made(n.In[0], "expand")
			if m == nil {
				return false, nil
			}
			return s.turns(rule, n, "it expands an expansion", "expand", ir.Attrs{"shape": n.Out[0].Spec.Shape}, m.In[0])
		},
	},
	{
		Rule: Rule{"implicit-expand", true, "an elementwise operator repeats the elements of its operands by the same rule as expand"},
		ops:  elementwiseNames(),
		try:  dropExpand,
	},
	{
		Rule: Rule{"cast-of-cast", true, "a type that holds every number of another hands it on unchanged, so that only one rounding is left"},
		ops:  []string{"cast"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			m := made(n.In[0], "cast")
			if m == nil {
				return false, nil
			}
			from, by, to := m.In[0].Spec.DType, m.Out[0].Spec.DType, n.Out[0].Spec.DType
			switch {
			case !holds(by, from):
				return s.no(rule, n, fmt.Sprintf("%v does not hold every number of %v", by, from), m.Out[0])
			case from == to:
				return s.is(rule, n, m.In[0], "the two casts undo one another")
			}
			return s.turns(rule, n, "the cast between loses nothing", "cast", ir.Attrs{"dtype": to.String()}, m.In[0])
		},
	},
	{
		Rule: Rule{"gather-from-end", true, "gather adds the entries of its table to an index below 0 itself"},
		ops:  []string{"gather"},
		try:  gatherFromEnd,
	},
	{
		Rule: Rule{"decided-where", true, "where gives the elements of one operand only"},
		ops:  []string{"where"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			a, b := n.In[1], n.In[2]
			if a == b && stands(n, a) {
				return s.is(rule, n, a, "both operands are the same value")
			}
			c, ok := filled(n.In[0])
			if !ok {
				return false, nil
			}
			taken := a
			if c == 0 {
				taken = b
			}
			if !stands(n, taken) {
				return s.no(rule, n, fmt.Sprintf("the operand that it always takes is stretched from %s to %s", tensor.FormatShape(taken.Spec.Shape), tensor.FormatShape(n.Out[0].Spec.Shape)), taken)
			}
			return s.is(rule, n, taken, "the condition is the same constant everywhere")
		},
	},
}

// reverses reports whether n is a slice that goes backwards.
func reverses(n *ir.Node) bool { return n.Op.Name == "narrow" && n.Int("step") < 0 }

func isIdentity(perm []int) bool {
	for i, p := range perm {
		if i != p {
			return false
		}
	}
	return true
}

// keepsOrder reports whether a transpose leaves the dimensions longer than 1 in
// their order.
func keepsOrder(n *ir.Node) bool {
	shape := n.In[0].Spec.Shape
	var long []int
	for _, p := range permOf(n) {
		if shape[p] != 1 {
			long = append(long, p)
		}
	}
	return slices.IsSorted(long)
}

// slice is where a narrow starts, counted from the front, and its step.
func slice(n *ir.Node) (start, step int) {
	return axisOf(n.Int("start"), n.In[0].Spec.Shape[axisOf(n.Int("axis"), n.In[0].Spec.Rank())]), n.Int("step")
}

// elementwiseNames lists the operators that broadcast their operands.
func elementwiseNames() []string {
	var names []string
	for _, o := range op.Registry.All() {
		if o.Class == ir.Elementwise && len(o.Operands) > 1 {
			names = append(names, o.Name)
		}
	}
	return names
}

// dropExpand lets n read the operand of an expand if the other operands still
// stretch it to the shape of the result.
func dropExpand(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
	for i, v := range n.In {
		m := made(v, "expand")
		if m == nil {
			continue
		}
		in := slices.Clone(n.In)
		in[i] = m.In[0]
		shape := in[0].Spec.Shape
		var err error
		for _, u := range in[1:] {
			if shape, err = op.Broadcast(shape, u.Spec.Shape); err != nil {
				return false, err
			}
		}
		if tensor.ShapeEqual(shape, n.Out[0].Spec.Shape) {
			return s.turns(rule, n, n.Op.Name+" repeats the elements of "+m.In[0].String()+" itself", n.Op.Name, n.Attrs, in...)
		}
		if _, err := s.no(rule, n, "no other operand has the shape of the result", v); err != nil {
			return false, err
		}
	}
	return false, nil
}

// gatherFromEnd lets a gather read the i of where(i < 0, i + entries, i).
func gatherFromEnd(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
	choice := made(n.In[1], "where")
	if choice == nil || n.Bool("from_end") {
		return false, nil
	}
	index, below, sum := choice.In[2], made(choice.In[0], "lt"), made(choice.In[1], "add")
	if below == nil || sum == nil || below.In[0] != index || !slices.Contains(sum.In, index) || !stands(choice, index) {
		return false, nil
	}
	entries := n.In[0].Spec.Shape[axisOf(n.Int("axis"), n.In[0].Spec.Rank())]
	zero, ok := filled(below.In[1])
	_, added, known := withConst(sum)
	switch {
	case !ok || zero != 0 || !known:
		return false, nil
	case added != float64(entries):
		return s.no(rule, n, fmt.Sprintf("%v is added to an index below 0, and the table has %d entries", added, entries), n.In[1])
	}
	return s.turns(rule, n, "an index below 0 counts from the end of the table", "gather", ir.Attrs{"axis": n.Int("axis"), "from_end": true}, n.In[0], index)
}

// holds reports whether every number of a type is one of the type by.
func holds(by, of tensor.DType) bool {
	if by == of {
		return true
	}
	switch of {
	case tensor.Bool:
		return true
	case tensor.F16, tensor.BF16:
		return by == tensor.F32 || by == tensor.F64
	case tensor.F32:
		return by == tensor.F64
	case tensor.I32:
		return by == tensor.I64 || by == tensor.F64
	}
	return false
}
