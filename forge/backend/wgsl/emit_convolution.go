package wgsl

import (
	"errors"
	"fmt"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Of a convolution, an invocation computes some channels of one pixel, so that it uses what
// it reads several times. Neighbouring invocations have neighbouring pixels.
const (
	convolutionChannels = 4
	convolutionPixels   = 64
)

// convolution writes a workgroup for pixels of some channels of a group.
func (e *emitter) convolution() (geometry, error) {
	c := e.kernel.Convolution
	if c.Elem == tensor.F64 {
		return geometry{}, errors.New("WGSL has no f64")
	}
	if err := supports(c.Epilogue); err != nil {
		return geometry{}, err
	}
	e.count(c.Epilogue)
	channels, points := min(convolutionChannels, c.Outputs), c.V.Out*c.H.Out
	size := min(convolutionPixels, ceilPower(points))
	dims := []int{c.Images, c.Groups, ceil(c.Outputs, channels), ceil(points, size)}
	g := geometry{groups: product(dims), workgroup: [3]int{size, 1, 1}}
	g.reason = fmt.Sprintf("an invocation for each of %d pixels, with %d channels", points, channels)
	e.begin(g)
	at := []string{"image", "part", "top", "left"}
	e.coordinates(group, at, dims)
	e.Line("let point = %s * %d + i32(lane);", at[3], size)
	if points%size != 0 {
		e.Line("if (point >= %d) { return; }", points)
	}
	e.Line("let row = point / %d;", c.H.Out)
	e.Line("let column = point %% %d;", c.H.Out)
	first := affine([]string{at[1], at[2]}, 0, []int{c.Outputs, channels})
	e.Line("let first = %s;", first)
	e.Line("var sums: array<f32, %d>;", channels)
	e.taps(c, at[0], at[1], channels)
	e.Open("for (var q = 0; q < %d; q++)", channels)
	if c.Outputs%channels != 0 {
		e.Line("if (%s >= %d) { break; }", affine([]string{at[2], "q"}, 0, []int{channels, 1}), c.Outputs)
	}
	e.Line("let channel = first + q;")
	e.Line("var sum = sums[q];")
	e.vars = []string{at[0], "channel", "row", "column"}
	e.conclude(c.Bias, c.Epilogue, &c.Out)
	e.Close()
	e.Close()
	return g, nil
}

// taps adds the products of one input channel after another, and of its taps in order.
func (e *emitter) taps(c *loop.Convolution, image, part string, channels int) {
	e.Open("for (var input = 0; input < %d; input++)", c.Inputs)
	e.Open("for (var v = 0; v < %d; v++)", c.V.Taps)
	e.Line("let y = %s;", affine([]string{"row", "v"}, -c.V.Before, []int{c.V.Stride, c.V.Dilation}))
	if c.V.Padded() {
		e.Line("if (!(%s)) { continue; }", within("y", c.V.In))
	}
	e.Open("for (var h = 0; h < %d; h++)", c.H.Taps)
	e.Line("let z = %s;", affine([]string{"column", "h"}, -c.H.Before, []int{c.H.Stride, c.H.Dilation}))
	if c.H.Padded() {
		e.Line("if (!(%s)) { continue; }", within("z", c.H.In))
	}
	load := func(a *loop.Access, vars ...string) string {
		o := e.operands[a.Param]
		return o.element(affine(vars, a.Offset+o.base, a.Strides), false)
	}
	input := affine([]string{part, "input"}, 0, []int{c.Inputs, 1})
	e.Line("let x = %s;", load(&c.X, image, input, "y", "z"))
	e.Open("for (var q = 0; q < %d; q++)", channels)
	last := "first + q"
	if c.Outputs%channels != 0 { // the channels of the group may end here
		last = fmt.Sprintf("min(first + q, %s)", affine([]string{part}, c.Outputs-1, []int{c.Outputs}))
	}
	e.Line("sums[q] = fma(x, %s, sums[q]);", load(&c.W, last, "input", "v", "h"))
	for range 4 {
		e.Close()
	}
}
