package onnx

import (
	"slices"

	"forgekernel/forge/ir"
)

// window is how a convolution or pooling looks at its spatial dimensions: one entry
// of each list for each of them.
type window struct {
	in, kernel, stride, dilation []int
	low, high                    []int // padding
	// extra is what rounding the number of windows up adds to high. It is beyond
	// the padding: an average does not count it.
	extra []int
}

// window reads the attributes that describe one.
func (c *call) window(kernel []int) *window {
	shape := c.shape(0)
	if len(shape) < 3 {
		c.fail("the operand %v has no spatial dimensions", shape)
	}
	n := len(shape) - 2
	w := &window{in: shape[2:], kernel: kernel, extra: make([]int, n)}
	w.stride, w.dilation = c.perDim("strides", n), c.perDim("dilations", n)
	if len(kernel) != n || slices.Min(kernel) < 1 {
		c.fail("a window of %v for %d spatial dimensions", kernel, n)
	}
	c.padWindow(w)
	if c.flag("ceil_mode", false) {
		w.roundUp()
	}
	for i := range n {
		if w.padded(i) < w.span(i) {
			c.fail("a window of %d does not fit dimension %d, %d long with padding", w.span(i), i, w.padded(i))
		}
	}
	return w
}

// perDim reads a list of positive numbers, 1 when absent.
func (c *call) perDim(name string, n int) []int {
	list := c.ints(name)
	if list == nil {
		return slices.Repeat([]int{1}, n)
	}
	out := c.lengths(list)
	if len(out) != n || slices.Min(out) < 1 {
		c.fail("%s are %v for %d spatial dimensions", name, list, n)
	}
	return out
}

// padWindow reads the padding or works it out.
func (c *call) padWindow(w *window) {
	n := len(w.in)
	w.low, w.high = make([]int, n), make([]int, n)
	switch auto := c.str("auto_pad", "NOTSET"); auto {
	case "NOTSET":
		if pads := c.ints("pads"); pads != nil {
			list := c.lengths(pads)
			if len(list) != 2*n {
				c.fail("%d pads for %d spatial dimensions", len(list), n)
			}
			copy(w.low, list[:n])
			copy(w.high, list[n:])
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for i := range n {
			total := max(0, (int(ceilDiv(int64(w.in[i]), int64(w.stride[i])))-1)*w.stride[i]+w.span(i)-w.in[i])
			w.low[i], w.high[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.low[i], w.high[i] = w.high[i], w.low[i]
			}
		}
	default:
		c.oneOf("auto_pad", auto, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
	}
}

// span is how many elements a window reaches over.
func (w *window) span(i int) int { return (w.kernel[i]-1)*w.dilation[i] + 1 }

func (w *window) padded(i int) int { return w.in[i] + w.low[i] + w.high[i] + w.extra[i] }

// count is the number of windows along a dimension.
func (w *window) count(i int) int { return (w.padded(i)-w.span(i))/w.stride[i] + 1 }

// roundUp lets a last window reach beyond the padding, unless it would begin there.
func (w *window) roundUp() {
	for i := range w.in {
		rest := (w.padded(i) - w.span(i)) % w.stride[i]
		begins := w.padded(i) - w.span(i) - rest + w.stride[i]
		if rest > 0 && begins < w.in[i]+w.low[i] {
			w.extra[i] = w.stride[i] - rest
		}
	}
}

// thin reports whether all windows lie in one column. Its elements are made one row,
// along which backends work in vectors.
func (w *window) thin() bool {
	return len(w.in) == 2 && w.in[1] == 1 && w.kernel[1] == 1 && w.low[1] == 0 && w.high[1] == 0 && w.extra[1] == 0
}

// flat is a window with dimensions of length 1 in front until it has two.
func (w *window) flat() *window {
	f := &window{}
	pad := 2 - len(w.in)
	widen := func(list []int, v int) []int { return append(slices.Repeat([]int{v}, pad), list...) }
	f.in, f.kernel, f.stride, f.dilation = widen(w.in, 1), widen(w.kernel, 1), widen(w.stride, 1), widen(w.dilation, 1)
	f.low, f.high, f.extra = widen(w.low, 0), widen(w.high, 0), widen(w.extra, 0)
	return f
}

// part is the window over some of its dimensions.
func (w *window) part(from, to int) *window {
	return &window{
		w.in[from:to], w.kernel[from:to], w.stride[from:to], w.dilation[from:to], w.low[from:to], w.high[from:to], w.extra[from:to],
	}
}

// attrs are those of the two-dimensional operators.
func (w *window) attrs() ir.Attrs {
	return ir.Attrs{
		"stride": int64s(w.stride), "dilation": int64s(w.dilation),
		"padding": []int64{int64(w.low[0]), int64(w.low[1]), int64(w.high[0] + w.extra[0]), int64(w.high[1] + w.extra[1])},
	}
}
