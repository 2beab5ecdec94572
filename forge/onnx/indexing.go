package onnx

import (
	"slices"

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
		return c.constant(fromFront(t, n))
	}
	v := c.cast(c.arg(i), tensor.I64)
	return c.where(c.compare("lt", v, 0), c.shift(v, float64(n)), v)
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
	axis := c.axis(c.int("axis", 0), c.rank(0))
	c.set(0, c.op("gather", ir.Attrs{"axis": axis}, c.arg(0), c.index(1, c.shape(0)[axis])))
}

// gatherElements gathers from the flat operand: the index along the axis times its
// stride, and the place of the element otherwise.
func gatherElements(c *call) {
	shape, at := c.shape(0), c.shape(1)
	if len(shape) != len(at) || len(shape) == 0 {
		c.fail("indices %v and data %v differ in rank", at, shape)
	}
	axis := c.axis(c.int("axis", 0), len(shape))
	strides := tensor.Strides(shape)
	c.room(at...)
	base, err := tensor.Zeros(tensor.I64, at...)
	c.check(err)
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
	flat := c.add(c.scale(c.index(1, shape[axis]), float64(strides[axis])), c.constant(base, nil))
	c.set(0, c.op("gather", nil, c.reshape(c.arg(0), product(shape)), flat))
}

// flatIndex turns tuples of indices, the last dimension of v, into places: v times
// strides, summed.
func (c *call) flatIndex(i int, shape []int) *ir.Value {
	n := len(shape)
	sizes, strides := make([]int64, n), tensor.Strides(shape)
	for d, size := range shape {
		sizes[d] = int64(size)
	}
	v := c.cast(c.arg(i), tensor.I64)
	vector := func(list []int64) *ir.Value { return c.constant(tensor.From([]int{n}, list)) }
	v = c.where(c.compare("lt", v, 0), c.add(v, vector(sizes)), v)
	return c.op("sum", ir.Attrs{"axes": []int64{-1}}, c.mul(v, vector(int64s(strides))))
}

// gatherND picks slices by tuples of indices into the first dimensions after the
// batch.
func gatherND(c *call) {
	shape, at := c.shape(0), c.shape(1)
	b := int(c.int("batch_dims", 0))
	if len(at) == 0 || b < 0 || b >= len(at) || b+at[len(at)-1] > len(shape) || !slices.Equal(shape[:b], at[:b]) {
		c.fail("indices %v with %d batch dimensions do not fit data %v", at, b, shape)
	}
	n := at[len(at)-1]
	indexed, rest := shape[b:b+n], shape[b+n:]
	batches, entries := product(shape[:b]), product(indexed)
	places := c.flatIndex(1, indexed)
	if b > 0 {
		offsets := make([]int64, c.room(batches))
		for i := range offsets {
			offsets[i] = int64(i * entries)
		}
		places = c.reshape(places, batches, product(at[b:len(at)-1]))
		places = c.add(places, c.constant(tensor.From([]int{batches, 1}, offsets)))
	}
	places = c.reshape(places, product(at[:len(at)-1]))
	table := c.reshape(c.arg(0), append([]int{batches * entries}, rest...)...)
	v := c.op("gather", nil, table, places)
	c.set(0, c.reshape(v, slices.Concat(at[:len(at)-1], rest)...))
}

func scatterElements(c *call) {
	axis := c.axis(c.int("axis", 0), c.rank(0))
	attrs := ir.Attrs{"axis": axis, "reduce": c.str("reduction", "none")}
	c.set(0, c.op("scatter", attrs, c.arg(0), c.index(1, c.shape(0)[axis]), c.arg(2)))
}

// scatterND updates slices: rows of the operand with its indexed dimensions merged.
func scatterND(c *call) {
	shape, at := c.shape(0), c.shape(1)
	if len(at) == 0 || at[len(at)-1] > len(shape) {
		c.fail("indices %v do not fit data %v", at, shape)
	}
	n := at[len(at)-1]
	updates, row := product(at[:len(at)-1]), product(shape[n:])
	places := c.reshape(c.flatIndex(1, shape[:n]), updates, 1)
	places = c.op("expand", ir.Attrs{"shape": []int64{int64(updates), int64(row)}}, places)
	table := c.reshape(c.arg(0), product(shape[:n]), row)
	attrs := ir.Attrs{"axis": 0, "reduce": c.str("reduction", "none")}
	v := c.op("scatter", attrs, table, places, c.reshape(c.arg(2), updates, row))
	c.set(0, c.reshape(v, shape...))
}

// oneHot compares indices with 0 … depth-1; those out of range match nothing.
func oneHot(c *call) {
	depth := c.lengths([]int64{c.intOf(1, "the depth")})[0]
	at := c.shape(0)
	axis := c.axis(c.int("axis", -1), len(at)+1)
	index := c.cast(c.arg(0), tensor.I64)
	index = c.where(c.compare("lt", index, 0), c.shift(index, float64(depth)), index)
	wide := slices.Insert(slices.Clone(at), axis, 1)
	column := c.shapeAlong(axis, len(wide), depth)
	hit := c.op("eq", nil, c.reshape(index, wide...), c.reshape(c.iota(depth, tensor.I64), column...))
	values := c.arg(2)
	pick := func(i int) *ir.Value {
		return c.reshape(c.op("narrow", ir.Attrs{"axis": 0, "start": i, "length": 1}, values))
	}
	c.set(0, c.where(hit, pick(1), pick(0)))
}

// compress needs to know its condition, since that makes the shape.
func compress(c *call) {
	condition := c.mustKnow(1, "the condition")
	v := c.arg(0)
	axis, n := 0, product(c.shape(0))
	if c.node.Attr("axis") == nil {
		v = c.reshape(v, n)
	} else {
		axis = c.axis(c.int("axis", 0), c.rank(0))
		n = c.shape(0)[axis]
	}
	var index []int64
	for i := range min(condition.Len(), n) {
		if condition.Elem(i) != 0 {
			index = append(index, int64(i))
		}
	}
	c.set(0, c.gatherAlong(v, axis, index))
}
