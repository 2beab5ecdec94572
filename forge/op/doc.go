package op

import (
	"fmt"
	"strings"

	"forgekernel/forge/ir"
)

// Doc is the operator table in Markdown, generated from the registrations. The
// file OPERATORS.md holds it.
func Doc() string {
	var b strings.Builder
	b.WriteString("# Operators\n\nGenerated from the registrations in this package.\n\n")
	b.WriteString(rules)
	b.WriteString("| operator | class | operand types | attributes | FLOPs | meaning |\n|---|---|---|---|---|---|\n")
	for _, op := range Registry.All() {
		class := op.Class.String()
		if op.View {
			class += ", view"
		}
		if op.PassOnly {
			class += ", made by passes only"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", Signature(op), class, typeNames.Replace(op.Types), attrDocs(op), op.FLOPs.Doc, op.Doc)
	}
	return b.String()
}

// typeNames shortens the type sets in the table.
var typeNames = strings.NewReplacer(anyType.String(), "any", numbers.String(), "number", floats.String(), "float", integers.String(), "integer")

// rules are what all operators share.
const rules = `A float is f32, f64, f16 or bf16, an integer i64 or i32, and a number either. Operands have one element type and one
device unless a row says otherwise; elementwise operators broadcast by NumPy's rule. Dimensions of length 0 and 1 are
legal everywhere, except that max, min, argmax and argmin need an element to pick.

f16 and bf16 are computed in f32, sums included, and every operator rounds its result once, to nearest even. Integers
wrap around; their division truncates toward zero, and dividing by zero is an error of the run. NaN and infinities follow
IEEE 754: a NaN operand gives NaN, also through relu, max and maximum, except where a row says otherwise; a comparison
with NaN is false, and ne is true.

A view charges no traffic, nor does a constant; any other operator charges the bytes of each different operand and those
of its results. Attributes of a graph are in canonical form: axes count from the front, and what depends on the operands'
shapes is written out.

`

// Signature writes an operator's operands and attributes: "softmax(x, axis=-1)".
func Signature(op *ir.Op) string {
	var args []string
	for i, name := range op.Operands {
		switch {
		case op.Variadic && i == len(op.Operands)-1:
			name += "..."
		case i >= len(op.Operands)-op.Optional:
			name = "[" + name + "]"
		}
		args = append(args, name)
	}
	for _, a := range op.Attrs {
		switch {
		case a.Default != nil:
			args = append(args, fmt.Sprintf("%s=%v", a.Name, a.Default))
		case a.Required:
			args = append(args, a.Name)
		default:
			args = append(args, "["+a.Name+"]")
		}
	}
	return op.Name + "(" + strings.Join(args, ", ") + ")"
}

func attrDocs(op *ir.Op) string {
	var docs []string
	for _, a := range op.Attrs {
		docs = append(docs, fmt.Sprintf("%s (%v): %s", a.Name, a.Kind, a.Doc))
	}
	return strings.Join(docs, "; ")
}
