package formula

import (
	"slices"

	"forgekernel/forge/ir"
)

// Convolve works in any number of dimensions: one and two by conv2d, more by adding
// up convolutions over the slices of the first.
func (f Builder) Convolve(x, w, bias *ir.Value, win *Window, groups int) *ir.Value {
	if len(win.In) > 2 {
		return f.convolveSlices(x, w, bias, win, groups)
	}
	xs, ws := x.Spec.Shape, w.Spec.Shape
	flat := win.Flat()
	if win.thin() {
		flat = win.part(0, 1).Flat()
	}
	attrs := flat.attrs()
	attrs["groups"] = groups
	in := []*ir.Value{f.Reshape(x, xs[0], xs[1], flat.In[0], flat.In[1]), f.Reshape(w, ws[0], ws[1], flat.Kernel[0], flat.Kernel[1])}
	if bias != nil {
		in = append(in, bias)
	}
	v := f.Op("conv2d", attrs, in...)
	out := []int{xs[0], ws[0]}
	for i := range win.In {
		out = append(out, win.Count(i))
	}
	return f.Reshape(v, out...)
}

// convolveSlices makes the windows of the first spatial dimension images of their
// own: tap k of it sees every stride-th slice from k on.
func (f Builder) convolveSlices(x, w, bias *ir.Value, win *Window, groups int) *ir.Value {
	first, rest := win.part(0, 1), win.part(1, len(win.In))
	low, high := make([]int64, x.Spec.Rank()), make([]int64, x.Spec.Rank())
	low[2], high[2] = int64(first.Low[0]), int64(first.High[0]+first.Extra[0])
	x = f.Pad(x, low, high, 0)
	n, count := x.Spec.Shape[0], first.Count(0)
	var sum *ir.Value
	for k := range first.Kernel[0] {
		taken := f.Op("narrow", ir.Attrs{"axis": 2, "start": k * first.Dilation[0], "length": count, "step": first.Stride[0]}, x)
		s := taken.Spec.Shape
		perm := []int{0, 2, 1}
		for i := 3; i < len(s); i++ {
			perm = append(perm, i)
		}
		images := f.Reshape(f.Transpose(taken, perm...), append([]int{n * count, s[1]}, s[3:]...)...)
		kernel := f.Op("narrow", ir.Attrs{"axis": 2, "start": k, "length": 1}, w)
		ws := kernel.Spec.Shape
		v := f.Convolve(images, f.Reshape(kernel, append([]int{ws[0], ws[1]}, ws[3:]...)...), bias, rest, groups)
		bias = nil
		if sum == nil {
			sum = v
			continue
		}
		sum = f.Add(sum, v)
	}
	s := sum.Spec.Shape
	perm := []int{0, 2, 1}
	for i := 3; i <= len(s); i++ {
		perm = append(perm, i)
	}
	return f.Transpose(f.Reshape(sum, append([]int{n, count}, s[1:]...)...), perm...)
}

// ConvolveTransposed is the convolution of x, with zeros between its elements, with
// the kernel [in, out/groups, …] turned round; where results of neighbours lie side by
// side it is a product. The padding of the window cuts the
// result, which more lengthens.
func (f Builder) ConvolveTransposed(x, w, bias *ir.Value, win *Window, more []int, groups int) *ir.Value {
	xs, ws := x.Spec.Shape, w.Spec.Shape
	if len(ws) != len(xs) || len(xs) < 3 || groups < 1 || ws[0] != xs[1] || ws[0]%groups != 0 {
		f.Fail("the kernel %v with %d groups does not fit %v", w.Spec, groups, x.Spec)
	}
	if groups == 1 && win.tiles(more) {
		return f.tiled(x, w, bias)
	}
	n := len(xs) - 2
	low, high := make([]int64, n+2), make([]int64, n+2)
	for i := range n {
		x = f.spread(x, 2+i, win.Stride[i])
		w = f.Op("narrow", ir.Attrs{"axis": 2 + i, "start": ws[2+i] - 1, "length": ws[2+i], "step": -1}, w)
		low[2+i], high[2+i] = int64(win.Span(i)-1-win.Low[i]), int64(win.Span(i)-1-win.High[i]+more[i])
	}
	x = f.Pad(x, low, high, 0)
	split := f.Reshape(w, append([]int{groups, ws[0] / groups, ws[1]}, ws[2:]...)...)
	turned := f.Reshape(f.Swap(split, 1, 2), append([]int{groups * ws[1], ws[0] / groups}, ws[2:]...)...)
	ones, zeros := slices.Repeat([]int{1}, n), make([]int, n)
	plain := &Window{In: x.Spec.Shape[2:], Kernel: win.Kernel, Stride: ones, Dilation: win.Dilation, Low: zeros, High: zeros, Extra: zeros}
	f.Fits(plain)
	return f.Convolve(x, turned, bias, plain, groups)
}

// spread puts step-1 zeros between the elements along an axis.
func (f Builder) spread(v *ir.Value, axis, step int) *ir.Value {
	if step == 1 {
		return v
	}
	shape := v.Spec.Shape
	wide := slices.Insert(slices.Clone(shape), axis+1, 1)
	high := make([]int64, len(wide))
	high[axis+1] = int64(step - 1)
	v = f.Op("pad", ir.Attrs{"low": make([]int64, len(wide)), "high": high}, f.Reshape(v, wide...))
	merged := slices.Clone(shape)
	merged[axis] *= step
	v = f.Reshape(v, merged...)
	return f.Op("narrow", ir.Attrs{"axis": axis, "start": 0, "length": (shape[axis]-1)*step + 1}, v)
}

// tiles reports whether the results of neighbouring elements of a transposed
// convolution lie side by side.
func (w *Window) tiles(more []int) bool {
	for i, k := range w.Kernel {
		if w.Stride[i] != k || k > 1 && w.Dilation[i] > 1 || w.Low[i] != 0 || w.High[i] != 0 || more[i] != 0 {
			return false
		}
	}
	return true
}

// tiled is a transposed convolution whose kernel moves by its own size: every
// element becomes a tile, so that it is a product with all of the kernel, of which
// the elements are put in their places.
func (f Builder) tiled(x, w, bias *ir.Value) *ir.Value {
	xs, ws := x.Spec.Shape, w.Spec.Shape
	n, taps, pixels := len(xs)-2, Product(ws[2:]), Product(xs[2:])
	rows := ws[1] * taps
	kernel := f.Transpose(f.Reshape(w, ws[0], rows), 1, 0)
	in := []*ir.Value{f.Reshape(x, xs[0], xs[1], 1, pixels), f.Reshape(kernel, rows, ws[0], 1, 1)}
	if bias != nil {
		wide := f.Expand(f.Reshape(bias, ws[1], 1), ws[1], taps)
		in = append(in, f.Reshape(wide, rows))
	}
	v := f.Op("conv2d", nil, in...)
	split := slices.Concat([]int{xs[0], ws[1]}, ws[2:], xs[2:])
	perm, out := []int{0, 1}, []int{xs[0], ws[1]}
	for i := range n {
		perm, out = append(perm, 2+n+i, 2+i), append(out, xs[2+i]*ws[2+i])
	}
	return f.Reshape(f.Transpose(f.Reshape(v, split...), perm...), out...)
}
