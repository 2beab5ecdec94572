package cuda

import (
	"fmt"

	"forgekernel/forge/backend/cuda/gemm"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

func init() { templates = append(templates, convolutions) }

// fewChannels and fewTaps are those of a convolution below which a product of weights and
// windows has little to share.
const (
	fewChannels = 8
	fewTaps     = 16
)

// convolutions is the template of convolutions as products of the weights of a group and
// the windows of an image, which kernels find as they go.
func convolutions(p *program, n *ir.Node) ([]choice, string) {
	kernels, err := p.Lower(n)
	if err != nil || len(kernels) != 1 || kernels[0].Convolution == nil {
		return nil, ""
	}
	k := kernels[0]
	c := k.Convolution
	taps := c.V.Taps * c.H.Taps
	w, out := c.W.Strides, c.Out.Strides
	switch {
	case c.Elem == tensor.F64:
		return nil, "products of f64 are loops"
	case c.Outputs < fewChannels || c.Inputs*taps < fewTaps:
		return nil, fmt.Sprintf("%d channels of %d products are too few for tiles", c.Outputs, c.Inputs*taps)
	case w[2] != c.H.Taps*w[3] || w[1] != taps*w[3] || c.V.Out > 1 && out[2] != c.H.Out:
		return nil, "the weights of a channel, or its results, do not lie at even distances"
	case (c.V.Padded() || c.H.Padded()) && !p.finite(k.Params[c.W.Param].Value):
		return nil, "weights that may be infinite have no product with zeros beyond an image"
	}
	list := p.tiled(p.windowed(k))
	if list == nil {
		return nil, fmt.Sprintf("more than %d products at once are loops", gemm.MaxBatches)
	}
	return list, ""
}

// finite reports whether a value is known to have neither infinities nor NaN.
func (p *program) finite(v *ir.Value) bool {
	if v.Def == nil || v.Def.Op.Class != ir.Constant {
		return false
	}
	return loop.Finite(v.Def.Tensor("value"))
}

// windowed describes a convolution as products, and gives the places of its arguments.
func (p *program) windowed(k *loop.Kernel) (*gemm.Shape, []planned.Place) {
	c := k.Convolution
	x, w, out := c.X.Strides, c.W.Strides, c.Out.Strides
	s := &gemm.Shape{
		Batch: []int{c.Images, c.Groups}, M: c.Outputs, N: c.V.Out * c.H.Out, K: c.Inputs * c.V.Taps * c.H.Taps,
		Window: &gemm.Window{Channel: x[1], Row: x[2], Column: x[3], V: gemm.Moves(c.V), H: gemm.Moves(c.H)},
	}
	places := make([]planned.Place, gemm.Extra)
	s.A, places[gemm.A] = p.matrix(k, &c.W, []int{0, c.Outputs * w[0]}, w[0], w[3])
	s.B, places[gemm.B] = p.matrix(k, &c.X, []int{x[0], c.Inputs * x[1]}, 1, 1)
	s.Out, places[gemm.Out] = p.matrix(k, &c.Out, []int{out[0], c.Outputs * out[1]}, out[1], 1)
	s.Early = p.still(places[gemm.B])
	vars := []string{"i0", fmt.Sprintf("(i1 * %d + m)", c.Outputs), fmt.Sprintf("(n / %d)", c.H.Out), fmt.Sprintf("(n %% %d)", c.H.Out)}
	return s, append(places, p.finish(s, k, vars, c.Bias, c.Epilogue)...)
}
