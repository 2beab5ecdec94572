package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

var kernelAttr = ir.AttrDecl{Name: "kernel", Kind: ir.IntsAttr, Required: true, Doc: "the size of the window, [h, w]"}

var poolStrideAttr = ir.AttrDecl{Name: "stride", Kind: ir.IntsAttr, Doc: "the steps of the window, [h, w]; the kernel when absent"}

var pools = []*ir.Op{
	{
		Name:      "max_pool2d",
		Doc:       "The largest pixel in a window that slides over images [N,C,H,W]; NaN if any is NaN. Padding takes no part, and no window may lie in it alone.",
		Class:     ir.Reduction,
		Operands:  []string{"x"},
		Types:     floats.String(),
		Attrs:     []ir.AttrDecl{kernelAttr, poolStrideAttr, dilationAttr, paddingAttr},
		Infer:     inferPool,
		Canonical: canonicalPool,
		Eval: byType(
			func(c *ir.Call) error { return pool(c, largestPixel[float32]) },
			func(c *ir.Call) error { return pool(c, largestPixel[float64]) },
		),
		FLOPs: ir.FLOPs{Doc: "h*w per output", Of: func(n *ir.Node) int64 { return poolTaps(n) * int64(n.Out[0].Spec.Elements()) }},
	},
	{
		Name:     "avg_pool2d",
		Doc:      "The mean of the pixels in a window that slides over images [N,C,H,W], summed row by row. Padding counts as zeros, or with count_include_pad=false takes no part; no window may lie in it alone.",
		Class:    ir.Reduction,
		Operands: []string{"x"},
		Types:    floats.String(),
		Attrs: []ir.AttrDecl{kernelAttr, poolStrideAttr, paddingAttr,
			{Name: "count_include_pad", Kind: ir.BoolAttr, Default: true, Doc: "divide by the size of the window also where it reaches into the padding"}},
		Infer:     inferPool,
		Canonical: canonicalPool,
		Eval: byType(
			func(c *ir.Call) error { return pool(c, meanPixel[float32](c.Node.Bool("count_include_pad"))) },
			func(c *ir.Call) error { return pool(c, meanPixel[float64](c.Node.Bool("count_include_pad"))) },
		),
		FLOPs: ir.FLOPs{Doc: "h*w + 1 per output", Of: func(n *ir.Node) int64 { return (poolTaps(n) + 1) * int64(n.Out[0].Spec.Elements()) }},
	},
}

// canonicalPool writes the padding of all sides, and leaves out a stride that is
// the kernel.
func canonicalPool(n *ir.Node) ir.Attrs {
	padded := &ir.Node{Op: n.Op, Attrs: canonicalPadding(n)}
	return withoutAttr(padded, "stride", slices.Equal(n.Ints("stride"), n.Ints("kernel")))
}

func poolTaps(n *ir.Node) int64 {
	k := n.Ints("kernel")
	return k[0] * k[1]
}

func inferPool(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := sameFloat(n)
	if err != nil {
		return nil, err
	}
	x := n.In[0].Spec.Shape
	if len(x) != 4 {
		return nil, fmt.Errorf("x [N,C,H,W] must have rank 4, not %d", len(x))
	}
	v, h, err := poolWindows(n, x)
	if err != nil {
		return nil, err
	}
	for _, w := range []window{v, h} {
		if err := w.checkOutputs(); err != nil {
			return nil, err
		}
	}
	return []ir.Spec{{DType: dtype, Shape: []int{x[0], x[1], v.out, h.out}}}, nil
}

func poolWindows(n *ir.Node, x []int) (v, h window, err error) {
	kernel := n.Ints("kernel")
	if len(kernel) != 2 {
		return v, h, fmt.Errorf("attribute kernel has %d numbers; [h, w] is needed", len(kernel))
	}
	taps := make([]int, 2)
	for i, k := range kernel {
		if k < 1 || k > maxTaps {
			return v, h, fmt.Errorf("attribute kernel has %d at index %d; windows are 1 to %d wide", k, i, maxTaps)
		}
		taps[i] = int(k)
	}
	return windows(n, x[2:], taps, kernel)
}

// maxTaps bounds the width of a window, so that counts of operations do not
// overflow.
const maxTaps = 1 << 14

// checkOutputs refuses an output that has no tap inside the image.
func (w window) checkOutputs() error {
	for o := range w.out {
		if lo, hi := w.inside(o); lo == hi {
			return fmt.Errorf("window %d lies in the padding alone: %d pixels, %d of padding before them", o, w.in, w.before)
		}
	}
	return nil
}

// pooling computes one result from the pixels of its window that exist, given in
// order and by the number that the whole window has.
type pooling[T float] func(pixels []T, window int) T

func pool[T float](c *ir.Call, f pooling[T]) error {
	x, out := c.In[0], data[T](c.Out[0])
	v, h, err := poolWindows(c.Node, x.Shape())
	if err != nil {
		return err
	}
	if len(out) == 0 {
		return nil
	}
	src := data[T](x)
	work := h.out * v.taps * h.taps
	return parallel(c, len(out)/h.out, max(1, 1<<14/work), func(lo, hi int) error {
		stop := stopper{call: c}
		pixels := make([]T, 0, min(v.taps, v.in)*min(h.taps, h.in))
		for r := lo; r < hi; r++ {
			plane := src[r/v.out*v.in*h.in:][:v.in*h.in]
			for j := range h.out {
				var err error
				if pixels, err = windowPixels(&stop, pixels[:0], plane, v, h, r%v.out, j); err != nil {
					return err
				}
				out[r*h.out+j] = f(pixels, v.taps*h.taps)
			}
		}
		return nil
	})
}

// windowPixels appends the pixels of the window of output (o, j) row by row.
func windowPixels[T float](stop *stopper, pixels, plane []T, v, h window, o, j int) ([]T, error) {
	top, bottom := v.inside(o)
	left, right := h.inside(j)
	for i := top; i < bottom; i++ {
		row := plane[v.at(o, i)*h.in:]
		for k := left; k < right; k++ {
			pixels = append(pixels, row[h.at(j, k)])
		}
		if err := stop.did(2 * (right - left)); err != nil {
			return nil, err
		}
	}
	return pixels, nil
}

func largestPixel[T float](pixels []T, _ int) T {
	top := pixels[0]
	for _, x := range pixels[1:] {
		top = max(top, x)
	}
	return top
}

// meanPixel divides by the number of pixels in the image, or in the whole window.
func meanPixel[T float](includePad bool) pooling[T] {
	return func(pixels []T, window int) T {
		if includePad {
			return sumRun(pixels) / T(window)
		}
		return sumRun(pixels) / T(len(pixels))
	}
}
