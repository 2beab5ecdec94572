package onnx

import (
	"cmp"
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/tensor"
)

// Operators whose results have shapes that depend on values: they need to know their
// operand.
var _ = register(map[string]operator{"NonZero": {9, nonZero}, "Unique": {11, unique}})

// nonZero lists the coordinates of elements that are not zero, one column for each.
func nonZero(c *call) {
	x := c.mustKnow(0, "the operand")
	var found []int
	for i := range x.Len() {
		if x.Elem(i) != 0 {
			found = append(found, i)
		}
	}
	rank := x.Rank()
	list := make([]int64, c.room(rank, len(found)))
	for d, stride := range tensor.Strides(x.Shape()) {
		for k, at := range found {
			list[d*len(found)+k] = int64(at / stride % x.Dim(d))
		}
	}
	c.setKnown(0, c.must(tensor.From([]int{rank, len(found)}, list)))
}

// must ends the import with the error of what made a tensor.
func (c *call) must(t *tensor.Tensor, err error) *tensor.Tensor {
	c.Check(err)
	return t
}

// unique lists different elements, or slices along an axis, in ascending order or
// that of their first places; with those places, the number of each element's, and
// how often each occurs.
func unique(c *call) {
	x := c.mustKnow(0, "the operand")
	axis, count, slice := 0, x.Len(), 1
	shape := []int{count}
	if c.node.Attr("axis") != nil {
		shape = slices.Clone(x.Shape())
		axis = c.Axis(c.int("axis", 0), len(shape))
		count = shape[axis]
		slice = formula.Product(shape) / max(1, count)
	}
	inner := formula.Product(shape[axis+1:])
	element := func(entry, k int) float64 { return x.Elem((k/inner*count+entry)*inner + k%inner) }
	compare := func(a, b int) int {
		for k := range slice {
			if d := cmp.Compare(element(a, k), element(b, k)); d != 0 {
				return d
			}
		}
		return 0
	}
	order := make([]int, c.room(count))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	var first, counts []int64
	inverse := make([]int64, count)
	for i, entry := range order {
		if i == 0 || compare(order[i-1], entry) != 0 {
			first, counts = append(first, int64(entry)), append(counts, 0)
		}
		inverse[entry] = int64(len(first) - 1)
		counts[len(first)-1]++
	}
	if !c.flag("sorted", true) {
		first, counts = byFirstPlace(first, counts, inverse)
	}
	shape[axis] = len(first)
	c.room(shape...)
	y := c.must(tensor.Zeros(x.DType(), shape...))
	for i := range y.Len() {
		o, entry, k := i/inner/max(1, len(first)), i/inner%max(1, len(first)), i%inner
		from := (o*count+int(first[entry]))*inner + k
		y.SetElem(i, x.Elem(from))
	}
	c.setKnown(0, y)
	for i, list := range [][]int64{first, inverse, counts} {
		c.setKnown(1+i, c.must(tensor.From([]int{len(list)}, list)))
	}
}

// byFirstPlace orders groups by where they begin; inverse is changed to match.
func byFirstPlace(first, counts, inverse []int64) (places, sizes []int64) {
	order := make([]int, len(first))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(first[a], first[b]) })
	number := make([]int64, len(first))
	for i, group := range order {
		places, sizes = append(places, first[group]), append(sizes, counts[group])
		number[group] = int64(i)
	}
	for i, group := range inverse {
		inverse[i] = number[group]
	}
	return places, sizes
}
