package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Attributes of operators that slide a window over the last two dimensions.
var (
	strideAttr   = ir.AttrDecl{Name: "stride", Kind: ir.IntsAttr, Default: []int64{1, 1}, Doc: "the steps of the window, [h, w]"}
	dilationAttr = ir.AttrDecl{Name: "dilation", Kind: ir.IntsAttr, Default: []int64{1, 1}, Doc: "the distances of the window's taps, [h, w]"}
	paddingAttr  = ir.AttrDecl{Name: "padding", Kind: ir.IntsAttr, Default: []int64{0, 0, 0, 0}, Doc: "the borders that the window may reach into, [h, w] or [top, left, bottom, right]"}
)

// canonicalPadding writes the padding of all four sides.
func canonicalPadding(n *ir.Node) ir.Attrs {
	p := n.Ints("padding")
	if len(p) != 2 {
		return n.Attrs
	}
	return withAttr(n, "padding", []int64{p[0], p[1], p[0], p[1]})
}

// window is how a window moves along one dimension: output o reads its taps at
// the input positions o*stride - before + k*dilation that exist.
type window struct {
	in, out          int
	taps             int
	stride, dilation int
	before           int
}

// at is the input position of tap k of output o; it may not exist.
func (w window) at(o, k int) int { return o*w.stride - w.before + k*w.dilation }

// inside is the range of taps of output o that exist.
func (w window) inside(o int) (lo, hi int) {
	first := w.at(o, 0)
	if first < 0 {
		lo = (-first + w.dilation - 1) / w.dilation
	}
	if first < w.in {
		hi = min(w.taps, (w.in-1-first)/w.dilation+1)
	}
	return min(lo, hi), hi
}

// interior is the range of outputs all of whose taps exist.
func (w window) interior() (lo, hi int) {
	lo = (w.before + w.stride - 1) / w.stride
	if last := w.in - 1 - w.at(0, w.taps-1); last >= 0 {
		hi = min(w.out, last/w.stride+1)
	}
	return min(lo, hi), hi
}

// windows computes the movement over [h, w] inputs of a window with the given
// taps, from the attributes of n; stride is their default.
func windows(n *ir.Node, in, taps []int, stride []int64) (h, w window, err error) {
	if given := n.Ints("stride"); given != nil {
		stride = given
	}
	dilation := n.Ints("dilation")
	if dilation == nil {
		dilation = []int64{1, 1}
	}
	padding := n.Ints("padding")
	if len(padding) == 2 {
		padding = []int64{padding[0], padding[1], padding[0], padding[1]}
	}
	switch {
	case len(stride) != 2:
		err = fmt.Errorf("attribute stride has %d numbers; [h, w] is needed", len(stride))
	case len(dilation) != 2:
		err = fmt.Errorf("attribute dilation has %d numbers; [h, w] is needed", len(dilation))
	case len(padding) != 4:
		err = fmt.Errorf("attribute padding has %d numbers; [h, w] or [top, left, bottom, right] is needed", len(padding))
	}
	if err != nil {
		return h, w, err
	}
	h, err = newWindow("height", in[0], taps[0], stride[0], dilation[0], padding[0], padding[2])
	if err != nil {
		return h, w, err
	}
	w, err = newWindow("width", in[1], taps[1], stride[1], dilation[1], padding[1], padding[3])
	return h, w, err
}

func newWindow(dim string, in, taps int, stride, dilation, before, after int64) (window, error) {
	const most = tensor.MaxElements // keeps the sums below from overflowing
	switch {
	case taps < 1:
		return window{}, fmt.Errorf("the window has no %s", dim)
	case stride < 1 || stride > most:
		return window{}, fmt.Errorf("the stride of the %s is %d; it must be from 1 to %d", dim, stride, most)
	case dilation < 1 || dilation > most:
		return window{}, fmt.Errorf("the dilation of the %s is %d; it must be from 1 to %d", dim, dilation, most)
	case before < 0 || after < 0 || before > most || after > most:
		return window{}, fmt.Errorf("the padding of the %s is %d and %d; it must be from 0 to %d", dim, before, after, most)
	}
	w := window{in: in, taps: taps, stride: int(stride), dilation: int(dilation), before: int(before)}
	padded, spans := in+int(before+after), (taps-1)*w.dilation+1
	if spans > padded {
		return window{}, fmt.Errorf("the window spans %d of the %s, which is %d with padding", spans, dim, padded)
	}
	w.out = (padded-spans)/w.stride + 1
	return w, nil
}
