package onnx

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// pad has pads and value in attributes before version 11. Negative pads cut.
func pad(c *call) {
	shape := c.shape(0)
	pads, value := c.ints("pads"), c.float("value", 0)
	if c.opset >= 11 {
		pads = c.intsOf(1, "the pads")
		if c.has(2) {
			value = c.scalarOf(2, "the padding value")
		}
	}
	axes := make([]int64, len(shape))
	for i := range axes {
		axes[i] = int64(i)
	}
	if c.opset >= 18 && c.has(3) {
		axes = c.intsOf(3, "the axes")
	}
	if len(pads) != 2*len(axes) {
		c.Fail("%d pads for %d axes", len(pads), len(axes))
	}
	low, high := make([]int64, len(shape)), make([]int64, len(shape))
	c.Axes(axes, len(shape))
	for _, p := range pads {
		if p < -math.MaxInt32 || p > math.MaxInt32 {
			c.Fail("%d is no padding", p)
		}
	}
	for i, a := range axes {
		at := c.Axis(a, len(shape))
		low[at], high[at] = pads[i], pads[len(axes)+i]
	}
	v := c.arg(0)
	switch mode := c.str("mode", "constant"); mode {
	case "constant":
		v = c.Pad(v, low, high, value)
	case "reflect", "edge", "wrap":
		for i := range shape {
			v = c.PadBy(v, i, low[i], high[i], mode)
		}
	default:
		c.oneOf("mode", mode, "constant", "reflect", "edge", "wrap")
	}
	if v == c.arg(0) {
		c.pass(0)
		return
	}
	c.set(0, v)
}

// trilu zeroes one side of a diagonal.
func trilu(c *call) {
	shape := c.shape(0)
	if len(shape) < 2 {
		c.Fail("the operand has rank %d; it needs 2 at least", len(shape))
	}
	k := int64(0)
	if c.has(1) {
		k = c.intOf(1, "the k")
	}
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	mask := make([]bool, c.roomFor(1, rows, columns))
	upper := c.flag("upper", true)
	for i := range mask {
		d := int64(i%columns) - int64(i/columns)
		mask[i] = upper && d >= k || !upper && d <= k
	}
	t, err := tensor.From([]int{rows, columns}, mask)
	x := c.arg(0)
	c.set(0, c.Where(c.Constant(t, err), x, c.zeroOf(x)))
}

// zeroOf is a scalar 0 or false of the type of v.
func (c *call) zeroOf(v *ir.Value) *ir.Value { return c.Constant(tensor.Full(v.Spec.DType, 0)) }

func eyeLike(c *call) {
	shape := c.shape(0)
	if len(shape) != 2 {
		c.Fail("the operand has rank %d; it must be a matrix", len(shape))
	}
	dtype := c.dtype(0)
	if a := c.attr("dtype", proto.IntType); a != nil {
		var err error
		dtype, err = dtypeOf(proto.DataType(a.I))
		c.Check(err)
	}
	c.room(shape...)
	t, err := tensor.Zeros(dtype, shape...)
	c.Check(err)
	k := int(c.int("k", 0))
	for i := range shape[0] {
		if j := i + k; j >= 0 && j < shape[1] {
			t.SetElem(i*shape[1]+j, 1)
		}
	}
	c.setKnown(0, t)
}

func rangeOf(c *call) {
	start, limit, delta := c.scalarOf(0, "the start"), c.scalarOf(1, "the limit"), c.scalarOf(2, "the delta")
	if delta == 0 {
		c.Fail("the delta is 0")
	}
	n := math.Max(0, math.Ceil((limit-start)/delta))
	if !(n <= tensor.MaxElements) {
		c.Fail("from %v to %v by %v there are too many numbers", start, limit, delta)
	}
	t, err := tensor.Zeros(c.dtype(0), c.room(int(n)))
	c.Check(err)
	for i := range t.Len() {
		t.SetElem(i, start+float64(i)*delta)
	}
	c.setKnown(0, t)
}

// reverseSequence reverses the first elements of each batch along the time axis: a
// gather within each line.
func reverseSequence(c *call) {
	lengths := c.intsOf(1, "the sequence lengths")
	x, shape := c.arg(0), c.shape(0)
	batch, time := c.Axis(c.int("batch_axis", 1), len(shape)), c.Axis(c.int("time_axis", 0), len(shape))
	if batch == time || len(lengths) != shape[batch] {
		c.Fail("%d lengths for a batch of %v", len(lengths), shape)
	}
	var parts []*ir.Value
	for b, n := range lengths {
		if n < 0 || n > int64(shape[time]) {
			c.Fail("length %d of %d", n, shape[time])
		}
		index := make([]int64, c.room(shape[time]))
		for i := range index {
			index[i] = int64(i)
		}
		slices.Reverse(index[:n])
		row := c.Op("narrow", ir.Attrs{"axis": batch, "start": b, "length": 1}, x)
		parts = append(parts, c.GatherAlong(row, time, index))
	}
	if len(parts) == 0 {
		c.pass(0)
		return
	}
	c.set(0, c.Op("concat", ir.Attrs{"axis": batch}, parts...))
}
