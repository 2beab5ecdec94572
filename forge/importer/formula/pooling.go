package formula

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// MaxPool pools one pair of dimensions after another, which maxima allow.
func (f Builder) MaxPool(x *ir.Value, w *Window) *ir.Value {
	dtype := x.Spec.DType
	if !dtype.IsFloat() {
		x = f.Cast(x, tensor.F64)
	}
	v := f.poolPairs(x, w, func(x *ir.Value, w *Window) *ir.Value {
		attrs := w.attrs()
		attrs["kernel"] = Int64s(w.Kernel)
		return f.Op("max_pool2d", attrs, x)
	})
	return f.Cast(v, dtype)
}

// poolPairs applies a two-dimensional pooling to the last two dimensions, then to
// the two before them, and so on.
func (f Builder) poolPairs(x *ir.Value, w *Window, pool func(x *ir.Value, w *Window) *ir.Value) *ir.Value {
	if len(w.In) == 2 {
		return pool(x, w)
	}
	shape := slices.Clone(x.Spec.Shape)
	for to := len(w.In); to > 0; to -= 2 {
		from := max(0, to-2)
		flat := w.part(from, to).Flat()
		outer, inner := Product(shape[:2+from]), Product(shape[2+to:])
		v := f.Reshape(x, outer, flat.In[0], flat.In[1], inner)
		v = f.Transpose(v, 0, 3, 1, 2)
		v = pool(v, flat)
		h, b := v.Spec.Shape[2], v.Spec.Shape[3]
		v = f.Transpose(v, 0, 2, 3, 1)
		if to-from == 2 {
			shape[2+from] = h
		}
		shape[1+to] = b
		x = f.Reshape(v, shape...)
	}
	return x
}

// AveragePool divides sums by the number of elements that count, which is known for
// each window. A divisor that is not 0 takes the place of that number.
func (f Builder) AveragePool(x *ir.Value, w *Window, countPadding bool, divisor int) *ir.Value {
	if len(w.In) <= 2 && slices.Max(w.Dilation) == 1 && slices.Max(w.Extra) == 0 && divisor == 0 {
		return f.poolPairs(x, w, func(x *ir.Value, w *Window) *ir.Value {
			attrs := ir.Attrs{"kernel": Int64s(w.Kernel), "stride": Int64s(w.Stride), "padding": w.attrs()["padding"], "count_include_pad": countPadding}
			return f.Op("avg_pool2d", attrs, x)
		})
	}
	sums := f.SumPool(x, w)
	if divisor != 0 {
		return f.Div(sums, f.Number(sums, float64(divisor)))
	}
	f.room(slices.Concat(sums.Spec.Shape[2:], w.Kernel)...)
	counts, err := tensor.Zeros(x.Spec.DType, sums.Spec.Shape[2:]...)
	f.Check(err)
	strides := counts.Strides()
	for i := range counts.Len() {
		n := 1
		for d, step := range strides {
			n *= w.elements(d, i/step%counts.Dim(d), countPadding)
		}
		counts.SetElem(i, float64(n))
	}
	return f.Div(sums, f.Constant(counts, nil))
}

// elements is how many elements of window k along a dimension lie in the operand,
// or in it and its padding.
func (w *Window) elements(dim, k int, padding bool) int {
	from, to := 0, w.In[dim]
	if padding {
		from, to = -w.Low[dim], w.In[dim]+w.High[dim]
	}
	n := 0
	for t := range w.Kernel[dim] {
		if at := k*w.Stride[dim] - w.Low[dim] + t*w.Dilation[dim]; at >= from && at < to {
			n++
		}
	}
	return n
}

// SumPool adds up the elements of each window: a convolution of each channel with
// ones.
func (f Builder) SumPool(x *ir.Value, w *Window) *ir.Value {
	return f.poolPairs(x, w, func(x *ir.Value, w *Window) *ir.Value {
		s := x.Spec.Shape
		ones := f.Constant(tensor.Full(x.Spec.DType, 1, 1, 1, w.Kernel[0], w.Kernel[1]))
		v := f.Op("conv2d", w.attrs(), f.Reshape(x, s[0]*s[1], 1, s[2], s[3]), ones)
		return f.Reshape(v, s[0], s[1], v.Spec.Shape[2], v.Spec.Shape[3])
	})
}
