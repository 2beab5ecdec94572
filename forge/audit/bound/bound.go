// Package bound says how far the result of one node may be from float64.
//
// A bound is local: it compares what a node made of certain operands with the
// float64 result on the same operands, so errors of nodes before it are not in
// it, and it holds for every order of the sums in the node and with or without
// fused multiply-add. It follows from the arithmetic: the number of roundings,
// each of at most half a unit in the last place of the magnitudes that meet in
// it, which are those of the operands at hand.
//
// Where a float32 intermediate may overflow although the result does not, or
// where the result hangs on whether a difference is exactly zero, a bound is
// infinite and everything is permitted.
package bound

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// unit is the unit roundoff of float32; tiny is its smallest number, which
// bounds the error of an operation that underflows.
const (
	unit = 0x1p-24
	tiny = 0x1p-149
)

// ulps are the largest errors of elementwise operators in units in the
// last place: a half for one correctly rounded operation, for the elementary
// functions the bounds that package mathf documents, and zero for operators
// that pick or flip.
var ulps = map[string]float64{
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

// SameBits reports whether all backends give the same bits for a node, because
// each element is computed in a fixed way: no sum may run in another order.
func SameBits(n *ir.Node) bool {
	switch n.Op.Class {
	case ir.Contraction, ir.Reduction, ir.Normalise:
		return false
	case ir.Elementwise: // elementary functions of f64 are those of a backend's library
		if n.Out[0].Spec.DType == tensor.F64 && ulps[n.Op.Name] > 0.5 && n.Op.Name != "cast" {
			return false
		}
	}
	return n.Op.Name != "scatter" || n.Str("reduce") != "add" && n.Str("reduce") != "mul"
}

// Check compares got, what the node that makes v gave for it on the operands in,
// with want, the float64 result on the same operands, and says which element is
// too far from it. NaN and infinities are to be where the reference has them,
// once it is rounded to the type of v.
func Check(v *ir.Value, in []*tensor.Tensor, got, want *tensor.Tensor) error {
	return check(v, in, got, want, 0)
}

// flushed is what a result may lose on a device that takes numbers below the smallest
// normal one for 0, in each of 2^14 places.
const flushed = 0x1p-112

// CheckFlushed is [Check] for such a device. No operand has such numbers.
func CheckFlushed(v *ir.Value, in []*tensor.Tensor, got, want *tensor.Tensor) error {
	return check(v, in, got, want, flushed)
}

func check(v *ir.Value, in []*tensor.Tensor, got, want *tensor.Tensor, lost float64) error {
	n, spec := v.Def, v.Spec
	if !ir.SpecOf(got).Equal(spec) {
		return fmt.Errorf("the result is %v, declared %v", ir.SpecOf(got), spec)
	}
	if !spec.DType.IsFloat() {
		if !tensor.Identical(got, want) {
			return fmt.Errorf("the result is %v, the reference %v", got, want)
		}
		return nil
	}
	limit, err := of(n, spec.DType, in, want)
	if err != nil {
		return err
	}
	for i := range want.Len() {
		if err := element(n, got.DType(), got.Elem(i), want.Elem(i), limit(i)+lost); err != nil {
			return fmt.Errorf("element %d is %g, the reference %g%w", i, got.Elem(i), want.Elem(i), err)
		}
	}
	return nil
}

// element compares one element; the error continues the sentence that names the
// numbers.
func element(n *ir.Node, dtype tensor.DType, x, y, limit float64) error {
	d := math.Abs(x - y)
	switch {
	case math.IsInf(limit, 1):
	case finite(x) && finite(y):
		if !(d <= limit) {
			return fmt.Errorf("; the difference %.3g exceeds the bound %.3g", d, limit)
		}
		if y == 0 && keepsZeroSign(n) && math.Signbit(x) != math.Signbit(y) {
			return fmt.Errorf(": the sign of zero differs")
		}
	case math.IsInf(x, 0) && finite(y): // it may be just beyond the largest number
		if narrow(dtype, y+math.Copysign(limit, x)) != x {
			return fmt.Errorf("; it is infinite, and the bound %.3g", limit)
		}
	default:
		if y = narrow(dtype, y); x != y && (x == x || y == y) {
			return fmt.Errorf("; one is not finite")
		}
	}
	return nil
}

func finite(v float64) bool { return v-v == 0 }

// narrow rounds a reference value to the type of the result, where it may
// overflow.
func narrow(dtype tensor.DType, v float64) float64 {
	switch dtype {
	case tensor.F32:
		return float64(float32(v))
	case tensor.F16, tensor.BF16:
		return float64(tensor.RoundToHalf(dtype, v))
	}
	return v
}

// keepsZeroSign reports whether a zero result must have the sign of the
// reference. Sums start from +0 and are left out.
func keepsZeroSign(n *ir.Node) bool {
	return slices.Contains([]ir.Class{ir.Elementwise, ir.Movement, ir.Constant, ir.State}, n.Op.Class)
}

// limits gives the largest permitted error of element i. Elements are asked for
// in order.
type limits func(i int) float64

func exact(int) float64 { return 0 }

// of returns the limits of a result of the given type. Half-precision operators
// compute in float32 and round once more, unless they are exact.
func of(n *ir.Node, out tensor.DType, in []*tensor.Tensor, want *tensor.Tensor) (limits, error) {
	single, err := inSingle(n, in, want)
	switch {
	case err != nil || out == tensor.F32:
		return single, err
	case out == tensor.F64:
		return inDouble(n, want, single), nil
	case isAttention(n):
		single = weighted(n, out, in, single)
	}
	return func(i int) float64 {
		half := tensor.ULP(out, want.Elem(i))
		switch b := single(i); {
		case n.Op.Class == ir.Fused: // its steps round to half precision too
			return ulps["fused"] * half
		case b == 0:
			return 0
		default:
			return b + half/2
		}
	}, nil
}

// inDouble are the limits of a computation in float64, given those of the same in
// float32. The reference errs by as much again, so that only results that are rounded
// once are equal to it.
func inDouble(n *ir.Node, want *tensor.Tensor, single limits) limits {
	const narrower = 0x1p-29 // the unit roundoff of float64 in that of float32
	if n.Op.Class != ir.Elementwise {
		return func(i int) float64 { return 2 * narrower * single(i) }
	}
	units := ulps[n.Op.Name]
	if n.Op.Name == "gelu" && n.Str("approximate") == "tanh" {
		return func(i int) float64 { return 2 * narrower * single(i) }
	}
	switch {
	case units <= 0.5 || n.Op.Name == "cast":
		return exact
	case n.Op.Name == "pow": // the reference takes a step for each bit of the exponent
		units = 32
	}
	return func(i int) float64 { return 2 * units * tensor.ULP(tensor.F64, want.Elem(i)) }
}

// inSingle are the limits of a computation in float32.
func inSingle(n *ir.Node, in []*tensor.Tensor, want *tensor.Tensor) (limits, error) {
	switch n.Op.Name {
	case "max", "min", "max_pool2d", "top_k":
		return exact, nil
	case "prod":
		return ofFactors(in[0], want), nil
	case "cumsum":
		return ofSum(n, in, in[0].Dim(n.Int("axis")))
	case "scatter":
		return ofScatter(n, in)
	case "avg_pool2d":
		kernel := n.Ints("kernel")
		return ofSum(n, in, int(kernel[0]*kernel[1]))
	case "softmax":
		return ofSoftmax(in[0], want, n.Int("axis")), nil
	case "log_softmax":
		return ofLogSoftmax(in[0], want, n.Int("axis")), nil
	case "layer_norm", "rms_norm":
		return ofNorm(n, in, want), nil
	}
	switch n.Op.Class {
	case ir.Contraction:
		return ofContraction(n, in)
	case ir.Reduction:
		return ofSum(n, in, in[0].Len()/max(1, want.Len()))
	case ir.Constant, ir.Movement, ir.State, ir.Transfer:
		return exact, nil
	}
	units := ulps[n.Op.Name]
	return func(i int) float64 {
		b := units
		if n.Op.Name == "gelu" && n.Str("approximate") == "tanh" {
			b += tanhSlope(in[0].Elem(i))
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

// overflows reports whether float32 numbers that add up to at most v in
// magnitude may have a sum that is not finite.
func overflows(v float64) bool { return !(v < math.MaxFloat32*(1-1e-5)) }
