package op

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// byType picks the evaluation for the type of the first operand. Operands of
// f16 and bf16 are computed in float32 and each result is rounded once.
func byType(f32, f64 func(*ir.Call) error) func(*ir.Call) error {
	return func(c *ir.Call) error {
		if c.In[0].DType() == tensor.F64 {
			return f64(c)
		}
		return inFloat32(c, f32)
	}
}

// inFloat32 calls f with the half-precision tensors of a call replaced by
// float32 ones.
func inFloat32(c *ir.Call, f func(*ir.Call) error) error {
	wide := *c
	wide.In, wide.Out = slices.Clone(c.In), slices.Clone(c.Out)
	for i, t := range c.In {
		if !isHalf(t.DType()) {
			continue
		}
		x, err := tensor.Zeros(tensor.F32, t.Shape()...)
		if err != nil {
			return err
		}
		err = inBlocks(c, t.Len(), func(lo, hi int) { tensor.WidenHalf(t.DType(), x.Float32()[lo:hi], t.Bits16()[lo:hi]) })
		if err != nil {
			return err
		}
		wide.In[i] = x
	}
	for i, t := range c.Out {
		if !isHalf(t.DType()) {
			continue
		}
		var err error
		if wide.Out[i], err = tensor.Zeros(tensor.F32, t.Shape()...); err != nil {
			return err
		}
	}
	if err := f(&wide); err != nil {
		return err
	}
	for i, t := range c.Out {
		if !isHalf(t.DType()) {
			continue
		}
		err := inBlocks(c, t.Len(), func(lo, hi int) { tensor.NarrowHalf(t.DType(), t.Bits16()[lo:hi], wide.Out[i].Float32()[lo:hi]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// inBlocks calls f on ranges that cover 0 to n-1, each element of which costs a
// few operations.
func inBlocks(c *ir.Call, n int, f func(lo, hi int)) error {
	return parallel(c, n, 1<<14, func(lo, hi int) error {
		stop := stopper{call: c}
		return stop.blocks(hi-lo, 4, func(from, to int) { f(lo+from, lo+to) })
	})
}

// byNumber is [byType] for operators on integers too.
func byNumber(f32, f64, i64, i32 func(*ir.Call) error) func(*ir.Call) error {
	onFloats := byType(f32, f64)
	return func(c *ir.Call) error {
		switch c.In[0].DType() {
		case tensor.I64:
			return i64(c)
		case tensor.I32:
			return i32(c)
		}
		return onFloats(c)
	}
}
