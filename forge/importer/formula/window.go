package formula

import (
	"slices"

	"forgekernel/forge/ir"
)

// Window is how a convolution or pooling looks at its spatial dimensions: one entry
// of each list for each of them.
type Window struct {
	In, Kernel, Stride, Dilation []int
	Low, High                    []int // padding
	// Extra is what rounding the number of windows up adds to High. It is beyond
	// the padding: an average does not count it.
	Extra []int
}

// MaxWindow bounds kernels, steps, dilations and padding.
const MaxWindow = 1 << 16

// Slide makes the window over the spatial dimensions of x [N,C,…] with equal padding
// on both sides.
func (f Builder) Slide(x *ir.Value, kernel, stride, padding, dilation []int, roundUp bool) *Window {
	if x.Spec.Rank() < 3 {
		f.Fail("the operand %v has no spatial dimensions", x.Spec)
	}
	in := x.Spec.Shape[2:]
	n := len(in)
	for _, list := range [][]int{kernel, stride, dilation} {
		if len(list) != n || slices.Min(list) < 1 || slices.Max(list) > MaxWindow {
			f.Fail("a window of %v with steps of %v and dilations of %v for %d spatial dimensions", kernel, stride, dilation, n)
		}
	}
	if len(padding) != n || slices.Min(padding) < 0 || slices.Max(padding) > MaxWindow {
		f.Fail("padding of %v for %d spatial dimensions", padding, n)
	}
	w := &Window{In: in, Kernel: kernel, Stride: stride, Dilation: dilation, Low: padding, High: slices.Clone(padding), Extra: make([]int, n)}
	f.Fits(w)
	if roundUp {
		w.RoundUp()
	}
	return w
}

// Fits ends the import unless the window fits its operand with the padding.
func (f Builder) Fits(w *Window) {
	n := len(w.In)
	if len(w.Kernel) != n || slices.Min(w.Kernel) < 1 {
		f.Fail("a window of %v for %d spatial dimensions", w.Kernel, n)
	}
	for i := range n {
		if w.padded(i) < w.Span(i) {
			f.Fail("a window of %d does not fit dimension %d, %d long with padding", w.Span(i), i, w.padded(i))
		}
	}
}

// Span is how many elements a window reaches over.
func (w *Window) Span(i int) int { return (w.Kernel[i]-1)*w.Dilation[i] + 1 }

func (w *Window) padded(i int) int { return w.In[i] + w.Low[i] + w.High[i] + w.Extra[i] }

// Count is the number of windows along a dimension.
func (w *Window) Count(i int) int { return (w.padded(i)-w.Span(i))/w.Stride[i] + 1 }

// RoundUp lets a last window reach beyond the padding, unless it would begin there.
func (w *Window) RoundUp() {
	for i := range w.In {
		rest := (w.padded(i) - w.Span(i)) % w.Stride[i]
		begins := w.padded(i) - w.Span(i) - rest + w.Stride[i]
		if rest > 0 && begins < w.In[i]+w.Low[i] {
			w.Extra[i] = w.Stride[i] - rest
		}
	}
}

// thin reports whether all windows lie in one column. Its elements are made one row,
// along which backends work in vectors.
func (w *Window) thin() bool {
	return len(w.In) == 2 && w.In[1] == 1 && w.Kernel[1] == 1 && w.Low[1] == 0 && w.High[1] == 0 && w.Extra[1] == 0
}

// Flat is a window with dimensions of length 1 in front until it has two.
func (w *Window) Flat() *Window {
	f := &Window{}
	pad := 2 - len(w.In)
	widen := func(list []int, v int) []int { return append(slices.Repeat([]int{v}, pad), list...) }
	f.In, f.Kernel, f.Stride, f.Dilation = widen(w.In, 1), widen(w.Kernel, 1), widen(w.Stride, 1), widen(w.Dilation, 1)
	f.Low, f.High, f.Extra = widen(w.Low, 0), widen(w.High, 0), widen(w.Extra, 0)
	return f
}

// part is the window over some of its dimensions.
func (w *Window) part(from, to int) *Window {
	return &Window{
		w.In[from:to], w.Kernel[from:to], w.Stride[from:to], w.Dilation[from:to], w.Low[from:to], w.High[from:to], w.Extra[from:to],
	}
}

// attrs are those of the two-dimensional operators.
func (w *Window) attrs() ir.Attrs {
	return ir.Attrs{
		"stride": Int64s(w.Stride), "dilation": Int64s(w.Dilation),
		"padding": []int64{int64(w.Low[0]), int64(w.Low[1]), int64(w.High[0] + w.Extra[0]), int64(w.High[1] + w.Extra[1])},
	}
}
