package conformance

import (
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var (
	floats   = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	numbers  = append(slices.Clone(floats), tensor.I64, tensor.I32)
	allTypes = append(slices.Clone(numbers), tensor.Bool)
)

// operandTypes lists the operators whose operands may have other types than
// floating-point ones.
var operandTypes = map[string][]tensor.DType{
	"and": {tensor.Bool}, "or": {tensor.Bool}, "not": {tensor.Bool},
	"add": numbers, "sub": numbers, "mul": numbers, "div": numbers, "maximum": numbers, "minimum": numbers,
	"prod": numbers, "cumsum": numbers, "top_k": numbers, "scatter": numbers,
	"neg": numbers, "abs": numbers, "sum": numbers, "max": numbers, "min": numbers, "argmax": numbers, "argmin": numbers,
	"lt": numbers, "le": numbers, "gt": numbers, "ge": numbers, "eq": allTypes, "ne": allTypes, "fused": numbers,
	"where": allTypes, "cast": allTypes, "const": allTypes, "gather": allTypes, "concat": allTypes, "pad": allTypes,
	"reshape": allTypes, "transpose": allTypes, "narrow": allTypes, "split": allTypes, "expand": allTypes,
}

// Types gives the element types that [RunOperator] has cases in.
func Types(o *ir.Op) []tensor.DType { return slices.Clone(typesOf(o)) }

// typesOf gives the element types that an operator is defined on.
func typesOf(o *ir.Op) []tensor.DType {
	if list := operandTypes[o.Name]; list != nil {
		return list
	}
	return floats
}
