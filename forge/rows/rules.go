package rows

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// rules are about operators that are not elementwise, of which some operand has rows.
var rules = map[string]func(p *proof, n *ir.Node) (axis, error){
	"transpose": transpose, "concat": concat, "pad": pad, "gather": gather,
	"narrow": along("axis"), "split": along("axis"), "softmax": along("axis"), "log_softmax": along("axis"), "cumsum": along("axis"),
	"top_k": along("axis"), "argmax": arg, "argmin": arg,
	"sum": reduce, "mean": reduce, "max": reduce, "min": reduce, "prod": reduce,
	"layer_norm": norm, "rms_norm": norm,
	"matmul": matmul, "linear": linear, "sdpa": sdpa,
	"conv2d": images(1), "max_pool2d": images(2), "avg_pool2d": images(2),
}

// only checks that no operand but the first has rows, and returns where those stand.
func (p *proof) only(n *ir.Node) (axis, error) {
	for _, v := range n.In[1:] {
		if p.of[v].dim >= 0 {
			return none, fmt.Errorf("%v has rows of its own", v)
		}
	}
	return p.of[n.In[0]], nil
}

// named resolves an axis that counts from the end.
func named(n *ir.Node, attr string) int { return fromFront(n.Int(attr), n.In[0].Spec.Rank()) }

func fromFront(axis, rank int) int {
	if axis < 0 {
		axis += rank
	}
	return axis
}

var errAlong = fmt.Errorf("it works along the rows")

// along is for operators that work along another dimension.
func along(attr string) func(*proof, *ir.Node) (axis, error) {
	return func(p *proof, n *ir.Node) (axis, error) {
		at, err := p.only(n)
		if err == nil && at.dim == named(n, attr) {
			err = errAlong
		}
		return at, err
	}
}

func transpose(p *proof, n *ir.Node) (axis, error) {
	at, rank := p.of[n.In[0]], n.In[0].Spec.Rank()
	perm := n.Ints("perm")
	if perm == nil {
		return axis{rank - 1 - at.dim, at.block}, nil
	}
	i := slices.IndexFunc(perm, func(d int64) bool { return fromFront(int(d), rank) == at.dim })
	return axis{i, at.block}, nil
}

func concat(p *proof, n *ir.Node) (axis, error) {
	at := p.of[n.In[0]]
	for _, v := range n.In {
		if p.of[v] != at {
			return none, fmt.Errorf("the rows of %v stand elsewhere, or it has none", v)
		}
	}
	if at.dim == named(n, "axis") {
		return none, errAlong
	}
	return at, nil
}

func pad(p *proof, n *ir.Node) (axis, error) {
	at := p.of[n.In[0]]
	if n.Ints("low")[at.dim] != 0 || n.Ints("high")[at.dim] != 0 {
		return none, errAlong
	}
	return at, nil
}

// gather picks the same slices of each row of the table, or slices of a table without
// rows by indices that have them.
func gather(p *proof, n *ir.Node) (axis, error) {
	table, index, along := p.of[n.In[0]], p.of[n.In[1]], named(n, "axis")
	switch {
	case table.dim >= 0 && index.dim >= 0:
		return none, fmt.Errorf("rows pick from rows")
	case index.dim >= 0:
		return axis{along + index.dim, index.block}, nil
	case table.dim == along:
		return none, errAlong
	case table.dim > along:
		return axis{table.dim + n.In[1].Spec.Rank() - 1, table.block}, nil
	}
	return table, nil
}

// reduce leaves other dimensions out, or with length 1.
func reduce(p *proof, n *ir.Node) (axis, error) {
	at := p.of[n.In[0]]
	axes := n.Ints("axes")
	if axes == nil {
		return none, errAlong
	}
	before := 0
	for _, a := range axes {
		switch d := fromFront(int(a), n.In[0].Spec.Rank()); {
		case d == at.dim:
			return none, errAlong
		case d < at.dim:
			before++
		}
	}
	if !n.Bool("keepdims") {
		at.dim -= before
	}
	return at, nil
}

// arg leaves out the dimension that it works along.
func arg(p *proof, n *ir.Node) (axis, error) {
	at, gone := p.of[n.In[0]], named(n, "axis")
	switch {
	case at.dim == gone:
		return none, errAlong
	case at.dim > gone && !n.Bool("keepdims"):
		at.dim--
	}
	return at, nil
}

func norm(p *proof, n *ir.Node) (axis, error) {
	at, err := p.only(n)
	if err == nil && at.dim >= named(n, "axis") {
		err = errAlong
	}
	return at, err
}

// matmul has rows in its batches, in the rows of the first operand or in the columns of
// the second, never in what is summed over.
func matmul(p *proof, n *ir.Node) (axis, error) {
	rank := n.Out[0].Spec.Rank()
	for i, summed := range []int{1, 2} {
		if v := n.In[i]; p.of[v].dim == v.Spec.Rank()-summed {
			return none, fmt.Errorf("it sums over the rows of %v", v)
		}
	}
	a, b := n.In[0], n.In[1]
	switch {
	case p.of[a].dim == a.Spec.Rank()-2 && p.of[b].dim < 0:
		return p.withResidual(n, axis{rank - 2, p.of[a].block})
	case p.of[b].dim == b.Spec.Rank()-1 && p.of[a].dim < 0:
		return p.withResidual(n, axis{rank - 1, p.of[b].block})
	}
	at, err := p.broadcast(n, n.In[:2])
	if err == nil && at.dim >= rank-2 {
		err = fmt.Errorf("rows meet others than their own")
	}
	if err != nil {
		return none, err
	}
	return p.withResidual(n, at)
}

// withResidual checks that a residual, the last operand, has its rows in the same place.
func (p *proof) withResidual(n *ir.Node, at axis) (axis, error) {
	if last := len(n.Op.Operands) - 1; len(n.In) > last && p.of[n.In[last]] != at {
		return none, fmt.Errorf("the rows of %v stand elsewhere, or it has none", n.In[last])
	}
	return at, nil
}

func linear(p *proof, n *ir.Node) (axis, error) {
	at := p.of[n.In[0]]
	for _, v := range n.In[1:min(3, len(n.In))] {
		if p.of[v].dim >= 0 {
			return none, fmt.Errorf("%v has rows of its own", v)
		}
	}
	if at.dim == n.In[0].Spec.Rank()-1 {
		return none, fmt.Errorf("it sums over the rows of %v", n.In[0])
	}
	return p.withResidual(n, at)
}

// sdpa has rows in its batches, dimension 0.
func sdpa(p *proof, n *ir.Node) (axis, error) {
	at := axis{0, p.of[n.In[0]].block}
	for _, v := range n.In[:3] {
		if p.of[v] != at {
			return none, fmt.Errorf("%v has its rows not in the batch", v)
		}
	}
	if len(n.In) > 3 {
		if _, err := p.broadcast(n, []*ir.Value{n.In[0], n.In[3]}); err != nil {
			return none, err
		}
	}
	return at, nil
}

// images are in the first dimension; of poolings, channels are apart as well.
func images(apart int) func(*proof, *ir.Node) (axis, error) {
	return func(p *proof, n *ir.Node) (axis, error) {
		at, err := p.only(n)
		if err == nil && at.dim >= apart {
			err = errAlong
		}
		return at, err
	}
}
