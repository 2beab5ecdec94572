package op

import (
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var norms = []*ir.Op{
	{
		Name: "layer_norm",
		Doc: "(x - mean) / sqrt(variance + eps) over the dimensions from axis on, times weight plus bias if these are given. " +
			"The variance is the mean square of x - mean, computed after the mean; both sums are pairwise.",
		Class:    ir.Normalise,
		Operands: []string{"x", "weight", "bias"},
		Optional: 2,
		Types:    floats.String(),
		Attrs:    normAttrs,
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			if len(n.In) == 2 {
				return nil, fmt.Errorf("takes 1 or 3 operands, got 2: weight and bias go together")
			}
			return inferNorm(n)
		},
		Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
		Eval: byType(
			func(c *ir.Call) error { return normalise(c, layerNormLine[float32]) },
			func(c *ir.Call) error { return normalise(c, layerNormLine[float64]) },
		),
		FLOPs: ir.FLOPs{Doc: "5 per output, 7 with weight and bias", Of: func(n *ir.Node) int64 {
			// sum, subtract, square, sum, scale; multiply, add
			return int64(4+len(n.In)) * int64(n.Out[0].Spec.Elements())
		}},
	},
	{
		Name:      "rms_norm",
		Doc:       "x / sqrt(mean(x*x) + eps) over the dimensions from axis on, times weight if it is given. The sum is pairwise.",
		Class:     ir.Normalise,
		Operands:  []string{"x", "weight"},
		Optional:  1,
		Types:     floats.String(),
		Attrs:     normAttrs,
		Infer:     inferNorm,
		Canonical: func(n *ir.Node) ir.Attrs { return canonicalAxis(n, n.In[0].Spec.Rank()) },
		Eval: byType(
			func(c *ir.Call) error { return normalise(c, scaleByRMS[float32]) },
			func(c *ir.Call) error { return normalise(c, scaleByRMS[float64]) },
		),
		FLOPs: ir.FLOPs{Doc: "3 per output, 4 with weight", Of: func(n *ir.Node) int64 {
			// square, sum, scale; multiply
			return int64(2+len(n.In)) * int64(n.Out[0].Spec.Elements())
		}},
	},
}

var normAttrs = []ir.AttrDecl{
	axisAttr("the first dimension that is normalised, negative from the end; all later ones are too", int64(-1)),
	{Name: "eps", Kind: ir.FloatAttr, Default: 1e-5, Doc: "keeps the root from zero; finite and not negative"},
}

func inferNorm(n *ir.Node) ([]ir.Spec, error) {
	if _, err := sameFloat(n); err != nil {
		return nil, err
	}
	x := n.In[0].Spec
	axis, err := resolveAxis(int64(n.Int("axis")), x.Rank())
	if err != nil {
		return nil, err
	}
	for i, v := range n.In[1:] {
		if !tensor.ShapeEqual(v.Spec.Shape, x.Shape[axis:]) {
			return nil, fmt.Errorf("%s %v has shape %s; the normalised dimensions of %v are %s",
				n.Op.Operands[i+1], v, tensor.FormatShape(v.Spec.Shape), n.In[0], tensor.FormatShape(x.Shape[axis:]))
		}
	}
	if eps := n.Float("eps"); !(eps >= 0) || math.IsInf(eps, 0) {
		return nil, fmt.Errorf("eps is %v; it must be finite and not negative", eps)
	}
	return []ir.Spec{x.Clone()}, nil
}

// normalise applies f to each line of the normalised dimensions, which are
// contiguous, then the weight and the bias.
func normalise[T float](c *ir.Call, f func(stop *stopper, dst, x, scratch []T, eps T) error) error {
	src, dst := data[T](c.In[0]), data[T](c.Out[0])
	if len(dst) == 0 {
		return nil
	}
	var weight, bias []T
	if len(c.In) > 1 {
		weight = data[T](c.In[1])
	}
	if len(c.In) > 2 {
		bias = data[T](c.In[2])
	}
	n := product(c.In[0].Shape()[c.Node.Int("axis"):])
	eps := T(c.Node.Float("eps"))
	return parallel(c, len(dst)/n, max(1, 1<<13/n), func(lo, hi int) error {
		stop := stopper{call: c}
		scratch := make([]T, n)
		for l := lo; l < hi; l++ {
			line := dst[l*n:][:n]
			if err := f(&stop, line, src[l*n:][:n], scratch, eps); err != nil {
				return err
			}
			if err := scaleAndShift(&stop, line, weight, bias); err != nil {
				return err
			}
		}
		return nil
	})
}

// scaleAndShift multiplies by the weight and adds the bias, where there are
// any.
func scaleAndShift[T float](stop *stopper, line, weight, bias []T) error {
	return stop.blocks(len(line), 2, func(lo, hi int) {
		dst := line[lo:hi]
		if weight != nil {
			for i, w := range weight[lo:hi] {
				dst[i] *= w
			}
		}
		if bias != nil {
			for i, b := range bias[lo:hi] {
				dst[i] += b
			}
		}
	})
}

func layerNormLine[T float](stop *stopper, dst, x, scratch []T, eps T) error {
	var sum [1]T
	if err := pairwise(stop, sum[:], x, 1, 0, len(x)); err != nil {
		return err
	}
	mean := sum[0] / T(len(x))
	err := stop.blocks(len(x), 1, func(lo, hi int) {
		for i, v := range x[lo:hi] {
			dst[lo+i] = v - mean
		}
	})
	if err != nil {
		return err
	}
	return scaleByRMS(stop, dst, dst, scratch, eps)
}

// scaleByRMS sets dst to x / sqrt(mean(x*x) + eps); scratch is as long as x,
// which may be dst.
func scaleByRMS[T float](stop *stopper, dst, x, scratch []T, eps T) error {
	err := stop.blocks(len(x), 1, func(lo, hi int) {
		for i, v := range x[lo:hi] {
			scratch[lo+i] = v * v
		}
	})
	if err != nil {
		return err
	}
	var sum [1]T
	if err := pairwise(stop, sum[:], scratch, 1, 0, len(x)); err != nil {
		return err
	}
	scale := 1 / T(math.Sqrt(float64(sum[0]/T(len(x))+eps)))
	return stop.blocks(len(x), 1, func(lo, hi int) {
		for i, v := range x[lo:hi] {
			dst[lo+i] = v * scale
		}
	})
}
