package onnx

import (
	"slices"

	"forgekernel/forge/importer/formula"
)

// window reads the attributes that describe one.
func (c *call) window(kernel []int) *formula.Window {
	shape := c.shape(0)
	if len(shape) < 3 {
		c.Fail("the operand %v has no spatial dimensions", shape)
	}
	n := len(shape) - 2
	w := &formula.Window{In: shape[2:], Kernel: kernel, Extra: make([]int, n)}
	w.Stride, w.Dilation = c.perDim("strides", n), c.perDim("dilations", n)
	c.padWindow(w)
	c.Fits(w)
	if c.flag("ceil_mode", false) {
		w.RoundUp()
	}
	return w
}

// perDim reads a list of positive numbers, 1 when absent.
func (c *call) perDim(name string, n int) []int {
	list := c.ints(name)
	if list == nil {
		return slices.Repeat([]int{1}, n)
	}
	out := c.Lengths(list)
	if len(out) != n || slices.Min(out) < 1 {
		c.Fail("%s are %v for %d spatial dimensions", name, list, n)
	}
	return out
}

// padWindow reads the padding or works it out.
func (c *call) padWindow(w *formula.Window) {
	n := len(w.In)
	w.Low, w.High = make([]int, n), make([]int, n)
	switch auto := c.str("auto_pad", "NOTSET"); auto {
	case "NOTSET":
		if pads := c.ints("pads"); pads != nil {
			list := c.Lengths(pads)
			if len(list) != 2*n {
				c.Fail("%d pads for %d spatial dimensions", len(list), n)
			}
			copy(w.Low, list[:n])
			copy(w.High, list[n:])
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for i := range n {
			total := max(0, ((w.In[i]+w.Stride[i]-1)/w.Stride[i]-1)*w.Stride[i]+w.Span(i)-w.In[i])
			w.Low[i], w.High[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.Low[i], w.High[i] = w.High[i], w.Low[i]
			}
		}
	default:
		c.oneOf("auto_pad", auto, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
	}
}
