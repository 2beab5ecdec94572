package onnx

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"Gather": {1, gather}, "GatherElements": {11, gatherElements}, "GatherND": {11, gatherND},
	"ScatterElements": {11, scatterElements}, "Scatter": {9, scatterElements}, "ScatterND": {11, scatterND},
	"OneHot": {9, oneHot}, "Compress": {9, compress},
})

// index is operand i as indices into n entries; negative ones count from the end.
func (c *call) index(i, n int) *ir.Value {
	if t := c.known(i); t != nil {
		return c.Constant(fromFront(t, n))
	}
	return c.FromFront(c.arg(i), n)
}

func fromFront(t *tensor.Tensor, n int) (*tensor.Tensor, error) {
	list := integerElements(t)
	for i, at := range list {
		if at < 0 {
			list[i] += int64(n)
		}
	}
	return tensor.From(t.Shape(), list)
}

func gather(c *call) {
	axis := c.Axis(c.int("axis", 0), c.rank(0))
	c.set(0, c.Op("gather", ir.Attrs{"axis": axis}, c.arg(0), c.index(1, c.shape(0)[axis])))
}

// gatherElements gathers from the flat operand: the index along the axis times its
// stride, and the place of the element otherwise.
func gatherElements(c *call) {
	shape, at := c.shape(0), c.shape(1)
	if len(shape) != len(at) || len(shape) == 0 {
		c.Fail("indices %v and data %v differ in rank", at, shape)
	}
	axis := c.Axis(c.int("axis", 0), len(shape))
	strides := tensor.Strides(shape)
	c.room(at...)
	base, err := tensor.Zeros(tensor.I64, at...)
	c.Check(err)
	own := tensor.Strides(at)
	for i := range base.Len() {
		place := 0
		for d := range at {
			if d != axis {
				place += i / own[d] % at[d] * strides[d]
			}
		}
		base.Int64()[i] = int64(place)
	}
	flat := c.Add(c.Scale(c.index(1, shape[axis]), float64(strides[axis])), c.Constant(base, nil))
	c.set(0, c.Op("gather", nil, c.Reshape(c.arg(0), formula.Product(shape)), flat))
}

// flatIndex turns tuples of indices, the last dimension of v, into places: v times
// strides, summed.
func (c *call) flatIndex(i int, shape []int) *ir.Value {
	n := len(shape)
	sizes, strides := make([]int64, n), tensor.Strides(shape)
	for d, size := range shape {
		sizes[d] = int64(size)
	}
	v := c.Cast(c.arg(i), tensor.I64)
	vector := func(list []int64) *ir.Value { return c.Constant(tensor.From([]int{n}, list)) }
	v = c.Where(c.Compare("lt", v, 0), c.Add(v, vector(sizes)), v)
	return c.Op("sum", ir.Attrs{"axes": []int64{-1}}, c.Mul(v, vector(formula.Int64s(strides))))
}

// gatherND picks slices by tuples of indices into the first dimensions after the
// batch.
func gatherND(c *call) {
	shape, at := c.shape(0), c.shape(1)
	b := int(c.int("batch_dims", 0))
	if len(at) == 0 || b < 0 || b >= len(at) || b+at[len(at)-1] > len(shape) || !slices.Equal(shape[:b], at[:b]) {
		c.Fail("indices %v with %d batch dimensions do not fit data %v", at, b, shape)
	}
	n := at[len(at)-1]
	indexed, rest := shape[b:b+n], shape[b+n:]
	batches, entries := formula.Product(shape[:b]), formula.Product(indexed)
	places := c.flatIndex(1, indexed)
	if b > 0 {
		offsets := make([]int64, c.room(batches))
		for i := range offsets {
			offsets[i] = int64(i * entries)
		}
		places = c.Reshape(places, batches, formula.Product(at[b:len(at)-1]))
		places = c.Add(places, c.Constant(tensor.From([]int{batches, 1}, offsets)))
	}
	places = c.Reshape(places, formula.Product(at[:len(at)-1]))
	table := c.Reshape(c.arg(0), append([]int{batches * entries}, rest...)...)
	v := c.Op("gather", nil, table, places)
	c.set(0, c.Reshape(v, slices.Concat(at[:len(at)-1], rest)...))
}

func scatterElements(c *call) {
	axis := c.Axis(c.int("axis", 0), c.rank(0))
	attrs := ir.Attrs{"axis": axis, "reduce": c.str("reduction", "none")}
	c.set(0, c.Op("scatter", attrs, c.arg(0), c.index(1, c.shape(0)[axis]), c.arg(2)))
}

// scatterND updates slices: rows of the operand with its indexed dimensions merged.
func scatterND(c *call) {
	shape, at := c.shape(0), c.shape(1)
	if len(at) == 0 || at[len(at)-1] > len(shape) {
		c.Fail("indices %v do not fit data %v", at, shape)
	}
	n := at[len(at)-1]
	updates, row := formula.Product(at[:len(at)-1]), formula.Product(shape[n:])
	places := c.Reshape(c.flatIndex(1, shape[:n]), updates, 1)
	places = c.Op("expand", ir.Attrs{"shape": []int64{int64(updates), int64(row)}}, places)
	table := c.Reshape(c.arg(0), formula.Product(shape[:n]), row)
	attrs := ir.Attrs{"axis": 0, "reduce": c.str("reduction", "none")}
	v := c.Op("scatter", attrs, table, places, c.Reshape(c.arg(2), updates, row))
	c.set(0, c.Reshape(v, shape...))
}

// oneHot compares indices with 0 … depth-1; those out of range match nothing.
func oneHot(c *call) {
	depth := c.Lengths([]int64{c.intOf(1, "the depth")})[0]
	at := c.shape(0)
	axis := c.Axis(c.int("axis", -1), len(at)+1)
	index := c.Cast(c.arg(0), tensor.I64)
	index = c.Where(c.Compare("lt", index, 0), c.Shift(index, float64(depth)), index)
	wide := slices.Insert(slices.Clone(at), axis, 1)
	column := c.shapeAlong(axis, len(wide), depth)
	hit := c.Op("eq", nil, c.Reshape(index, wide...), c.Reshape(c.iota(depth, tensor.I64), column...))
	values := c.arg(2)
	pick := func(i int) *ir.Value {
		return c.Reshape(c.Op("narrow", ir.Attrs{"axis": 0, "start": i, "length": 1}, values))
	}
	c.set(0, c.Where(hit, pick(1), pick(0)))
}

// compress needs to know its condition, since that makes the shape.
func compress(c *call) {
	condition := c.mustKnow(1, "the condition")
	v := c.arg(0)
	axis, n := 0, formula.Product(c.shape(0))
	if c.node.Attr("axis") == nil {
		v = c.Reshape(v, n)
	} else {
		axis = c.Axis(c.int("axis", 0), c.rank(0))
		n = c.shape(0)[axis]
	}
	var index []int64
	for i := range min(condition.Len(), n) {
		if condition.Elem(i) != 0 {
			index = append(index, int64(i))
		}
	}
	c.set(0, c.GatherAlong(v, axis, index))
}
