package op

import (
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
