package op

import (
	"slices"
	"sync"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// parallel calls f on consecutive ranges that cover 0 to n-1, on at most
// c.Workers goroutines and none for less than grain elements. The ranges
// depend on n, grain and the number of workers alone. It returns the error of
// the first range that failed.
func parallel(c *ir.Call, n, grain int, f func(lo, hi int) error) error {
	if n == 0 {
		return nil
	}
	parts := min(max(1, c.Workers), (n+grain-1)/grain)
	if parts == 1 {
		return f(0, n)
	}
	size := (n + parts - 1) / parts
	errs := make([]error, parts)
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { errs[i] = f(min(i*size, n), min((i+1)*size, n)) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// data is the storage of a tensor whose element type is known to be T.
func data[T number](t *tensor.Tensor) []T {
	var s any
	switch any(T(0)).(type) {
	case float32:
		s = t.Float32()
	case float64:
		s = t.Float64()
	case int64:
		s = t.Int64()
	default:
		s = t.Int32()
	}
	return s.([]T)
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
		var err error
		if wide.In[i], err = t.Convert(tensor.F32); err != nil {
			return err
		}
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
		if isHalf(t.DType()) {
			tensor.NarrowHalf(t.DType(), t.Bits16(), wide.Out[i].Float32())
		}
	}
	return nil
}

// stopper spreads the check of a context over work that is counted in
// operations, so that a cancelled kernel stops within about a millisecond.
type stopper struct {
	call *ir.Call
	left int
}

const opsPerCheck = 1 << 19

// did counts operations and now and then looks at the context.
func (s *stopper) did(ops int) error {
	s.left -= ops
	if s.left > 0 {
		return nil
	}
	s.left = opsPerCheck
	return s.call.Ctx.Err()
}

// blocks calls f on consecutive ranges that cover 0 to n-1, each element of
// which costs ops operations.
func (s *stopper) blocks(n, ops int, f func(lo, hi int)) error {
	for lo := 0; lo < n; lo += blockSize {
		hi := min(lo+blockSize, n)
		f(lo, hi)
		if err := s.did((hi - lo) * ops); err != nil {
			return err
		}
	}
	return nil
}
