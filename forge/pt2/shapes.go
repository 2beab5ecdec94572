package pt2

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = registerViews(map[string]func(*call){
	"aten.view.default": view("size"), "aten.reshape.default": view("shape"), "aten._unsafe_view.default": view("size"), "aten.view_copy.default": view("size"),
	"aten._reshape_alias.default": view("size"), "aten.view_as.default": viewAs, "aten.reshape_as.default": viewAs,
	"aten.flatten.using_ints": flatten, "aten.unflatten.int": unflatten, "aten.permute.default": permute, "aten.transpose.int": transpose, "aten.t.default": t,
	"aten.numpy_T.default": reverse, "aten.swapaxes.default": transpose, "aten.movedim.int": movedim,
	"aten.expand.default": expand, "aten.expand_as.default": func(c *call) { c.set(0, c.Expand(c.tensor("self"), c.value("other").shape()...)) },
	"aten.broadcast_to.default": expand,
	"aten.squeeze.dim":          squeeze("dim"), "aten.squeeze.dims": squeeze("dim"), "aten.squeeze.default": squeeze(""), "aten.unsqueeze.default": unsqueeze,
	"aten.cat.default": cat, "aten.concat.default": cat, "aten.stack.default": stack,
	"aten.split.Tensor": split, "aten.split.sizes": split, "aten.split_with_sizes.default": split, "aten.chunk.default": chunk, "aten.unbind.int": unbind, "aten.tensor_split.sections": tensorSplit,
	"aten.narrow.default": narrow, "aten.select.int": selectAt, "aten.slice.Tensor": slice,
})

func view(name string) func(*call) {
	return func(c *call) {
		x := c.tensor("self")
		c.must(name)
		shape, err := tensor.ResolveShape(x.Spec.Elements(), c.signed(c.ints(name)))
		c.Check(err)
		c.set(0, c.Reshape(x, shape...))
	}
}

// signed are lengths, or -1.
func (c *call) signed(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		if n < -1 || n > tensor.MaxElements {
			c.Fail("%d is no length", n)
		}
		out[i] = int(n)
	}
	return out
}

func viewAs(c *call) { c.set(0, c.Reshape(c.tensor("self"), c.value("other").shape()...)) }

func flatten(c *call) {
	x := c.tensor("self")
	shape := x.Spec.Shape
	if len(shape) == 0 {
		c.set(0, c.Reshape(x, 1))
		return
	}
	from, to := c.axis("start_dim", 0, len(shape)), c.axis("end_dim", -1, len(shape))
	if from > to {
		c.Fail("dimensions %d to %d", from, to)
	}
	c.set(0, c.Reshape(x, slices.Concat(shape[:from], []int{formula.Product(shape[from : to+1])}, shape[to+1:])...))
}

func unflatten(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", 0, x.Spec.Rank())
	sizes, err := tensor.ResolveShape(x.Spec.Shape[axis], c.signed(c.ints("sizes")))
	c.Check(err)
	c.set(0, c.Reshape(x, slices.Concat(x.Spec.Shape[:axis], sizes, x.Spec.Shape[axis+1:])...))
}

func permute(c *call) {
	x := c.tensor("self")
	dims := c.ints("dims")
	if len(dims) != x.Spec.Rank() {
		c.Fail("%d dimensions for %v", len(dims), x.Spec)
	}
	c.Axes(dims, len(dims))
	perm := make([]int, len(dims))
	for i, d := range dims {
		perm[i] = c.Axis(d, len(dims))
	}
	c.set(0, c.Transpose(x, perm...))
}

func transpose(c *call) {
	x := c.tensor("self")
	first, second := "dim0", "dim1"
	if c.has("axis0") {
		first, second = "axis0", "axis1"
	}
	if x.Spec.Rank() == 0 {
		c.out[0] = c.value("self")
		return
	}
	c.set(0, c.Swap(x, c.axis(first, 0, x.Spec.Rank()), c.axis(second, 0, x.Spec.Rank())))
}

func t(c *call) {
	if x := c.tensor("self"); x.Spec.Rank() == 2 {
		c.set(0, c.Swap(x, 0, 1))
		return
	}
	c.out[0] = c.value("self")
}

func reverse(c *call) { c.set(0, c.Op("transpose", nil, c.tensor("self"))) }

func movedim(c *call) {
	x := c.tensor("self")
	from, to := c.axis("source", 0, x.Spec.Rank()), c.axis("destination", 0, x.Spec.Rank())
	var perm []int
	for i := range x.Spec.Rank() {
		if i != from {
			perm = append(perm, i)
		}
	}
	c.set(0, c.Transpose(x, slices.Insert(perm, to, from)...))
}

// expand keeps a length where -1 stands.
func expand(c *call) {
	x := c.tensor("self")
	shape := c.signed(c.ints("size"))
	before := len(shape) - x.Spec.Rank()
	if before < 0 {
		c.Fail("%v does not expand to %d dimensions", x.Spec, len(shape))
	}
	for i, n := range shape {
		if n == -1 && i >= before {
			shape[i] = x.Spec.Shape[i-before]
		}
	}
	c.set(0, c.Expand(x, shape...))
}

// squeeze leaves dimensions out that are 1 long, all or those that are named.
func squeeze(name string) func(*call) {
	return func(c *call) {
		x := c.tensor("self")
		rank := x.Spec.Rank()
		var axes []int64
		if name != "" && rank > 0 {
			axes = c.Axes(c.ints(name), rank)
		} else if name != "" {
			c.ints(name)
		}
		var kept []int
		for i, d := range x.Spec.Shape {
			if d != 1 || name != "" && !slices.Contains(axes, int64(i)) {
				kept = append(kept, d)
			}
		}
		c.set(0, c.Reshape(x, kept...))
	}
}

func unsqueeze(c *call) {
	x := c.tensor("self")
	c.set(0, c.widen(x, c.axis("dim", 0, x.Spec.Rank()+1)))
}

// widen inserts a dimension of length 1.
func (c *call) widen(x *ir.Value, axis int) *ir.Value {
	return c.Reshape(x, slices.Insert(slices.Clone(x.Spec.Shape), axis, 1)...)
}

// cat ignores empty vectors, as PyTorch does, and promotes types.
func cat(c *call) {
	var list []*ir.Value
	var types []operand
	for _, v := range c.allTensors("tensors") {
		types = append(types, operand{tensor: v})
		if !slices.Equal(v.Spec.Shape, []int{0}) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		list = []*ir.Value{types[0].tensor}
	}
	dtype := common(types...)
	for i, v := range list {
		list[i] = c.Cast(v, dtype)
	}
	axis := c.axis("dim", 0, list[0].Spec.Rank())
	if len(list) == 1 {
		c.set(0, list[0])
		return
	}
	c.set(0, c.Op("concat", ir.Attrs{"axis": axis}, list...))
}

func stack(c *call) {
	list := c.allTensors("tensors")
	axis := c.axis("dim", 0, list[0].Spec.Rank()+1)
	for i, v := range list {
		list[i] = c.widen(v, axis)
	}
	if len(list) == 1 {
		c.set(0, list[0])
		return
	}
	c.set(0, c.Op("concat", ir.Attrs{"axis": axis}, list...))
}

// pieces sets the results to consecutive pieces along an axis.
func (c *call) pieces(x *ir.Value, axis int, sizes []int64) {
	if len(sizes) != len(c.out) {
		c.Fail("%d pieces for %d results", len(sizes), len(c.out))
	}
	if len(sizes) == 1 {
		c.set(0, x)
		return
	}
	for i, v := range c.Ops("split", ir.Attrs{"axis": axis, "sizes": sizes}, x) {
		c.set(i, v)
	}
}

// every cuts n into pieces of one size, the last of which may be smaller.
func (c *call) every(n int, size int64) []int64 {
	if size < 0 || size == 0 && n > 0 || size > 0 && (int64(n)+size-1)/size > int64(len(c.out)) {
		c.Fail("pieces of %d of %d elements for %d results", size, n, len(c.out))
	}
	var sizes []int64
	for rest := int64(n); rest > 0 || len(sizes) == 0; rest -= size {
		sizes = append(sizes, min(rest, size))
	}
	return sizes
}

func split(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", 0, x.Spec.Rank())
	switch name := "split_sizes"; {
	case c.target() == "aten.split.Tensor":
		c.pieces(x, axis, c.every(x.Spec.Shape[axis], c.mustInt("split_size")))
	default:
		if !c.has(name) {
			name = "split_size"
		}
		c.pieces(x, axis, c.ints(name))
	}
}

func chunk(c *call) {
	x := c.tensor("self")
	axis, parts := c.axis("dim", 0, x.Spec.Rank()), c.mustInt("chunks")
	if parts < 1 {
		c.Fail("%d chunks", parts)
	}
	n := x.Spec.Shape[axis]
	c.pieces(x, axis, c.every(n, (int64(n)+parts-1)/parts))
}

// tensorSplit makes the first pieces one longer when the parts are not equal.
func tensorSplit(c *call) {
	x := c.tensor("self")
	axis, parts := c.axis("dim", 0, x.Spec.Rank()), c.mustInt("sections")
	if parts < 1 || parts > int64(len(c.out)) {
		c.Fail("%d sections for %d results", parts, len(c.out))
	}
	n := int64(x.Spec.Shape[axis])
	sizes := make([]int64, parts)
	for i := range sizes {
		sizes[i] = n / parts
		if int64(i) < n%parts {
			sizes[i]++
		}
	}
	c.pieces(x, axis, sizes)
}

func unbind(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", 0, x.Spec.Rank())
	if x.Spec.Shape[axis] != len(c.out) {
		c.Fail("%d slices for %d results", x.Spec.Shape[axis], len(c.out))
	}
	for i := range c.out {
		c.set(i, c.at(x, axis, int64(i)))
	}
}

// at is a slice without the dimension of the axis.
func (c *call) at(x *ir.Value, axis int, i int64) *ir.Value {
	s := c.Narrow(x, axis, c.Axis(i, x.Spec.Shape[axis]), 1)
	return c.Reshape(s, slices.Delete(slices.Clone(s.Spec.Shape), axis, axis+1)...)
}

func selectAt(c *call) {
	x := c.tensor("self")
	c.set(0, c.at(x, c.axis("dim", 0, x.Spec.Rank()), c.mustInt("index")))
}

func narrow(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", 0, x.Spec.Rank())
	n, start, length := int64(x.Spec.Shape[axis]), c.mustInt("start"), c.mustInt("length")
	if start < 0 {
		start += n
	}
	if start < 0 || length < 0 || start > n || length > n-start {
		c.Fail("%d elements from %d on of %d", length, start, n)
	}
	c.set(0, c.Narrow(x, axis, int(start), int(length)))
}

func slice(c *call) {
	x := c.tensor("self")
	axis := c.axis("dim", 0, x.Spec.Rank())
	start, end, step := c.int("start", 0), c.int("end", int64(x.Spec.Shape[axis])), c.int("step", 1)
	if step < 1 {
		c.Fail("a step of %d", step)
	}
	c.set(0, c.Slice(x, axis, start, end, step))
}
