package op

import (
	"fmt"
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var casts = []*ir.Op{{
	Name: "cast",
	Doc: "The elements in another type. To a float: rounded once to nearest even, beyond the range an infinity. " +
		"To an integer: truncated toward zero and saturated at the ends of the range, NaN gives 0. To bool: not equal to zero (NaN is true); from bool: 1 or 0.",
	Class:    ir.Elementwise,
	Operands: []string{"x"},
	Types:    anyType.String(),
	Attrs: []ir.AttrDecl{{
		Name: "dtype", Kind: ir.StringAttr, Required: true, Doc: "the new type",
		OneOf: []string{"f32", "f64", "f16", "bf16", "i64", "i32", "bool"},
	}},
	Infer: func(n *ir.Node) ([]ir.Spec, error) {
		dtype, ok := tensor.ParseDType(n.Str("dtype"))
		if !ok {
			return nil, fmt.Errorf("%q is not an element type", n.Str("dtype"))
		}
		return []ir.Spec{ir.Spec{DType: dtype, Shape: n.In[0].Spec.Shape}.Clone()}, nil
	},
	Scalar: func(_ *ir.Node, in []tensor.DType, out tensor.DType) ir.Kernel {
		switch in[0] {
		case tensor.F64:
			return castFloat[float64](out)
		case tensor.I64:
			return castInteger[int64](out)
		case tensor.I32:
			return castInteger[int32](out)
		case tensor.Bool:
			return castBool(out)
		}
		return castFloat[float32](out)
	},
	Eval:  evalElementwise,
	FLOPs: noFLOPs,
}}

func castFloat[T float](to tensor.DType) ir.Kernel {
	switch to {
	case tensor.F64:
		return each(func(x T) float64 { return float64(x) })
	case tensor.I64:
		return each(func(x T) int64 { return tensor.Saturate64(float64(x)) })
	case tensor.I32:
		return each(func(x T) int32 { return clamp32(tensor.Saturate64(float64(x))) })
	case tensor.Bool:
		return each(func(x T) bool { return x != 0 })
	case tensor.F16, tensor.BF16: // in one step: by way of f32 an f64 could be rounded twice
		return each(func(x T) float32 { return tensor.RoundToHalf(to, float64(x)) })
	}
	return each(func(x T) float32 { return float32(x) })
}

func castInteger[T integer](to tensor.DType) ir.Kernel {
	switch to {
	case tensor.F64:
		return each(func(x T) float64 { return float64(x) })
	case tensor.I64:
		return each(func(x T) int64 { return int64(x) })
	case tensor.I32:
		return each(func(x T) int32 { return clamp32(int64(x)) })
	case tensor.Bool:
		return each(func(x T) bool { return x != 0 })
	case tensor.F16, tensor.BF16:
		return each(func(x T) float32 { return tensor.RoundToHalf(to, tensor.OddFloat64(int64(x))) })
	}
	return each(func(x T) float32 { return float32(x) })
}

func castBool(to tensor.DType) ir.Kernel {
	switch to {
	case tensor.F64:
		return each(one[float64])
	case tensor.I64:
		return each(one[int64])
	case tensor.I32:
		return each(one[int32])
	case tensor.Bool:
		return each(func(x bool) bool { return x })
	}
	return each(one[float32])
}

func one[T number](x bool) T {
	if x {
		return 1
	}
	return 0
}

func clamp32(x int64) int32 { return int32(min(max(x, math.MinInt32), math.MaxInt32)) }
