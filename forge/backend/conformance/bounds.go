package conformance

import (
	"context"
	"math"
	"slices"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// unit is the unit roundoff of float32; tiny is its smallest number, which
// bounds the error of an operation that underflows.
const (
	unit = 0x1p-24
	tiny = 0x1p-149
)

// ulpBounds are the largest errors of elementwise operators in units in the
// last place: a half for one correctly rounded operation, for the elementary
// functions the bounds that package mathf documents, and zero for operators
// that pick or flip.
var ulpBounds = map[string]float64{
	"add": 0.5, "sub": 0.5, "mul": 0.5, "div": 0.5, "sqrt": 0.5,
	"neg": 0, "abs": 0, "relu": 0, "maximum": 0, "minimum": 0, "where": 0,
	"exp": 1, "log": 1, "sigmoid": 3, "tanh": 2, "gelu": 5,
	"rsqrt": 1.5, "silu": 3.5, "erf": 2, "sin": 2, "cos": 2, "pow": 2, "atan": 2,
	"floor": 0, "ceil": 0, "round": 0,
	// The reference of an i64 is itself rounded to float64.
	"cast": 0.5 + 0x1p-28,
	// The product of the fused case has a factor with one rounding.
	"fused": 2,
}

// bound returns the largest permitted error of each element of a result of
// the given type. The float64 operators are the reference itself, so their
// results must be equal. Half-precision ones compute in float32 and round once
// more, unless they are exact.
func (c *opCase) bound(out tensor.DType, inputs []*tensor.Tensor, want *tensor.Tensor) (func(i int) float64, error) {
	if out == tensor.F64 {
		return func(int) float64 { return 0 }, nil
	}
	single, err := c.singleBound(inputs, want)
	if err != nil || out == tensor.F32 {
		return single, err
	}
	return func(i int) float64 {
		half := tensor.ULP(out, want.Elem(i))
		switch b := single(i); {
		case c.op.Class == ir.Fused: // its steps round to half precision too
			return ulpBounds["fused"] * half
		case b == 0:
			return 0
		default:
			return b + half/2
		}
	}, nil
}

// singleBound is the bound of a computation in float32.
func (c *opCase) singleBound(inputs []*tensor.Tensor, want *tensor.Tensor) (func(i int) float64, error) {
	exact := func(int) float64 { return 0 }
	switch c.op.Name {
	case "max", "min", "max_pool2d", "top_k":
		return exact, nil
	case "prod":
		return c.prodBound(inputs, want)
	case "cumsum":
		return c.sumBound(c.op.Name, inputs, inputs[0].Dim(c.attrs["axis"].(int)))
	case "scatter":
		if c.attrs["reduce"] == "add" {
			return c.sumBound(c.op.Name, inputs, inputs[2].Len()+1)
		}
		return exact, nil
	case "avg_pool2d":
		k := c.attrs["kernel"].([]int)
		return c.sumBound(c.op.Name, inputs, k[0]*k[1])
	case "log_softmax":
		return logSoftmaxBound(inputs[0], want, c.attrs["axis"].(int)), nil
	case "layer_norm", "rms_norm":
		return c.normBound(inputs, want), nil
	}
	switch c.op.Class {
	case ir.Contraction:
		return c.contractionBound(inputs)
	case ir.Reduction:
		n := inputs[0].Len() / max(1, want.Len())
		return c.sumBound(c.op.Name, inputs, n)
	case ir.Normalise:
		return softmaxBound(inputs[0], want, c.attrs["axis"].(int)), nil
	case ir.Constant, ir.Movement, ir.State:
		return exact, nil
	}
	ulps := ulpBounds[c.op.Name]
	return func(i int) float64 {
		b := ulps
		if c.attrs["approximate"] == "tanh" {
			b += tanhSlope(inputs[0].Elem(i))
		}
		return b * tensor.ULP(tensor.F32, want.Elem(i))
	}, nil
}

// tanhSlope is the number of units by which exp magnifies the rounding of the
// argument 2u in the tanh form of GELU, below zero.
func tanhSlope(x float64) float64 {
	if x >= 0 {
		return 0
	}
	return 6 * math.Sqrt(2/math.Pi) * math.Abs(x+0.044715*x*x*x)
}

// sumBound bounds a sum of n products or numbers in any order, with or without
// fused multiply-add: n+1 roundings, each of at most unit times the sum of the
// magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
func (c *opCase) sumBound(name string, inputs []*tensor.Tensor, n int) (func(i int) float64, error) {
	magnitudes, err := c.onMagnitudes(name, inputs)
	if err != nil {
		return nil, err
	}
	k := float64(n + 1)
	return func(i int) float64 { return k*unit/(1-k*unit)*magnitudes.Elem(i) + k*tiny }, nil
}

// prodBound is one rounding for each factor. Where a partial product may leave the
// range of normal numbers, in whatever order the factors come, anything goes.
func (c *opCase) prodBound(inputs []*tensor.Tensor, want *tensor.Tensor) (func(i int) float64, error) {
	n := inputs[0].Len() / max(1, want.Len())
	largest, smallest := 1.0, 1.0
	for i := range inputs[0].Len() {
		switch v := math.Abs(inputs[0].Elem(i)); {
		case v > 1:
			largest *= v
		case v > 0:
			smallest *= v
		}
	}
	if largest > math.MaxFloat32 || smallest < 0x1p-126 {
		return func(int) float64 { return math.Inf(1) }, nil
	}
	return func(i int) float64 { return float64(n) * unit * 1.01 * math.Abs(want.Elem(i)) }, nil
}

// onMagnitudes applies the operator to the absolute values of the inputs.
func (c *opCase) onMagnitudes(name string, inputs []*tensor.Tensor) (*tensor.Tensor, error) {
	b := ir.NewBuilder(op.Registry, "magnitudes")
	var in []*ir.Value
	for i, t := range inputs {
		v, err := b.Input(string(rune('a'+i)), ir.SpecOf(t))
		if err != nil {
			return nil, err
		}
		if v, err = b.Apply("abs", nil, v); err != nil {
			return nil, err
		}
		in = append(in, v)
	}
	v, err := b.Apply(name, c.attrs, in...)
	if err != nil {
		return nil, err
	}
	g, err := b.Finish(v)
	if err != nil {
		return nil, err
	}
	exe, err := interp.Reference().Compile(context.Background(), g)
	if err != nil {
		return nil, err
	}
	out, err := exe.Run(context.Background(), inputs...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// softmaxBound adds up relative errors: rounding x-max by unit changes exp by
// |x-max| units, here and averaged over the sum; exp errs by 2 units twice,
// the sum of n terms by n and the division by one.
func softmaxBound(x, want *tensor.Tensor, axis int) func(i int) float64 {
	if axis < 0 {
		axis += x.Rank()
	}
	n, step := x.Dim(axis), x.Strides()[axis]
	return func(i int) float64 {
		start := i - i/step%n*step
		top, mean := math.Inf(-1), 0.0
		for j := range n {
			top = math.Max(top, x.Elem(start+j*step))
		}
		for j := range n {
			if p := want.Elem(start + j*step); p > 0 {
				mean += p * (top - x.Elem(start+j*step))
			}
		}
		units := math.Abs(top-x.Elem(i)) + mean + float64(n) + 6
		return units*unit*want.Elem(i)*1.01 + 2*tiny
	}
}

// keepsZeroSign reports whether a zero result must have the sign of the
// reference. Sums start from +0 and are left out.
func (c *opCase) keepsZeroSign() bool {
	return slices.Contains([]ir.Class{ir.Elementwise, ir.Movement, ir.Constant, ir.State}, c.op.Class)
}
