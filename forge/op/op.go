// Package op implements the operators of the IR: one registration per
// operator, one file per family.
//
// A registration is an [ir.Op]: operands, attribute whitelist, shape
// inference, evaluation on host tensors, cost and documentation. Everything
// else that the workbench says about an operator, such as the table in
// OPERATORS.md, is generated from it.
//
// All operators follow IEEE 754: NaN operands give NaN results (also through
// relu, maximum and max), infinities and signed zeros are kept. Float32
// arithmetic rounds every operation to float32 and takes its elementary
// functions from package mathf; float64 arithmetic takes them from package
// math, so that it can serve as an independent reference. Half precision, f16
// and bf16, is computed in float32, and each operator rounds once, when it
// stores its result; a fused kernel rounds where the operators in it would.
// Integers wrap around.
//
// Elementwise operators are scalar kernels on vectors ([ir.Scalar]), which the
// same loop runs one by one or as the program of a fused node. A view says in
// strides where its results lie ([ir.Layout]), and one evaluation serves all.
package op

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// Registry holds every operator.
var Registry = ir.NewRegistry(slices.Concat(
	constants, arithmetic, elementary, activations, comparisons, logic, casts, contractions,
	reductions, argReductions, softmaxes, norms, views, joins, gathers, fusedOps,
	linears, convolutions, pools, attentions, cachedAttentions, ropes, caches, collectives,
	scans, sorts, scatters,
)...)

// float is an element type that arithmetic is defined on.
type float interface{ float32 | float64 }

// noFLOPs is the cost of an operator that only moves data.
var noFLOPs = ir.FLOPs{Doc: "0", Of: func(*ir.Node) int64 { return 0 }}

// perOutput is the cost of k operations for each result element.
func perOutput(k int64) ir.FLOPs {
	return ir.FLOPs{
		Doc: fmt.Sprintf("%d per output", k),
		Of:  func(n *ir.Node) int64 { return k * int64(n.Out[0].Spec.Elements()) },
	}
}
