package pass

import (
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// MaxWideBytes bounds the joined weight that one fused group of projections
// holds: it is a copy, made when the program is compiled, while programs share
// weights that stay as they are. Reading a larger weight takes so long that reading
// the other operand once for each projection does not show.
const MaxWideBytes = 1 << 20

var projectionRule = Rule{"shared-projections", true, "every column of a product depends on one column of the weight only; a missing bias is added as -0, which changes nothing"}

// fuseSharedProjections computes linear nodes that read the same value, such
// as the query, key and value of attention or the gate and up projections of a
// feed-forward layer, as one wide linear node and windows on its result.
func fuseSharedProjections(g *ir.Graph, r *report) error {
	return shareProjections(g, r, MaxWideBytes)
}

// shareProjections joins weights up to a limit in bytes.
func shareProjections(g *ir.Graph, r *report, limit int64) error {
	p := &projections{rewriter: newRewriter(g, r), limit: limit, group: make(map[projectionKey][]*ir.Node)}
	var order []projectionKey
	for _, n := range g.Nodes {
		w, ok := weightOf(n)
		if !ok {
			continue
		}
		key := projectionKey{n.In[0], w.Spec.DType, n.Str("act")}
		if p.group[key] == nil {
			order = append(order, key)
		}
		p.group[key] = append(p.group[key], n)
	}
	for _, key := range order {
		if err := p.join(p.group[key]); err != nil {
			return err
		}
	}
	return p.sweep(func(*ir.Node) error { return nil })
}

type projections struct {
	*rewriter
	limit int64
	group map[projectionKey][]*ir.Node
}

type projectionKey struct {
	x      *ir.Value
	weight tensor.DType
	act    string
}

// weightOf returns the weight of a node that multiplies a value by a matrix.
func weightOf(n *ir.Node) (*ir.Value, bool) {
	if n.Op.Name != "linear" && n.Op.Name != "matmul" {
		return nil, false
	}
	return n.In[1], n.In[1].Spec.Rank() == 2
}

// join makes a wide node of those members of a group that allow it.
func (p *projections) join(group []*ir.Node) error {
	if len(group) < 2 {
		return nil
	}
	var fit []*ir.Node
	var bytes int64
	for _, n := range group {
		if reason, blockers := p.blocked(n, bytes); reason != "" {
			p.declined(&projectionRule, n.Out[0], reason, blockers...)
			continue
		}
		fit = append(fit, n)
		bytes += n.In[1].Spec.Bytes()
	}
	switch len(fit) {
	case 0:
		return nil
	case 1:
		p.declined(&projectionRule, fit[0].Out[0], "no other projection of "+fit[0].In[0].String()+" can be joined with it", fit[0].In[0])
		return nil
	}
	return p.widen(fit)
}

// blocked says why n cannot be part of a wide node that has a weight of that
// many bytes so far.
func (p *projections) blocked(n *ir.Node, bytes int64) (string, []*ir.Value) {
	if residual := residualOf(n); residual != nil {
		return "it has a residual, which is not of the wide result", []*ir.Value{residual}
	}
	for _, v := range n.In[1:] {
		switch {
		case v.Def == nil:
			return fmt.Sprintf("%v is an input of the program: it would have to be copied into the wide weight on every run", v), []*ir.Value{v}
		case !isConst(v):
			return fmt.Sprintf("%v is computed by the program: it would have to be copied into the wide weight on every run", v), []*ir.Value{v}
		}
		if reason, blockers := p.private(v, n); reason != "" {
			return fmt.Sprintf("%s: joining would keep %d more bytes", reason, v.Spec.Bytes()), blockers
		}
	}
	if p.outputs[n.Out[0]] {
		return "it is an output of the program, which a window on another value is not", n.Out
	}
	if by := p.taken[n.Out[0]]; by != nil {
		return siteName(by.Out[0]) + " takes the storage of the result, which a window would share with the others", by.Out
	}
	if bytes+n.In[1].Spec.Bytes() > p.limit {
		return fmt.Sprintf("the wide weight would have %d bytes; it has at most %d", bytes+n.In[1].Spec.Bytes(), p.limit), []*ir.Value{n.In[1]}
	}
	return "", nil
}

func (p *projections) widen(group []*ir.Node) error {
	first := group[0]
	var weights, biases []*tensor.Tensor
	biased := false
	for _, n := range group {
		w := n.In[1].Def.Tensor("value")
		b, err := tensor.Full(n.Out[0].Spec.DType, math.Copysign(0, -1), w.Dim(1))
		if err != nil {
			return err
		}
		if len(n.In) > 2 {
			b, biased = n.In[2].Def.Tensor("value"), true
		}
		weights, biases = append(weights, w), append(biases, b)
	}
	operands := []*ir.Value{first.In[0]}
	for i, parts := range [][]*tensor.Tensor{weights, biases} {
		if i == 1 && !biased {
			break
		}
		joined, err := joinColumns(parts)
		if err != nil {
			return err
		}
		v, err := p.constant(first, []string{"wide_w", "wide_b"}[i], joined)
		if err != nil {
			return err
		}
		operands = append(operands, v)
	}
	wide, err := p.insert(first, "wide", "linear", ir.Attrs{"act": first.Str("act")}, operands...)
	if err != nil {
		return err
	}
	return p.share(wide, group)
}

// share turns the members of a group into windows on the wide result.
func (p *projections) share(wide *ir.Value, group []*ir.Node) error {
	start := 0
	for _, n := range group {
		columns := n.In[1].Spec.Shape[1]
		wide.Def.Pos = mergePos(wide.Def.Pos, n.Pos)
		p.applied(&projectionRule, n.Out[0], fmt.Sprintf("columns %d to %d of %v", start, start+columns, wide), wide)
		if err := p.become(n, "narrow", ir.Attrs{"axis": -1, "start": start, "length": columns}, wide); err != nil {
			return err
		}
		start += columns
	}
	return nil
}

// joinColumns puts tensors beside one another along the last dimension.
func joinColumns(parts []*tensor.Tensor) (*tensor.Tensor, error) {
	shape := parts[0].Shape()
	last := len(shape) - 1
	shape[last] = 0
	for _, t := range parts {
		shape[last] += t.Dim(-1)
	}
	out, err := tensor.Zeros(parts[0].DType(), shape...)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, t := range parts {
		copyColumns(out, t, at)
		at += t.Dim(-1)
	}
	return out, nil
}

// copyColumns writes t into the columns of out from at on.
func copyColumns(out, t *tensor.Tensor, at int) {
	switch out.DType() {
	case tensor.F32:
		copyRows(out.Float32(), t.Float32(), out.Dim(-1), t.Dim(-1), at)
	case tensor.F64:
		copyRows(out.Float64(), t.Float64(), out.Dim(-1), t.Dim(-1), at)
	default:
		copyRows(out.Bits16(), t.Bits16(), out.Dim(-1), t.Dim(-1), at)
	}
}

func copyRows[T any](dst, src []T, wide, narrow, at int) {
	for r := 0; r*narrow < len(src); r++ {
		copy(dst[r*wide+at:], src[r*narrow:][:narrow])
	}
}
