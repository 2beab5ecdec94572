package op

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var joins = []*ir.Op{
	{
		Name:     "concat",
		Doc:      "The operands one after another along an axis; their other dimensions are equal.",
		Class:    ir.Movement,
		Operands: []string{"x"},
		Types:    anyType.String(),
		Variadic: true,
		Attrs:    []ir.AttrDecl{axisAttr("the dimension to join along, negative from the end", nil)},
		Infer:    inferConcat,
		Canonical: func(n *ir.Node) ir.Attrs {
			return canonicalAxis(n, n.In[0].Spec.Rank())
		},
		Eval:  evalConcat,
		FLOPs: noFLOPs,
	},
	{
		Name:     "pad",
		Doc:      "x with constant elements before and after each dimension.",
		Class:    ir.Movement,
		Operands: []string{"x"},
		Types:    anyType.String(),
		Attrs: []ir.AttrDecl{
			{Name: "low", Kind: ir.IntsAttr, Required: true, Doc: "elements to add before each dimension"},
			{Name: "high", Kind: ir.IntsAttr, Required: true, Doc: "elements to add after each dimension"},
			{Name: "value", Kind: ir.FloatAttr, Default: 0.0, Doc: "the constant, converted as cast converts; whole and in range for integers, 0 or 1 for bool"},
		},
		Infer: inferPad,
		Eval:  evalPad,
		FLOPs: noFLOPs,
	},
}

func inferConcat(n *ir.Node) ([]ir.Spec, error) {
	if len(n.In) == 0 {
		return nil, errors.New("needs at least one operand")
	}
	dtype, err := sameType(n.In, anyType)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(n.In[0].Spec.Shape)
	axis, err := resolveAxis(int64(n.Int("axis")), len(shape))
	if err != nil {
		return nil, err
	}
	for _, v := range n.In[1:] {
		s := v.Spec.Shape
		if len(s) != len(shape) {
			return nil, fmt.Errorf("operands %v and %v have different ranks, %d and %d", n.In[0], v, len(shape), len(s))
		}
		for i, d := range s {
			switch {
			case i == axis:
				shape[i] += d
			case d != shape[i]:
				return nil, fmt.Errorf("operands %v and %v differ in dimension %d, %d and %d; only dimension %d may differ", n.In[0], v, i, shape[i], d, axis)
			}
		}
	}
	return []ir.Spec{{DType: dtype, Shape: shape}}, nil
}

// evalConcat writes each operand to its window of the result.
func evalConcat(c *ir.Call) error {
	out := c.Out[0]
	axis := c.Node.Int("axis")
	strides := out.Strides()
	offset := 0
	for _, x := range c.In {
		if err := scatter(c, out, x, ir.Layout{Offset: offset, Strides: strides}); err != nil {
			return err
		}
		offset += x.Dim(axis) * strides[axis]
	}
	return nil
}

// scatter writes src to the elements of out that a layout names.
func scatter(c *ir.Call, out, src *tensor.Tensor, layout ir.Layout) error {
	w := stridedWalker(src.Shape(), layout.Strides)
	m := newMover(out, src)
	return inBlocks(c, src.Len(), func(lo, hi int) {
		w.runs(lo, hi, func(at, base, step, n int) { m.put(layout.Offset+base, step, at, n) })
	})
}

func inferPad(n *ir.Node) ([]ir.Spec, error) {
	x := n.In[0].Spec
	low, high := n.Ints("low"), n.Ints("high")
	if len(low) != x.Rank() || len(high) != x.Rank() {
		return nil, fmt.Errorf("low has %d and high %d entries for rank %d", len(low), len(high), x.Rank())
	}
	shape := slices.Clone(x.Shape)
	for i := range shape {
		if low[i] < 0 || high[i] < 0 || low[i] > tensor.MaxElements || high[i] > tensor.MaxElements {
			return nil, fmt.Errorf("padding %d and %d of dimension %d must be from 0 to %d", low[i], high[i], i, tensor.MaxElements)
		}
		shape[i] += int(low[i] + high[i])
	}
	return []ir.Spec{{DType: x.DType, Shape: shape}}, checkElement(n.Float("value"), x.DType)
}

// checkElement refuses a number that an integer or bool type does not have.
func checkElement(v float64, dtype tensor.DType) error {
	if dtype.IsFloat() {
		return nil
	}
	low, high := 0.0, 1.0
	switch dtype {
	case tensor.I32:
		low, high = math.MinInt32, math.MaxInt32
	case tensor.I64:
		low, high = math.MinInt64, math.Nextafter(math.MaxInt64, 0)
	}
	if v != math.Trunc(v) || v < low || v > high {
		return fmt.Errorf("value %v is not an element of type %v", v, dtype)
	}
	return nil
}

func evalPad(c *ir.Call) error {
	x, out := c.In[0], c.Out[0]
	value, err := tensor.Full(out.DType(), c.Node.Float("value"))
	if err != nil {
		return err
	}
	everywhere := ir.Layout{Strides: make([]int, out.Rank())}
	if err := gatherLayout(c, out, value, everywhere); err != nil {
		return err
	}
	inner := ir.Layout{Strides: out.Strides()}
	for i, low := range c.Node.Ints("low") {
		inner.Offset += int(low) * inner.Strides[i]
	}
	return scatter(c, out, x, inner)
}
