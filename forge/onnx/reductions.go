package onnx

import (
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// axesSince is the version from which a reduction takes its axes as an operand.
const axesSince = 18

var _ = register(map[string]operator{
	"ReduceSum": {1, reduceSum}, "ReduceMean": {1, reduceBy("mean")}, "ReduceMax": {1, extreme("max")}, "ReduceMin": {1, extreme("min")},
	"ReduceProd": {1, reduceBy("prod")}, "ReduceL1": {1, reduceL1}, "ReduceL2": {1, reduceL2}, "ReduceSumSquare": {1, reduceSumSquare},
	"ReduceLogSum": {1, reduceLogSum}, "ReduceLogSumExp": {1, reduceLogSumExp},
	"ArgMax": {1, arg("argmax")}, "ArgMin": {1, arg("argmin")}, "TopK": {1, topK}, "CumSum": {11, cumSum}, "Hardmax": {1, hardmax},
})

// reduction reduces a value over the axes of the node.
type reduction func(name string, v *ir.Value) *ir.Value

// reduction reads the axes, which are operand 1 from a version on. ok is false
// when there are none and the operand passes as it is.
func (c *call) reduction(since int64) (reduce reduction, ok bool) {
	axes, given := c.intsAt("axes", since, 1)
	attrs := ir.Attrs{"keepdims": c.flag("keepdims", true)}
	if c.flag("noop_with_empty_axes", false) && len(axes) == 0 {
		return nil, false
	}
	if given && len(axes) > 0 {
		attrs["axes"] = c.Axes(axes, c.rank(0))
	}
	return func(name string, v *ir.Value) *ir.Value { return c.Op(name, attrs, v) }, true
}

// reduceWith imports a reduction as a formula.
func reduceWith(since int64, formula func(c *call, x *ir.Value, reduce reduction) *ir.Value) func(*call) {
	return func(c *call) {
		reduce, ok := c.reduction(since)
		if !ok {
			c.pass(0)
			return
		}
		c.set(0, formula(c, c.arg(0), reduce))
	}
}

func reduceBy(name string) func(*call) {
	return reduceWith(axesSince, func(_ *call, x *ir.Value, reduce reduction) *ir.Value { return reduce(name, x) })
}

// extreme also takes bools, as numbers: true is the larger one.
func extreme(name string) func(*call) {
	return reduceWith(axesSince, func(c *call, x *ir.Value, reduce reduction) *ir.Value {
		if x.Spec.DType != tensor.Bool {
			return reduce(name, x)
		}
		return c.Cast(reduce(name, c.Cast(x, tensor.I32)), tensor.Bool)
	})
}

var (
	reduceSum = reduceWith(13, func(_ *call, x *ir.Value, reduce reduction) *ir.Value { return reduce("sum", x) })
	reduceL1  = reduceWith(axesSince, func(c *call, x *ir.Value, reduce reduction) *ir.Value {
		return reduce("sum", c.Op("abs", nil, x))
	})
	reduceL2 = reduceWith(axesSince, func(c *call, x *ir.Value, reduce reduction) *ir.Value {
		return c.Op("sqrt", nil, reduce("sum", c.Mul(x, x)))
	})
	reduceSumSquare = reduceWith(axesSince, func(c *call, x *ir.Value, reduce reduction) *ir.Value {
		return reduce("sum", c.Mul(x, x))
	})
	reduceLogSum = reduceWith(axesSince, func(c *call, x *ir.Value, reduce reduction) *ir.Value {
		return c.Op("log", nil, reduce("sum", x))
	})
)

// reduceLogSumExp takes the largest element out, so that nothing overflows.
func reduceLogSumExp(c *call) {
	reduce, ok := c.reduction(axesSince)
	if !ok {
		c.pass(0)
		return
	}
	x := c.arg(0)
	top := reduce("max", x)
	spread := top
	if !c.flag("keepdims", true) {
		axes, given := c.intsAt("axes", axesSince, 1)
		attrs := ir.Attrs{"keepdims": true}
		if given && len(axes) > 0 {
			attrs["axes"] = c.Axes(axes, c.rank(0))
		}
		spread = c.Op("max", attrs, x)
	}
	sum := reduce("sum", c.Op("exp", nil, c.Sub(x, spread)))
	c.set(0, c.Add(top, c.Op("log", nil, sum)))
}

// arg finds the first of equals, or the last by searching from the end.
func arg(name string) func(*call) {
	return func(c *call) {
		x := c.arg(0)
		axis := c.Axis(c.int("axis", 0), c.rank(0))
		n := c.shape(0)[axis]
		last := c.flag("select_last_index", false)
		if last {
			x = c.Op("narrow", ir.Attrs{"axis": axis, "start": n - 1, "length": n, "step": -1}, x)
		}
		at := c.Op(name, ir.Attrs{"axis": axis, "keepdims": c.flag("keepdims", true)}, x)
		if last {
			at = c.Sub(c.Number(at, float64(n-1)), at)
		}
		c.set(0, at)
	}
}

func topK(c *call) {
	k := c.int("k", 0)
	if c.opset >= 10 {
		k = c.intOf(1, "the k")
	}
	axis := c.Axis(c.int("axis", -1), c.rank(0))
	out := c.Ops("top_k", ir.Attrs{"k": k, "axis": axis, "largest": c.flag("largest", true)}, c.arg(0))
	c.set(0, out[0])
	c.set(1, out[1])
}

func cumSum(c *call) {
	axis := c.Axis(c.intOf(1, "the axis"), c.rank(0))
	c.set(0, c.Op("cumsum", ir.Attrs{"axis": axis, "exclusive": c.flag("exclusive", false), "reverse": c.flag("reverse", false)}, c.arg(0)))
}

// lastAxisSince is the version from which softmax and its like work along one axis;
// before it they flatten the operand to a matrix at the axis.
const lastAxisSince = 13

// alongAxis applies f to rows: along the axis, or before version 13 over all
// dimensions from it on.
func (c *call) alongAxis(f func(v *ir.Value, axis int) *ir.Value) {
	x, shape := c.arg(0), c.shape(0)
	if c.opset >= lastAxisSince {
		c.set(0, f(x, c.Axis(c.int("axis", -1), len(shape))))
		return
	}
	axis := c.Axis(c.int("axis", 1), len(shape)+1)
	flat := c.Reshape(x, formula.Product(shape[:axis]), formula.Product(shape[axis:]))
	c.set(0, c.Reshape(f(flat, 1), shape...))
}

// hardmax is 1 at the first largest element and 0 elsewhere.
func hardmax(c *call) {
	c.alongAxis(func(v *ir.Value, axis int) *ir.Value {
		at := c.Op("argmax", ir.Attrs{"axis": axis, "keepdims": true}, v)
		n := v.Spec.Shape[axis]
		numbers := c.Reshape(c.iota(n, tensor.I64), c.shapeAlong(axis, v.Spec.Rank(), n)...)
		return c.Cast(c.Op("eq", nil, at, numbers), v.Spec.DType)
	})
}

// iota is the constant 0 … n-1.
func (c *call) iota(n int, dtype tensor.DType) *ir.Value {
	t, err := tensor.Zeros(dtype, c.room(n))
	c.Check(err)
	for i := range n {
		t.SetElem(i, float64(i))
	}
	return c.Constant(t, nil)
}
