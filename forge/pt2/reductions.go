package pt2

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.sum.default": reduce("sum"), "aten.sum.dim_IntList": reduce("sum"), "aten.mean.default": reduce("mean"), "aten.mean.dim": reduce("mean"),
	"aten.amax.default": reduce("max"), "aten.amin.default": reduce("min"), "aten.max.default": reduce("max"), "aten.min.default": reduce("min"),
	"aten.prod.default": reduce("prod"), "aten.prod.dim_int": reduce("prod"), "aten.any.default": anyOf, "aten.any.dim": anyOf, "aten.any.dims": anyOf, "aten.all.default": allOf, "aten.all.dim": allOf,
	"aten.max.dim": extreme("max", "argmax"), "aten.min.dim": extreme("min", "argmin"), "aten.argmax.default": arg("argmax"), "aten.argmin.default": arg("argmin"),
	"aten.topk.default": topK, "aten.sort.default": sortAll, "aten.argsort.default": argSort, "aten.cumsum.default": cumSum,
	"aten.var.correction": variance(false), "aten.var.dim": variance(false), "aten.std.correction": variance(true), "aten.std.dim": variance(true), "aten.var_mean.correction": varMean, "aten.var_mean.dim": varMean,
	"aten.logsumexp.default": logSumExp, "aten.linalg_vector_norm.default": vectorNorm, "aten.norm.ScalarOpt_dim": norm, "aten.norm.Scalar": norm,
})

// over is the attributes of a reduction over the argument dim, all dimensions when
// there is none.
func (c *call) over(x *ir.Value) ir.Attrs {
	attrs := ir.Attrs{"keepdims": c.flag("keepdim", false)}
	if list := c.ints("dim"); len(list) > 0 && x.Spec.Rank() > 0 {
		attrs["axes"] = c.Axes(list, x.Spec.Rank())
	}
	return attrs
}

// kept are the attributes with the reduced dimensions kept.
func kept(attrs ir.Attrs) ir.Attrs {
	k := attrs.Clone()
	k["keepdims"] = true
	return k
}

// reduce adds integers and bools up as i64, as PyTorch does.
func reduce(name string) func(*call) {
	return func(c *call) {
		x := c.tensor("self")
		attrs := c.over(x)
		if dtype, ok := c.element("dtype"); ok {
			x = c.Cast(x, dtype)
		} else if (name == "sum" || name == "prod") && !x.Spec.DType.IsFloat() {
			x = c.Cast(x, tensor.I64)
		}
		if x.Spec.DType == tensor.Bool {
			c.set(0, c.Cast(c.Op(name, attrs, c.Cast(x, tensor.I32)), tensor.Bool))
			return
		}
		c.set(0, c.Op(name, attrs, x))
	}
}

func anyOf(c *call) {
	x := c.tensor("self")
	c.set(0, c.Compare("gt", c.Op("sum", c.over(x), c.Cast(c.truth(x), tensor.I64)), 0))
}

func allOf(c *call) {
	x := c.tensor("self")
	not := c.Op("not", nil, c.truth(x))
	c.set(0, c.Compare("eq", c.Op("sum", c.over(x), c.Cast(not, tensor.I64)), 0))
}

// searched is the operand and axis of a search. A scalar is a vector of one.
func (c *call) searched() (x *ir.Value, axis int) {
	x = c.tensor("self")
	if x.Spec.Rank() == 0 {
		x = c.Reshape(x, 1)
	}
	return x, c.axis("dim", -1, x.Spec.Rank())
}

// extreme gives the extreme element and where it is.
func extreme(reduce, search string) func(*call) {
	return func(c *call) {
		scalar := len(c.value("self").shape()) == 0
		x, axis := c.searched()
		keep := c.flag("keepdim", false) && !scalar
		c.set(0, c.Op(reduce, ir.Attrs{"axes": []int64{int64(axis)}, "keepdims": keep}, x))
		c.set(1, c.Op(search, ir.Attrs{"axis": axis, "keepdims": keep}, x))
	}
}

// arg searches the flat operand when there is no dim.
func arg(name string) func(*call) {
	return func(c *call) {
		x := c.tensor("self")
		keep := c.flag("keepdim", false)
		if c.has("dim") && x.Spec.Rank() > 0 {
			c.set(0, c.Op(name, ir.Attrs{"axis": c.axis("dim", -1, x.Spec.Rank()), "keepdims": keep}, x))
			return
		}
		shape := []int{}
		if keep {
			for range x.Spec.Rank() {
				shape = append(shape, 1)
			}
		}
		at := c.Op(name, ir.Attrs{"axis": 0}, c.Reshape(x, x.Spec.Elements()))
		c.set(0, c.Reshape(at, shape...))
	}
}

func topK(c *call) {
	x, axis := c.searched()
	out := c.Ops("top_k", ir.Attrs{"k": c.mustInt("k"), "axis": axis, "largest": c.flag("largest", true)}, x)
	c.set(0, out[0])
	c.set(1, out[1])
}

// ordered sorts all elements; of equals the first comes first.
func (c *call) ordered() []*ir.Value {
	x, axis := c.searched()
	return c.Ops("top_k", ir.Attrs{"k": x.Spec.Shape[axis], "axis": axis, "largest": c.flag("descending", false)}, x)
}

func sortAll(c *call) {
	out := c.ordered()
	c.set(0, out[0])
	c.set(1, out[1])
}

func argSort(c *call) { c.set(0, c.ordered()[1]) }

func cumSum(c *call) {
	x, axis := c.searched()
	shape := c.value("self").shape()
	switch dtype, ok := c.element("dtype"); {
	case ok:
		x = c.Cast(x, dtype)
	case !x.Spec.DType.IsFloat():
		x = c.Cast(x, tensor.I64)
	}
	c.set(0, c.Reshape(c.Op("cumsum", ir.Attrs{"axis": axis}, x), shape...))
}

// spread is the variance, the mean and how many elements each has.
func (c *call) spread() (variance, mean *ir.Value) {
	x := c.tensor("self")
	attrs := c.over(x)
	correction := 1.0
	switch {
	case c.has("correction"):
		correction = c.float("correction", 1)
	case !c.flag("unbiased", true):
		correction = 0
	}
	mean = c.Op("mean", kept(attrs), x)
	centred := c.Sub(x, mean)
	variance = c.Op("mean", attrs, c.Mul(centred, centred))
	n := float64(x.Spec.Elements()) / float64(max(1, variance.Spec.Elements()))
	if correction != 0 {
		variance = c.Scale(variance, n/max(0, n-correction))
	}
	return variance, c.Reshape(mean, variance.Spec.Shape...)
}

func variance(root bool) func(*call) {
	return func(c *call) {
		v, _ := c.spread()
		if root {
			v = c.Op("sqrt", nil, v)
		}
		c.set(0, v)
	}
}

func varMean(c *call) {
	v, m := c.spread()
	c.set(0, v)
	c.set(1, m)
}

// logSumExp takes the largest element out, so that nothing overflows.
func logSumExp(c *call) {
	x := c.tensor("self")
	attrs := c.over(x)
	top := c.Op("max", kept(attrs), x)
	sum := c.Op("sum", attrs, c.Op("exp", nil, c.Sub(x, top)))
	c.set(0, c.Add(c.Reshape(top, sum.Spec.Shape...), c.Op("log", nil, sum)))
}

func vectorNorm(c *call) { c.norm(c.float("ord", 2)) }
func norm(c *call)       { c.norm(c.float("p", 2)) }

func (c *call) norm(p float64) {
	x := c.castTo("dtype", c.tensor("self"))
	attrs := c.over(x)
	switch p {
	case 1:
		c.set(0, c.Op("sum", attrs, c.Op("abs", nil, x)))
	case 2:
		c.set(0, c.Op("sqrt", nil, c.Op("sum", attrs, c.Mul(x, x))))
	default:
		c.refusef("a norm of order %v", p)
	}
}
