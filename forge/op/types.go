package op

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// typeSet is a set of element types that an operand may have.
type typeSet []tensor.DType

var (
	floats   = typeSet{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	integers = typeSet{tensor.I64, tensor.I32}
	numbers  = slices.Concat(floats, integers)
	booleans = typeSet{tensor.Bool}
	anyType  = slices.Concat(numbers, booleans)
)

// String is "f32, f64, f16 or bf16".
func (s typeSet) String() string {
	names := make([]string, len(s))
	for i, d := range s {
		names[i] = d.String()
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return names[0]
}

// check refuses a value whose element type is not in the set.
func (s typeSet) check(v *ir.Value) error {
	if slices.Contains(s, v.Spec.DType) {
		return nil
	}
	return fmt.Errorf("operand %v has type %v; %v is needed", v, v.Spec.DType, s)
}

// sameType checks that the values have one element type, of the set.
func sameType(values []*ir.Value, allowed typeSet) (tensor.DType, error) {
	first := values[0]
	for _, v := range values {
		if err := allowed.check(v); err != nil {
			return 0, err
		}
		if v.Spec.DType != first.Spec.DType {
			return 0, fmt.Errorf("operands %v and %v have different types, %v and %v; cast one of them", first, v, first.Spec.DType, v.Spec.DType)
		}
	}
	return first.Spec.DType, nil
}

// sameFloat checks that all operands have one floating-point type.
func sameFloat(n *ir.Node) (tensor.DType, error) { return sameType(n.In, floats) }

// broadcastAll is the shape that all operands broadcast to.
func broadcastAll(values []*ir.Value) ([]int, error) {
	shape := slices.Clone(values[0].Spec.Shape)
	for _, v := range values[1:] {
		var err error
		if shape, err = Broadcast(shape, v.Spec.Shape); err != nil {
			return nil, err
		}
	}
	return shape, nil
}

// inferElementwise is the inference of operators whose operands all have one
// type of the set and broadcast; the result has the type too.
func inferElementwise(allowed typeSet) func(*ir.Node) ([]ir.Spec, error) {
	return func(n *ir.Node) ([]ir.Spec, error) {
		dtype, err := sameType(n.In, allowed)
		if err != nil {
			return nil, err
		}
		shape, err := broadcastAll(n.In)
		if err != nil {
			return nil, err
		}
		return []ir.Spec{{DType: dtype, Shape: shape}}, nil
	}
}
