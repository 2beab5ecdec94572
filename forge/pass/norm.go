package pass

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	layerNormRule = Rule{"layer-norm", true, "layer_norm takes the pairwise means, the root and its reciprocal with the roundings of the separate operators"}
	rmsNormRule   = Rule{"rms-norm", true, "rms_norm takes the pairwise mean, the root and its reciprocal with the roundings of the separate operators"}

	roundedLayerNormRule = Rule{"layer-norm-rounded", false, "a quotient becomes a product with the rounded reciprocal, which moves an element by at most 2 ulp, and a sum times the rounded 1/n becomes a mean, " +
		"which moves it by at most 2 ulp of the mean over sqrt(eps); |x - mean| over its root mean square is at most sqrt(n), so that neither form overflows where the other does not"}
	roundedRMSNormRule = Rule{"rms-norm-rounded", false, "a quotient becomes a product with the rounded reciprocal and a sum times the rounded 1/n a mean, which moves an element by at most 4 ulp; " +
		"|x| over its root mean square is at most sqrt(n), so that neither form overflows where the other does not"}
)

// recogniseNorms finds layer_norm and rms_norm in the operators that they are
// made of: means, squares, a root and a quotient, then weight and bias.
func recogniseNorms(g *ir.Graph, r *report) error {
	w := newRewriter(g, r)
	return w.sweep(func(n *ir.Node) error {
		m := &norm{rewriter: w, root: n}
		if !m.start() {
			return nil
		}
		if reason, blockers := m.meanSquare(); reason != "" {
			w.declined(m.rule(), n.Out[0], reason, blockers...)
			return nil
		}
		if reason, blockers := m.centre(); reason != "" {
			w.declined(&layerNormRule, n.Out[0], "not a layer_norm: "+reason, blockers...)
		}
		return m.rewrite()
	})
}

// norm is what a match collects.
type norm struct {
	*rewriter
	root    *ir.Node // the quotient or product with the reciprocal root
	x       *ir.Value
	square  *ir.Node  // x * x
	mean    *ir.Value // of the squares
	axis    int
	eps     float64
	rounded bool // the separate operators round otherwise
	layer   bool // x turned out to be something minus its mean
	inner   *ir.Value
}

func (m *norm) rule() *Rule {
	switch {
	case m.layer && m.rounded:
		return &roundedLayerNormRule
	case m.layer:
		return &layerNormRule
	case m.rounded:
		return &roundedRMSNormRule
	}
	return &rmsNormRule
}

// start reports whether the root divides a value by the root of a mean, as
// x / sqrt(mean + eps), x * rsqrt(mean + eps) or x * (1 / sqrt(mean + eps)). It
// finds x, mean and eps; eps is absent as 0.
func (m *norm) start() bool {
	n := m.root
	var under *ir.Value
	switch n.Op.Name {
	case "div":
		if root := made(n.In[1], "sqrt"); root != nil {
			m.x, m.inner, under, m.rounded = n.In[0], n.In[1], root.In[0], true
		}
	case "mul":
		for i, v := range n.In {
			if u := reciprocalRoot(v); u != nil {
				m.x, m.inner, under = n.In[1-i], v, u
			}
		}
	}
	if under == nil {
		return false
	}
	m.mean = under
	if add := made(under, "add"); add != nil {
		if v, c, ok := withConst(add); ok {
			m.mean, m.eps = v, c
		}
	}
	// What is under the root must be a mean, to be a site at all.
	arg, _, _ := meanOf(m.mean)
	return arg != nil || m.isDifference()
}

// isDifference reports whether the mean is one minus something, as a variance
// may be written.
func (m *norm) isDifference() bool {
	sub := made(m.mean, "sub")
	if sub == nil {
		return false
	}
	arg, _, _ := meanOf(sub.In[0])
	return arg != nil
}

// reciprocalRoot returns the value whose reciprocal root v is, or nil.
func reciprocalRoot(v *ir.Value) *ir.Value {
	if n := made(v, "rsqrt"); n != nil {
		return n.In[0]
	}
	if n := made(v, "div"); n != nil {
		if c, ok := filled(n.In[0]); ok && c == 1 {
			if root := made(n.In[1], "sqrt"); root != nil {
				return root.In[0]
			}
		}
	}
	return nil
}

// meanOf returns what v is the mean of and the reduction, for the forms mean,
// sum / n and sum * (1/n); the last rounds otherwise unless n is a power of two.
func meanOf(v *ir.Value) (x *ir.Value, reduction *ir.Node, rounded bool) {
	if n := made(v, "mean"); n != nil {
		return n.In[0], n, false
	}
	n := v.Def
	if n == nil || n.Op.Name != "mul" && n.Op.Name != "div" {
		return nil, nil, false
	}
	s, c, ok := withConst(n)
	if !ok || made(s, "sum") == nil || !stands(n, s) || s.Def.In[0].Spec.Elements() == 0 {
		return nil, nil, false
	}
	sum := s.Def
	count := float64(sum.In[0].Spec.Elements() / s.Spec.Elements())
	if n.Op.Name == "div" {
		if s != n.In[0] || c != count {
			return nil, nil, false
		}
		return sum.In[0], sum, false
	}
	inverse := 1 / count
	if v.Spec.DType == tensor.F32 {
		inverse = float64(float32(inverse))
	}
	if c != inverse {
		return nil, nil, false
	}
	return sum.In[0], sum, !exactReciprocal(v.Spec.DType, count)
}

// lastDims is the first dimension of those that a reduction takes the mean
// over, which must be the last ones and kept with length 1.
func lastDims(n *ir.Node) (int, bool) {
	rank := n.In[0].Spec.Rank()
	axes := n.Ints("axes")
	if !n.Bool("keepdims") || rank == 0 {
		return 0, false
	}
	if axes == nil {
		return 0, true
	}
	reduced := make([]bool, rank)
	for _, a := range axes {
		reduced[axisOf(int(a), rank)] = true
	}
	first := rank - len(axes)
	return first, len(axes) > 0 && !slices.Contains(reduced[first:], false)
}

// meanSquare checks that the mean is that of x * x, that nothing else reads
// what lies between, and that the norm operators take the types.
func (m *norm) meanSquare() (string, []*ir.Value) {
	if m.isDifference() {
		return "the variance is a difference, which loses the digits that cancel and can be below zero", []*ir.Value{m.mean}
	}
	squares, reduction, rounded := meanOf(m.mean)
	m.rounded = m.rounded || rounded
	m.square = made(squares, "mul")
	axis, last := lastDims(reduction)
	switch {
	case m.square == nil || m.square.In[0] != m.square.In[1] || m.square.In[0] != m.x:
		return fmt.Sprintf("what is under the root is not the mean of the squares of %v", m.x), []*ir.Value{squares}
	case !last:
		return "the mean is not over the last dimensions, kept with length 1", reduction.Out
	case !(m.eps >= 0) || math.IsInf(m.eps, 1):
		return fmt.Sprintf("eps is %v; it must be finite and not negative", m.eps), []*ir.Value{m.inner}
	case rounded && m.eps == 0:
		return "a sum times the rounded 1/n can be 0 where the mean is not, and eps is 0", []*ir.Value{m.mean}
	case !stands(m.root, m.x):
		return "the root stretches what is normalised", []*ir.Value{m.inner}
	}
	m.axis = axis
	if reason, blockers := roundsOften(m.x, "a norm"); reason != "" {
		return reason, blockers
	}
	if reason, blockers := m.absorbed(m.inner, m.root, m.x); reason != "" {
		return reason, blockers
	}
	return m.later(m.x)
}

// absorbed checks that only the pattern reads v and what it is made of, up to
// the value x.
func (m *norm) absorbed(v *ir.Value, reader *ir.Node, x *ir.Value) (string, []*ir.Value) {
	if v == x || isConst(v) {
		return "", nil
	}
	if reason, blockers := m.private(v, reader); reason != "" {
		return reason, blockers
	}
	for _, u := range v.Def.In {
		if reason, blockers := m.absorbed(u, v.Def, x); reason != "" {
			return reason, blockers
		}
	}
	return "", nil
}

// centre finds out whether x is something minus its mean, which makes the norm
// a layer_norm. The reason says why it is not one although it looks like it.
func (m *norm) centre() (string, []*ir.Value) {
	sub := made(m.x, "sub")
	if sub == nil {
		return "", nil
	}
	of, reduction, rounded := meanOf(sub.In[1])
	if of == nil || of != sub.In[0] {
		return "", nil
	}
	reason, blockers := m.private(m.x, m.root, m.square)
	if reason == "" {
		reason, blockers = m.absorbed(sub.In[1], sub, of)
	}
	if axis, last := lastDims(reduction); reason == "" && (!last || axis != m.axis) {
		reason, blockers = "the two means are not over the same dimensions", []*ir.Value{sub.In[1], m.mean}
	}
	if reason == "" && rounded && m.eps == 0 {
		reason, blockers = "a sum times a rounded 1/n may differ from equal elements where their mean does not, and eps is 0", []*ir.Value{sub.In[1]}
	}
	if reason == "" {
		reason, blockers = m.later(of)
	}
	if reason == "" {
		m.layer, m.rounded, m.x = true, m.rounded || rounded, of
	}
	return reason, blockers
}

// rewrite makes the norm of the root, or of the node that applies the bias or
// weight to it.
func (m *norm) rewrite() error {
	name, most := "rms_norm", 1
	if m.layer {
		name, most = "layer_norm", 2
	}
	end, extra := m.root, []*ir.Value{}
	for i, op := range []string{"mul", "add"}[:most] {
		next, v := m.parameter(end, op)
		if next == nil {
			break
		}
		if i+1 < most { // layer_norm takes weight and bias, or neither
			if after, _ := m.parameter(next, "add"); after == nil {
				break
			}
		}
		end, extra = next, append(extra, v)
	}
	operands := append([]*ir.Value{m.x}, extra...)
	m.applied(m.rule(), end.Out[0], "the operators down from "+m.x.String()+" are "+name, operands...)
	return m.become(end, name, ir.Attrs{"axis": m.axis, "eps": m.eps}, operands...)
}

// parameter returns the only reader of n if it applies the operator to n and a
// value of the normalised shape, and that value.
func (m *norm) parameter(n *ir.Node, op string) (*ir.Node, *ir.Value) {
	v := n.Out[0]
	for _, next := range m.readers[v] {
		if m.dead[next] || next.Op.Name != op || !stands(next, v) {
			continue
		}
		if reason, _ := m.private(v, next); reason != "" {
			continue
		}
		for i, u := range next.In {
			if other := next.In[1-i]; u == v && other != v && tensor.ShapeEqual(other.Spec.Shape, v.Spec.Shape[m.axis:]) {
				if reason, _ := m.later(m.x, other); reason == "" {
					return next, other
				}
			}
		}
	}
	return nil, nil
}
