package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var gathers = []*ir.Op{{
	Name:     "gather",
	Doc:      "Slices of table along an axis, one per index; with axis 0 the rows of an embedding. An index below 0 or beyond the table is an error of the run; with from_end, one below 0 counts from the end of the table.",
	Class:    ir.Movement,
	Operands: []string{"table", "index"},
	Types:    "table any; index " + integers.String(),
	Attrs: []ir.AttrDecl{
		axisAttr("the dimension of table that index replaces by its own dimensions, negative from the end", int64(0)),
		{Name: "from_end", Kind: ir.BoolAttr, Default: false, Doc: "an index i below 0 stands for i plus the entries of the table"},
	},
	Infer: inferGather,
	Canonical: func(n *ir.Node) ir.Attrs {
		return canonicalAxis(n, n.In[0].Spec.Rank())
	},
	Eval:  evalGather,
	FLOPs: noFLOPs,
}}

func inferGather(n *ir.Node) ([]ir.Spec, error) {
	table, index := n.In[0].Spec, n.In[1].Spec
	if err := integers.check(n.In[1]); err != nil {
		return nil, err
	}
	axis, err := resolveAxis(int64(n.Int("axis")), table.Rank())
	if err != nil {
		return nil, err
	}
	shape := slices.Concat(table.Shape[:axis], index.Shape, table.Shape[axis+1:])
	return []ir.Spec{{DType: table.DType, Shape: shape}}, nil
}

// evalGather copies one slice per index and outer position of the table.
func evalGather(c *ir.Call) error {
	table, out := c.In[0], c.Out[0]
	axis := c.Node.Int("axis")
	shape := table.Shape()
	rows, run := shape[axis], product(shape[axis+1:])
	index, err := rowNumbers(c, rows)
	if err != nil {
		return err
	}
	if out.Len() == 0 {
		return nil
	}
	m := newMover(out, table)
	return parallel(c, out.Len()/run, max(1, 1<<14/run), func(lo, hi int) error {
		stop := stopper{call: c}
		for i := lo; i < hi; i++ {
			outer, row := i/len(index), index[i%len(index)]
			m.move(i*run, (outer*rows+row)*run, 1, run)
			if err := stop.did(run); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowNumbers reads the index operand and checks it against the table.
func rowNumbers(c *ir.Call, rows int) ([]int, error) {
	t := c.In[1]
	list := make([]int, t.Len())
	for i := range list {
		var v int64
		if t.DType() == tensor.I64 {
			v = t.Int64()[i]
		} else {
			v = int64(t.Int32()[i])
		}
		given := v
		if v < 0 && c.Node.Bool("from_end") {
			v += int64(rows)
		}
		if v < 0 || v >= int64(rows) {
			return nil, fmt.Errorf("index %d at position %v of %v is out of range: dimension %d of table %v has %d entries",
				given, position(t.Shape(), i), c.Node.In[1], c.Node.Int("axis"), c.Node.In[0], rows)
		}
		list[i] = int(v)
	}
	return list, nil
}

// position is the index of element i of a dense tensor, written "[2,3]".
func position(shape []int, i int) string {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return tensor.FormatShape(at)
}
