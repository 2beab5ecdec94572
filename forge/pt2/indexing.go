package pt2

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.embedding.default": embedding, "aten.index_select.default": indexSelect, "aten.gather.default": gather, "aten.index.Tensor": index, "aten._unsafe_index.Tensor": index,
	"aten.scatter.src": scatter, "aten.scatter.value": scatter, "aten.scatter_add.default": scatterAdd, "aten.index_add.default": indexAdd, "aten.take_along_dim.default": takeAlong,
	"aten.slice_scatter.default": sliceScatter, "aten.select_scatter.default": selectScatter, "aten.index_put.default": indexPut, "aten.one_hot.default": oneHot,
})

func embedding(c *call) { c.set(0, c.Op("gather", nil, c.tensor("weight"), c.tensor("indices"))) }

func indexSelect(c *call) {
	x := c.tensor("self")
	at := c.tensor("index")
	c.set(0, c.Op("gather", ir.Attrs{"axis": c.axis("dim", 0, x.Spec.Rank())}, x, c.Reshape(at, at.Spec.Elements())))
}

// gather may have fewer indices than elements in other dimensions.
func gather(c *call) {
	x, at := c.tensor("self"), c.tensor("index")
	c.set(0, c.GatherElements(x, c.Cast(at, tensor.I64), c.axis("dim", 0, x.Spec.Rank())))
}

func takeAlong(c *call) {
	x, at := c.tensor("self"), c.tensor("indices")
	axis := c.axis("dim", 0, x.Spec.Rank())
	c.set(0, c.GatherElements(x, c.FromFront(at, x.Spec.Shape[axis]), axis))
}

// index picks by one index tensor for some dimensions, which broadcast to one
// another. The new dimensions stand where the indexed ones are if these are
// neighbours, and in front otherwise.
func index(c *call) {
	x := c.tensor("self")
	axes, places, shape, ok := c.places(x)
	if !ok {
		return
	}
	var perm []int
	for i := range x.Spec.Rank() {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	at := 0
	if axes[len(axes)-1]-axes[0] == len(axes)-1 {
		at = axes[0]
	}
	moved := c.Transpose(x, slices.Insert(slices.Clone(perm), at, axes...)...)
	s := moved.Spec.Shape
	n := formula.Product(s[at : at+len(axes)])
	flat := c.Reshape(moved, slices.Concat(s[:at], []int{n}, s[at+len(axes):])...)
	picked := c.Op("gather", ir.Attrs{"axis": at}, flat, c.Reshape(places, formula.Product(shape)))
	c.set(0, c.Reshape(picked, slices.Concat(s[:at], shape, s[at+len(axes):])...))
}

// places reads the argument indices: the dimensions that are indexed, and the places
// of the elements in these, merged.
func (c *call) places(x *ir.Value) (axes []int, places *ir.Value, shape []int, ok bool) {
	list := c.tensors("indices")
	if len(list) > x.Spec.Rank() {
		c.Fail("%d indices for %v", len(list), x.Spec)
	}
	for i, v := range list {
		if v == nil {
			continue
		}
		if v.Spec.DType == tensor.Bool {
			c.refuse("the shape of what a mask picks is known by a run only")
			return nil, nil, nil, false
		}
		axes = append(axes, i)
		n := x.Spec.Shape[i]
		v = c.FromFront(v, n)
		if places == nil {
			places = v
			continue
		}
		places = c.Add(c.Scale(places, float64(n)), v)
	}
	if places == nil {
		c.Fail("there are no indices")
	}
	return axes, places, places.Spec.Shape, true
}

func scatter(c *call) {
	x, at := c.tensor("self"), c.tensor("index")
	axis := c.axis("dim", 0, x.Spec.Rank())
	var updates *ir.Value
	if c.has("src") {
		updates = c.tensor("src")
		for i, n := range at.Spec.Shape {
			updates = c.Narrow(updates, i, 0, n)
		}
	} else {
		updates = c.Expand(c.as(c.either("value"), x.Spec.DType), at.Spec.Shape...)
	}
	c.set(0, c.Op("scatter", ir.Attrs{"axis": axis}, x, at, updates))
}

func scatterAdd(c *call) {
	x, at, updates := c.tensor("self"), c.tensor("index"), c.tensor("src")
	for i, n := range at.Spec.Shape {
		updates = c.Narrow(updates, i, 0, n)
	}
	c.set(0, c.Op("scatter", ir.Attrs{"axis": c.axis("dim", 0, x.Spec.Rank()), "reduce": "add"}, x, at, updates))
}

// indexAdd adds slices.
func indexAdd(c *call) {
	x, at, source := c.tensor("self"), c.tensor("index"), c.tensor("source")
	axis := c.axis("dim", 0, x.Spec.Rank())
	if alpha := c.float("alpha", 1); alpha != 1 {
		source = c.Scale(source, alpha)
	}
	c.set(0, c.Op("scatter", ir.Attrs{"axis": axis, "reduce": "add"}, x, c.column(at, axis, source.Spec.Shape), source))
}

// column repeats a vector of indices along an axis to a shape.
func (c *call) column(at *ir.Value, axis int, shape []int) *ir.Value {
	wide := slices.Repeat([]int{1}, len(shape))
	wide[axis] = at.Spec.Elements()
	return c.Expand(c.Reshape(at, wide...), shape...)
}

// sliceScatter replaces a slice.
func sliceScatter(c *call) {
	x, source := c.tensor("self"), c.tensor("src")
	axis := c.axis("dim", 0, x.Spec.Rank())
	n := int64(x.Spec.Shape[axis])
	start, end, step := c.int("start", 0), c.int("end", n), c.int("step", 1)
	if step < 1 {
		c.Fail("a step of %d", step)
	}
	at := c.Slice(c.Iota(int(n), tensor.I64, 0, 1), 0, start, end, step)
	if at.Spec.Elements() == int(n) && step == 1 {
		c.set(0, c.Expand(source, x.Spec.Shape...))
		return
	}
	c.set(0, c.Op("scatter", ir.Attrs{"axis": axis}, x, c.column(at, axis, source.Spec.Shape), source))
}

func selectScatter(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", 0, x.Spec.Rank())
	source := c.widen(c.tensor("src"), axis)
	i := c.Axis(c.mustInt("index"), x.Spec.Shape[axis])
	at := c.Constant(tensor.From([]int{1}, []int64{int64(i)}))
	c.set(0, c.Op("scatter", ir.Attrs{"axis": axis}, x, c.column(at, axis, source.Spec.Shape), source))
}

// indexPut updates the elements that indices of the first dimensions pick.
func indexPut(c *call) {
	x, values := c.tensor("self"), c.tensor("values")
	axes, places, shape, ok := c.places(x)
	switch {
	case !ok:
		return
	case axes[len(axes)-1] != len(axes)-1:
		c.refuse("indices of other than the first dimensions")
		return
	}
	s := x.Spec.Shape
	n, row := formula.Product(s[:len(axes)]), formula.Product(s[len(axes):])
	updates, count := c.Expand(values, slices.Concat(shape, s[len(axes):])...), formula.Product(shape)
	reduce := "none"
	if c.flag("accumulate", false) {
		reduce = "add"
	}
	at := c.Expand(c.Reshape(places, count, 1), count, row)
	v := c.Op("scatter", ir.Attrs{"axis": 0, "reduce": reduce}, c.Reshape(x, n, row), at, c.Reshape(updates, count, row))
	c.set(0, c.Reshape(v, s...))
}

// oneHot needs to know the number of classes.
func oneHot(c *call) {
	at, n := c.tensor("self"), c.int("num_classes", -1)
	if n < 0 || n > MaxRange {
		c.refuse("the number of classes depends on the data")
		return
	}
	hit := c.Op("eq", nil, c.widen(at, at.Spec.Rank()), c.Iota(int(n), at.Spec.DType, 0, 1))
	c.set(0, c.Cast(hit, tensor.I64))
}
