package pt2

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// operand is a tensor or a number that takes part in an elementwise operator.
type operand struct {
	tensor *ir.Value
	number *number
}

// either is an argument that is a tensor or a number.
func (c *call) either(name string) operand {
	a := c.must(name)
	if len(a.Names) == 1 && !a.List {
		if v := c.lookup(a.Names[0]); v.number == nil {
			return operand{tensor: c.program(v)}
		}
	}
	return operand{number: c.number(name)}
}

// category orders types: bools, integers, floats.
func category(d tensor.DType) kind {
	switch {
	case d.IsFloat():
		return floatKind
	case d == tensor.Bool:
		return boolKind
	}
	return intKind
}

// promoted is the smallest type that holds both, by PyTorch's table.
func promoted(a, b tensor.DType) tensor.DType {
	ca, cb := category(a), category(b)
	switch {
	case a == b || ca > cb:
		return a
	case cb > ca:
		return b
	case ca == intKind || a == tensor.F64 || b == tensor.F64:
		return wider(a, b)
	}
	return tensor.F32 // of f16 and bf16, or beside f32
}

func wider(a, b tensor.DType) tensor.DType {
	if a.Size() >= b.Size() {
		return a
	}
	return b
}

// common is the type in which operands meet. A tensor without dimensions decides only
// if its category is above that of the others, and a number likewise below that.
func common(list ...operand) tensor.DType {
	var groups [3]tensor.DType // tensors with dimensions, those without, numbers
	var there [3]bool
	for _, o := range list {
		group, dtype := 0, tensor.DType(0)
		switch {
		case o.tensor == nil:
			group, dtype = 2, map[kind]tensor.DType{boolKind: tensor.Bool, intKind: tensor.I64, floatKind: tensor.F32}[o.number.kind]
		case o.tensor.Spec.Rank() == 0:
			group, dtype = 1, o.tensor.Spec.DType
		default:
			dtype = o.tensor.Spec.DType
		}
		if there[group] {
			dtype = promoted(groups[group], dtype)
		}
		groups[group], there[group] = dtype, true
	}
	best, found := tensor.DType(0), false
	for g, dtype := range groups {
		if there[g] && (!found || category(dtype) > category(best)) {
			best, found = dtype, true
		}
	}
	return best
}

// as is an operand as a value of a type.
func (c *call) as(o operand, dtype tensor.DType) *ir.Value {
	if o.tensor == nil {
		return c.literal(o.number, dtype)
	}
	return c.Cast(o.tensor, dtype)
}

// floating is the type of a result that is a float whatever the operand is.
func floating(d tensor.DType) tensor.DType {
	if d.IsFloat() {
		return d
	}
	return tensor.F32
}
