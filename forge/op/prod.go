package op

import "forgekernel/forge/ir"

// prod is the reduction by multiplication; it begins with 1, also over nothing.
var prod = func() *ir.Op {
	o := reduction("prod", "The product over the axes, in order; 1 over no elements. Integers wrap around.", numbers,
		folds{multiplied[float32], multiplied[float64], multiplied[int64], multiplied[int32]})
	fold := o.Eval
	ones := byNumber(fill[float32](1), fill[float64](1), fill[int64](1), fill[int32](1))
	o.Eval = func(c *ir.Call) error {
		if c.In[0].Len() == 0 {
			return ones(c)
		}
		return fold(c)
	}
	return o
}()

func fill[T number](v T) func(*ir.Call) error {
	return func(c *ir.Call) error {
		out := data[T](c.Out[0])
		for i := range out {
			out[i] = v
		}
		return nil
	}
}

// multiplied is the product of at least one row.
func multiplied[T number](stop *stopper, dst, src []T, stride, lo, hi int) error {
	for j := range dst {
		dst[j] = 1
	}
	return stop.blocks(hi-lo, len(dst), func(from, to int) {
		for r := lo + from; r < lo+to; r++ {
			for j, v := range src[r*stride:][:len(dst)] {
				dst[j] *= v
			}
		}
	})
}
