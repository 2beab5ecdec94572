package op

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// vectorsOf is the slice of vectors of one type. The pointers avoid an
// allocation per call.
func vectorsOf[T tensor.Element](v *ir.Vectors) [][]T {
	var s any
	switch any(*new(T)).(type) {
	case float32:
		s = &v.F32
	case float64:
		s = &v.F64
	case int64:
		s = &v.I64
	case int32:
		s = &v.I32
	default:
		s = &v.Bool
	}
	return *s.(*[][]T)
}

// each is the kernel of a function of one element.
func each[T, R tensor.Element](f func(T) R) ir.Kernel {
	return func(v *ir.Vectors, dst int, args []int) error {
		out := vectorsOf[R](v)[dst]
		x := vectorsOf[T](v)[args[0]][:len(out)]
		for i := range out {
			out[i] = f(x[i])
		}
		return nil
	}
}

// zip is the kernel of a function of two elements.
func zip[T, R tensor.Element](f func(a, b T) R) ir.Kernel {
	return func(v *ir.Vectors, dst int, args []int) error {
		out := vectorsOf[R](v)[dst]
		in := vectorsOf[T](v)
		a, b := in[args[0]][:len(out)], in[args[1]][:len(out)]
		for i := range out {
			out[i] = f(a[i], b[i])
		}
		return nil
	}
}

// byOperand picks a kernel by the type of the first operand that a reference
// evaluation or half precision leaves: see [ir.Vectors]. A nil kernel is for
// types that inference refuses.
func byOperand(f32, f64, i64, i32, boolean ir.Kernel) ir.Scalar {
	return func(_ *ir.Node, in []tensor.DType, _ tensor.DType) ir.Kernel {
		switch in[0] {
		case tensor.F64:
			return f64
		case tensor.I64:
			return i64
		case tensor.I32:
			return i32
		case tensor.Bool:
			return boolean
		}
		return f32
	}
}

// mapped declares an elementwise operator of one float operand.
func mapped(name, doc string, flops int64, f32 func(float32) float32, f64 func(float64) float64) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Elementwise,
		Operands: []string{"x"},
		Types:    floats.String(),
		Infer:    inferElementwise(floats),
		Scalar:   byOperand(each(f32), each(f64), nil, nil, nil),
		Eval:     evalElementwise,
		FLOPs:    perOutput(flops),
	}
}
