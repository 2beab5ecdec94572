package op

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Comparisons with a NaN are false, except ne, which is true; 0 equals -0.
var comparisons = []*ir.Op{
	comparison("eq", "Whether a equals b; false if either is NaN.", anyType, byOperand(zip(equal[float32]), zip(equal[float64]), zip(equal[int64]), zip(equal[int32]), zip(equal[bool]))),
	comparison("ne", "Whether a differs from b; true if either is NaN.", anyType, byOperand(zip(unequal[float32]), zip(unequal[float64]), zip(unequal[int64]), zip(unequal[int32]), zip(unequal[bool]))),
	comparison("lt", "Whether a is below b; false if either is NaN.", numbers, byOperand(zip(below[float32]), zip(below[float64]), zip(below[int64]), zip(below[int32]), nil)),
	comparison("le", "Whether a is at most b; false if either is NaN.", numbers, byOperand(zip(atMost[float32]), zip(atMost[float64]), zip(atMost[int64]), zip(atMost[int32]), nil)),
	comparison("gt", "Whether a is above b; false if either is NaN.", numbers, byOperand(zip(above[float32]), zip(above[float64]), zip(above[int64]), zip(above[int32]), nil)),
	comparison("ge", "Whether a is at least b; false if either is NaN.", numbers, byOperand(zip(atLeast[float32]), zip(atLeast[float64]), zip(atLeast[int64]), zip(atLeast[int32]), nil)),
}

func equal[T comparable](a, b T) bool   { return a == b }
func unequal[T comparable](a, b T) bool { return a != b }
func below[T number](a, b T) bool       { return a < b }
func atMost[T number](a, b T) bool      { return a <= b }
func above[T number](a, b T) bool       { return a > b }
func atLeast[T number](a, b T) bool     { return a >= b }

func comparison(name, doc string, allowed typeSet, kernels ir.Scalar) *ir.Op {
	infer := inferElementwise(allowed)
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Elementwise,
		Operands: []string{"a", "b"},
		Types:    allowed.String() + "; gives bool",
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			specs, err := infer(n)
			if err != nil {
				return nil, err
			}
			specs[0].DType = tensor.Bool
			return specs, nil
		},
		Scalar: kernels,
		Eval:   evalElementwise,
		FLOPs:  perOutput(1),
	}
}

var logic = []*ir.Op{
	logical("and", "Whether both a and b are true.", []string{"a", "b"}, zip(func(a, b bool) bool { return a && b })),
	logical("or", "Whether a or b or both are true.", []string{"a", "b"}, zip(func(a, b bool) bool { return a || b })),
	logical("not", "Whether x is false.", []string{"x"}, each(func(x bool) bool { return !x })),
	where,
}

func logical(name, doc string, operands []string, kernel ir.Kernel) *ir.Op {
	return &ir.Op{
		Name: name, Doc: doc, Class: ir.Elementwise,
		Operands: operands,
		Types:    booleans.String(),
		Infer:    inferElementwise(booleans),
		Scalar:   byOperand(nil, nil, nil, nil, kernel),
		Eval:     evalElementwise,
		FLOPs:    noFLOPs,
	}
}

var where = &ir.Op{
	Name:     "where",
	Doc:      "a where cond is true, else b; the element that is not taken has no influence, NaN or not.",
	Class:    ir.Elementwise,
	Operands: []string{"cond", "a", "b"},
	Types:    "cond bool; a and b of one type, any",
	Infer: func(n *ir.Node) ([]ir.Spec, error) {
		if err := booleans.check(n.In[0]); err != nil {
			return nil, err
		}
		dtype, err := sameType(n.In[1:], anyType)
		if err != nil {
			return nil, err
		}
		shape, err := broadcastAll(n.In)
		if err != nil {
			return nil, err
		}
		return []ir.Spec{{DType: dtype, Shape: shape}}, nil
	},
	Scalar: func(_ *ir.Node, _ []tensor.DType, out tensor.DType) ir.Kernel {
		switch out {
		case tensor.F64:
			return choose[float64]
		case tensor.I64:
			return choose[int64]
		case tensor.I32:
			return choose[int32]
		case tensor.Bool:
			return choose[bool]
		}
		return choose[float32]
	},
	Eval:  evalElementwise,
	FLOPs: noFLOPs,
}

func choose[T tensor.Element](v *ir.Vectors, dst int, args []int) error {
	out, in := vectorsOf[T](v)[dst], vectorsOf[T](v)
	cond, a, b := v.Bool[args[0]], in[args[1]], in[args[2]]
	for i := range out {
		if cond[i] {
			out[i] = a[i]
		} else {
			out[i] = b[i]
		}
	}
	return nil
}
