package loop

import (
	"math"

	"forgekernel/forge/tensor"
)

// window is how a window moves along dimension i of images: output o reads places
// o*stride - before + k*dilation.
type window struct {
	taps, stride, dilation, before int
}

// window reads the attributes of a pooling for dimension i of height and width.
func (l *lowering) window(i int) window {
	w := window{taps: int(l.node.Ints("kernel")[i]), dilation: 1}
	w.stride = w.taps
	if s := l.node.Ints("stride"); s != nil {
		w.stride = int(s[i])
	}
	if d := l.node.Ints("dilation"); d != nil {
		w.dilation = int(d[i])
	}
	if p := l.node.Ints("padding"); p != nil {
		w.before = int(p[i])
	}
	return w
}

// pool lowers max_pool2d and avg_pool2d: a reduction over the window, whose taps in
// the padding are not read.
func (l *lowering) pool() error {
	n := l.node
	largest := n.Op.Name == "max_pool2d"
	if !largest {
		if err := l.notReference(); err != nil {
			return err
		}
	}
	shape, image := n.Out[0].Spec.Shape, n.In[0].Spec.Shape
	v, h := l.window(0), l.window(1)
	nest := &Nest{Outer: shape, Line: []int{v.taps, h.taps}}
	l.kernel.Nest = nest
	out := l.out()
	out.Strides = append(out.Strides, 0, 0)
	in := l.operand(0, image)
	in.Strides = append(in.Strides, 0, 0)
	for i, w := range []window{v, h} {
		step := in.Strides[2+i]
		in.Offset -= w.before * step
		in.Strides[2+i], in.Strides[4+i] = step*w.stride, step*w.dilation
		if w.before > 0 || (shape[2+i]-1)*w.stride+(w.taps-1)*w.dilation-w.before >= image[2+i] {
			g := Guard{Affine{Offset: -w.before, Strides: make([]int, 6)}, image[2+i]}
			g.Strides[2+i], g.Strides[4+i] = w.stride, w.dilation
			in.Guards = append(in.Guards, g)
		}
	}
	x := l.load(in)
	elsewhere, kind := 0.0, Sum
	if largest {
		elsewhere, kind = math.Inf(-1), Max
	}
	if len(in.Guards) > 0 {
		x.Args = []*Expr{number(x.Type, elsewhere)}
	}
	result := nest.add(Stage{Expr: x, Reduce: kind})
	if !largest {
		result = apply("div", result, l.pixels(nest, in.Guards, x.Type))
	}
	nest.add(Stage{Expr: result, Once: true, Store: out})
	nest.foldOuter()
	return nil
}

// pixels is the number by which a mean is divided: that of the taps, or of those that
// are not in the padding.
func (l *lowering) pixels(nest *Nest, guards []Guard, t tensor.DType) *Expr {
	if l.node.Bool("count_include_pad") || len(guards) == 0 {
		return number(t, float64(product(nest.Line)))
	}
	var counts *Expr
	for _, g := range guards {
		inside := &Expr{Op: Inside, Type: tensor.Bool, Int: int64(g.Size), Affine: g.Affine}
		if counts == nil {
			counts = inside
		} else {
			counts = apply("and", counts, inside)
		}
	}
	return nest.add(Stage{Expr: cast(t, counts), Reduce: Sum})
}
