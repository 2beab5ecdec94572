package pt2

import (
	"math"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.full.default": filled("size", "fill_value", 0), "aten.zeros.default": filled("size", "", 0), "aten.ones.default": filled("size", "", 1), "aten.empty.memory_format": filled("size", "", 0),
	"aten.full_like.default": filledLike("fill_value", 0), "aten.zeros_like.default": filledLike("", 0), "aten.ones_like.default": filledLike("", 1), "aten.empty_like.default": filledLike("", 0),
	"aten.new_full.default": filledNew("fill_value", 0), "aten.new_zeros.default": filledNew("", 0), "aten.new_ones.default": filledNew("", 1), "aten.new_empty.default": filledNew("", 0),
	"aten.fill.Scalar": fill, "aten.fill.Tensor": fill, "aten.copy.default": copyOf, "aten.scalar_tensor.default": scalarTensor,
	"aten.arange.default": arange, "aten.arange.start": arange, "aten.arange.start_step": arange, "aten.linspace.default": linspace, "aten.eye.default": eye, "aten.eye.m": eye,
	"prims.iota.default": countUp,
})

// constantOf is a tensor of one number. The operator expands a scalar, so that its
// size costs nothing.
func (c *call) constantOf(n *number, dtype tensor.DType, shape []int) {
	c.set(0, c.Op("expand", ir.Attrs{"shape": formula.Int64s(shape)}, c.literal(n, dtype)))
}

// fillWith is the number that an argument names, or a fixed one. Its type is that of
// the result unless that is given.
func (c *call) fillWith(name string, fixed float64) (n *number, dtype tensor.DType) {
	if name == "" {
		return real(fixed), tensor.F32
	}
	c.must(name)
	n = c.number(name)
	return n, n.tensor().DType()
}

func filled(size, value string, fixed float64) func(*call) {
	return func(c *call) {
		n, dtype := c.fillWith(value, fixed)
		if given, ok := c.element("dtype"); ok {
			dtype = given
		}
		c.constantOf(n, dtype, c.lengths(size))
	}
}

func filledLike(value string, fixed float64) func(*call) {
	return func(c *call) {
		like := c.value("self")
		n, _ := c.fillWith(value, fixed)
		c.constantOf(n, c.elementOr("dtype", like.dtype()), like.shape())
	}
}

func filledNew(value string, fixed float64) func(*call) {
	return func(c *call) {
		n, _ := c.fillWith(value, fixed)
		c.constantOf(n, c.elementOr("dtype", c.value("self").dtype()), c.lengths("size"))
	}
}

func (c *call) elementOr(name string, otherwise tensor.DType) tensor.DType {
	if dtype, ok := c.element(name); ok {
		return dtype
	}
	return otherwise
}

func fill(c *call) {
	like := c.value("self")
	v := c.as(c.either("value"), like.dtype())
	c.set(0, c.Op("expand", ir.Attrs{"shape": formula.Int64s(like.shape())}, v))
}

// copyOf is the source as the operand is: of its type and shape.
func copyOf(c *call) {
	like := c.value("self")
	c.set(0, c.Expand(c.Cast(c.tensor("src"), like.dtype()), like.shape()...))
}

func scalarTensor(c *call) {
	n := c.number("s")
	if n == nil {
		c.Fail("the argument s is missing")
	}
	c.set(0, c.literal(n, c.elementOr("dtype", tensor.F32)))
}

// MaxRange bounds the elements of a range, which are written out.
const MaxRange = MaxFold / 8

// arange counts from start up to, not including, end.
func arange(c *call) {
	end := c.number("end")
	if end == nil {
		c.Fail("the argument end is missing")
	}
	dtype, start, step := end.tensor().DType(), integer(0), integer(1)
	if n := c.number("start"); n != nil {
		start = n
	}
	if n := c.number("step"); n != nil {
		step = n
	}
	if start.kind == floatKind || step.kind == floatKind {
		dtype = tensor.F32
	}
	dtype = c.elementOr("dtype", dtype)
	by := step.float()
	count := math.Ceil((end.float() - start.float()) / by)
	if by == 0 || math.IsNaN(count) || count < 0 || count > MaxRange {
		c.Fail("a range from %v to %v by %v", start.float(), end.float(), by)
	}
	c.set(0, c.Iota(int(count), dtype, start.float(), by))
}

func countUp(c *call) {
	n := c.mustInt("length")
	if n < 0 || n > MaxRange {
		c.Fail("a range of %d elements", n)
	}
	c.set(0, c.Iota(int(n), c.elementOr("dtype", tensor.I64), c.float("start", 0), c.float("step", 1)))
}

func linspace(c *call) {
	n, start, end := c.mustInt("steps"), c.float("start", 0), c.float("end", 0)
	if n < 0 || n > MaxRange {
		c.Fail("a range of %d elements", n)
	}
	c.set(0, c.Iota(int(n), c.elementOr("dtype", tensor.F32), start, (end-start)/float64(max(1, n-1))))
}

func eye(c *call) {
	n := c.Lengths([]int64{c.mustInt("n")})[0]
	m := c.Lengths([]int64{c.int("m", int64(n))})[0]
	if n > MaxRange || m > MaxRange {
		c.Fail("%d rows and %d columns", n, m)
	}
	rows, columns := c.Reshape(c.Iota(n, tensor.I64, 0, 1), n, 1), c.Reshape(c.Iota(m, tensor.I64, 0, 1), 1, m)
	c.set(0, c.Cast(c.Op("eq", nil, rows, columns), c.elementOr("dtype", tensor.F32)))
}
