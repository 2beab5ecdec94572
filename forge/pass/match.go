package pass

import (
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// made returns the node that makes v if it applies the named operator, else
// nil.
func made(v *ir.Value, name string) *ir.Node {
	if v.Def == nil || v.Def.Op.Name != name {
		return nil
	}
	return v.Def
}

// isConst reports whether v is a constant.
func isConst(v *ir.Value) bool { return v.Def != nil && v.Def.Op.Class == ir.Constant }

// filled returns the number that every element of the constant v has, bit for
// bit. A tensor without elements has none.
func filled(v *ir.Value) (float64, bool) {
	if !isConst(v) {
		return 0, false
	}
	t := v.Def.Tensor("value")
	if t.Len() == 0 {
		return 0, false
	}
	first := t.Elem(0)
	for i := 1; i < t.Len(); i++ {
		if math.Float64bits(t.Elem(i)) != math.Float64bits(first) {
			return 0, false
		}
	}
	return first, true
}

// withConst splits the operands of a node of two into one that every element
// equals c and the other.
func withConst(n *ir.Node) (x *ir.Value, c float64, ok bool) {
	if c, ok = filled(n.In[1]); ok {
		return n.In[0], c, true
	}
	if c, ok = filled(n.In[0]); ok {
		return n.In[1], c, true
	}
	return nil, 0, false
}

// roundsOften says why separate operators on v cannot become one, which rounds
// its result only: with 16 bits they compute in float32 and each rounds.
func roundsOften(v *ir.Value, one string) (reason string, blockers []*ir.Value) {
	d := v.Spec.DType
	if d != tensor.F16 && d != tensor.BF16 {
		return "", nil
	}
	return fmt.Sprintf("in %v every operator rounds its result, and %s only the last", d, one), []*ir.Value{v}
}

// axisOf resolves an axis that counts from the end; inference has checked it.
func axisOf(axis, rank int) int {
	if axis < 0 {
		axis += rank
	}
	return axis
}

// permOf is the order of dimensions of a transpose, resolved.
func permOf(n *ir.Node) []int {
	rank := n.In[0].Spec.Rank()
	perm := make([]int, rank)
	given := n.Ints("perm")
	for i := range perm {
		if given == nil {
			perm[i] = rank - 1 - i
		} else {
			perm[i] = axisOf(int(given[i]), rank)
		}
	}
	return perm
}
