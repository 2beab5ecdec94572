package op

import (
	"errors"
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
)

var convolutions = []*ir.Op{{
	Name: "conv2d",
	Doc: "The correlation of images x [N,C,H,W] with kernels w [O,C/groups,h,w]: each group of output channels reads its own group of input channels. " +
		"Sums run in order of input channel, kernel row and kernel column, each step one fused multiply-add; taps in the padding take no part. The bias [O] is added to the rounded sum, and the activation applied to that.",
	Class:    ir.Contraction,
	Operands: []string{"x", "w", "bias"},
	Types:    floats.String(),
	Optional: 1,
	Attrs: []ir.AttrDecl{strideAttr, dilationAttr, paddingAttr,
		{Name: "groups", Kind: ir.IntAttr, Default: int64(1), Doc: "into how many groups both kinds of channels are divided"}, actAttr},
	Infer:     inferConv,
	Canonical: canonicalPadding,
	Eval: byType(
		func(c *ir.Call) error { return conv(c, taps32) },
		func(c *ir.Call) error { return conv(c, taps64) },
	),
	Scratch: convScratch,
	FLOPs: ir.FLOPs{
		Doc: "2C/groups*h*w per output, 1 per output for the bias, and those of the activation",
		Of: func(n *ir.Node) int64 {
			perOutput := 2*product(n.In[1].Spec.Shape[1:]) + len(n.In) - 2
			return int64(perOutput)*int64(n.Out[0].Spec.Elements()) + actFLOPs(n)
		},
	},
}}

func inferConv(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := sameFloat(n)
	if err != nil {
		return nil, err
	}
	x, k := n.In[0].Spec.Shape, n.In[1].Spec.Shape
	if len(x) != 4 || len(k) != 4 {
		return nil, fmt.Errorf("x [N,C,H,W] and w [O,C/groups,h,w] must have rank 4, not %d and %d", len(x), len(k))
	}
	groups := n.Int("groups")
	switch {
	case groups < 1:
		return nil, fmt.Errorf("attribute groups is %d; it must be 1 or more", groups)
	case x[1]%groups != 0 || k[0]%groups != 0:
		return nil, fmt.Errorf("%d input and %d output channels do not divide into %d groups", x[1], k[0], groups)
	case k[1] != x[1]/groups:
		return nil, fmt.Errorf("w has %d input channels; x has %d per group", k[1], x[1]/groups)
	}
	if err := checkBias(n, k[0]); err != nil {
		return nil, err
	}
	h, w, err := windows(n, x[2:], k[2:], nil)
	if err != nil {
		return nil, err
	}
	if h.in == 0 || w.in == 0 {
		return nil, errors.New("the images of x have no pixels")
	}
	return []ir.Spec{{DType: dtype, Shape: []int{x[0], k[0], h.out, w.out}}}, nil
}

// taps adds a[p] * b[p][j] to dst[j] for each p in order.
type taps[T float] func(dst, a []T, b [][]T)

// convolution computes one row of one output channel at a time.
type convolution[T float] struct {
	x, w, bias []T
	epilogue   epilogue[T] // of what has its bias
	h, v       window      // horizontal and vertical
	channels   int         // input channels per group
	perGroup   int         // output channels per group
	inputs     int         // all input channels
	outputs    int
	add        taps[T]
}

func conv[T float](c *ir.Call, add taps[T]) error {
	x, k, out := c.In[0], c.In[1], data[T](c.Out[0])
	v, h, err := windows(c.Node, x.Shape()[2:], k.Shape()[2:], nil)
	if err != nil {
		return err
	}
	f := &convolution[T]{
		x: data[T](x), w: data[T](k), bias: optional[T](c, 2), epilogue: newEpilogue[T](c.Node, nil, nil), h: h, v: v, add: add,
		channels: k.Dim(1), perGroup: k.Dim(0) / c.Node.Int("groups"), inputs: x.Dim(1), outputs: k.Dim(0),
	}
	work := product(k.Shape()[1:]) * h.out
	return parallel(c, len(out)/h.out, max(1, 1<<16/max(1, work)), func(lo, hi int) error {
		stop := stopper{call: c}
		line := newConvLine(f)
		for r := lo; r < hi; r++ {
			if err := line.compute(&stop, out[r*h.out:][:h.out], r); err != nil {
				return err
			}
		}
		return nil
	})
}

// convLine gathers the taps of one row of results, in the order of their sums.
type convLine[T float] struct {
	*convolution[T]
	weights []T
	rows    [][]T // the input row of each weight, from pixel 0 on
	columns []int // the column of each weight in the kernel

	a       []T // taps of the part of the row that is being computed
	b       [][]T
	scratch []T // pixels that a stride picks
}

func newConvLine[T float](f *convolution[T]) *convLine[T] {
	l := &convLine[T]{convolution: f}
	if f.h.stride > 1 {
		l.scratch = make([]T, f.channels*f.v.taps*f.h.taps*f.h.out)
	}
	return l
}

// compute fills row r of all output rows.
func (l *convLine[T]) compute(stop *stopper, dst []T, r int) error {
	clear(dst)
	image, channel := r/l.v.out/l.outputs, r/l.v.out%l.outputs
	l.gather(image, channel, r%l.v.out)
	lo, hi := l.h.interior()
	if err := l.run(stop, dst, lo, hi); err != nil {
		return err
	}
	for j := range dst {
		if j >= lo && j < hi {
			continue
		}
		if err := l.run(stop, dst, j, j+1); err != nil {
			return err
		}
	}
	if l.bias != nil {
		for j := range dst {
			dst[j] += l.bias[channel]
		}
	}
	return l.epilogue.apply(dst, 0, 0)
}

// gather lists the taps of an output row that lie inside the image vertically.
func (l *convLine[T]) gather(image, channel, o int) {
	l.weights, l.rows, l.columns = l.weights[:0], l.rows[:0], l.columns[:0]
	first := image*l.inputs + channel/l.perGroup*l.channels
	top, bottom := l.v.inside(o)
	for c := range l.channels {
		for i := top; i < bottom; i++ {
			row := l.x[((first+c)*l.v.in+l.v.at(o, i))*l.h.in:][:l.h.in]
			kernel := l.w[((channel*l.channels+c)*l.v.taps+i)*l.h.taps:][:l.h.taps]
			for k, w := range kernel {
				l.weights, l.rows, l.columns = append(l.weights, w), append(l.rows, row), append(l.columns, k)
			}
		}
	}
}

// run adds the taps of outputs lo to hi-1, which have the same taps inside the
// image horizontally.
func (l *convLine[T]) run(stop *stopper, dst []T, lo, hi int) error {
	if lo >= hi {
		return nil
	}
	l.a, l.b = l.a[:0], l.b[:0]
	left, right := l.h.inside(lo)
	free := l.scratch
	for t, k := range l.columns {
		if k < left || k >= right {
			continue
		}
		pixels := l.rows[t][l.h.at(lo, k):]
		if l.h.stride > 1 {
			picked := free[:hi-lo]
			free = free[hi-lo:]
			for j := range picked {
				picked[j] = pixels[j*l.h.stride]
			}
			pixels = picked
		}
		l.a, l.b = append(l.a, l.weights[t]), append(l.b, pixels)
	}
	for p := 0; p < len(l.a); p += tapsPerCheck {
		end := min(p+tapsPerCheck, len(l.a))
		l.add(dst[lo:hi], l.a[p:end], l.b[p:end])
		if err := stop.did((end - p) * (hi - lo)); err != nil {
			return err
		}
	}
	return nil
}

// tapsPerCheck is how many taps are added between two looks at the context.
const tapsPerCheck = 256

func taps32(dst, a []float32, b [][]float32) {
	p := 0
	for ; p+4 <= len(a); p += 4 {
		mathf.AXPY4(dst, (*[4]float32)(a[p:]), (*[4][]float32)(b[p:]))
	}
	for ; p < len(a); p++ {
		row := b[p][:len(dst)]
		for j := range dst {
			dst[j] = mathf.FMA(a[p], row[j], dst[j])
		}
	}
}

// taps64 is taps32 in float64 with separate roundings.
func taps64(dst, a []float64, b [][]float64) {
	for p, w := range a {
		row := b[p][:len(dst)]
		for j := range dst {
			dst[j] += float64(w * row[j])
		}
	}
}
