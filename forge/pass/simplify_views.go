package pass

import (
	"slices"

	"forgekernel/forge/ir"
)

// viewRules are about operators that move elements without changing them.
var viewRules = []simplification{
	{
		Rule: Rule{"identity-move", true, "the elements stay where they are"},
		ops:  []string{"reshape", "transpose"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			x := n.In[0]
			switch {
			case n.Op.Name == "reshape" && stands(n, x):
				return s.is(rule, n, x, "the new shape is the old one")
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
}

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
