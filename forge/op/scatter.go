package op

import (
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var scatters = []*ir.Op{{
	Name: "scatter",
	Doc: "x with elements replaced along an axis: update u at position p goes to p with the coordinate of the axis replaced by index[p]. " +
		"Updates are made in order; reduce combines each with what is there. An index below 0 or beyond x is an error of the run.",
	Class:    ir.Movement,
	Operands: []string{"x", "index", "updates"},
	Types:    "x and updates any; index " + integers.String(),
	Attrs: []ir.AttrDecl{
		axisAttr("the dimension of x that index counts along, negative from the end", int64(0)),
		{Name: "reduce", Kind: ir.StringAttr, Default: "none", OneOf: []string{"none", "add", "mul", "max", "min"}, Doc: "how an update combines with the element that it meets; none replaces it"},
	},
	Infer:     inferUpdates,
	Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
	Eval:      evalScatter,
	FLOPs:     noFLOPs,
}}

func inferUpdates(n *ir.Node) ([]ir.Spec, error) {
	x, index, updates := n.In[0].Spec, n.In[1].Spec, n.In[2].Spec
	if err := integers.check(n.In[1]); err != nil {
		return nil, err
	}
	axis, err := resolveAxis(int64(n.Int("axis")), x.Rank())
	switch {
	case err != nil:
		return nil, err
	case updates.DType != x.DType:
		return nil, fmt.Errorf("updates %v and %v differ in type", n.In[2], n.In[0])
	case !slices.Equal(index.Shape, updates.Shape):
		return nil, fmt.Errorf("index %v and updates %v differ in shape", index, updates)
	case index.Rank() != x.Rank():
		return nil, fmt.Errorf("index %v and %v differ in rank", index, x)
	case n.Str("reduce") != "none" && x.DType == tensor.Bool:
		return nil, errors.New("bools cannot be combined; reduce must be none")
	}
	for i, d := range index.Shape {
		if i != axis && d > x.Shape[i] {
			return nil, fmt.Errorf("dimension %d of index %v is longer than that of %v", i, index, x)
		}
	}
	return []ir.Spec{{DType: x.DType, Shape: x.Shape}}, nil
}

func evalScatter(c *ir.Call) error {
	if err := tensor.Copy(c.Out[0], c.In[0]); err != nil {
		return err
	}
	switch dtype := c.In[0].DType(); {
	case dtype == tensor.Bool:
		return applyUpdates(c, c.In[2].Bool(), c.Out[0].Bool(), func(_, u bool) bool { return u })
	case isHalf(dtype) && c.Node.Str("reduce") == "none":
		return applyUpdates(c, c.In[2].Bits16(), c.Out[0].Bits16(), func(_, u uint16) uint16 { return u })
	}
	return scatterNumbers(c)
}

var scatterNumbers = byNumber(scatterBy[float32], scatterBy[float64], scatterBy[int64], scatterBy[int32])

func scatterBy[T number](c *ir.Call) error {
	if isHalf(c.Node.In[0].Spec.DType) && !c.Wide { // the copy of x was made for the tensors of the call
		copy(data[T](c.Out[0]), data[T](c.In[0]))
	}
	combine := map[string]func(a, u T) T{
		"none": func(_, u T) T { return u },
		"add":  plus[T], "mul": times[T],
		"max": func(a, u T) T { return max(a, u) },
		"min": func(a, u T) T { return min(a, u) },
	}[c.Node.Str("reduce")]
	return applyUpdates(c, data[T](c.In[2]), data[T](c.Out[0]), combine)
}

// applyUpdates makes the updates one after another.
func applyUpdates[T any](c *ir.Call, updates, out []T, combine func(a, u T) T) error {
	axis := c.Node.Int("axis")
	to, from := c.Out[0].Shape(), c.In[1].Shape()
	index, err := rowNumbers(c, to[axis])
	if err != nil {
		return err
	}
	strides := tensor.Strides(to)
	at := make([]int, len(from))
	stop := stopper{call: c}
	for i, u := range updates {
		place := index[i] * strides[axis]
		for d, p := range at {
			if d != axis {
				place += p * strides[d]
			}
		}
		out[place] = combine(out[place], u)
		next(at, from)
		if err := stop.did(len(at) + 1); err != nil {
			return err
		}
	}
	return nil
}

// next advances a position in row-major order.
func next(at, shape []int) {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d]++; at[d] < shape[d] {
			return
		}
		at[d] = 0
	}
}
