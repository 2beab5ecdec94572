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
	b.WriteString("| operator | class | attributes | FLOPs | meaning |\n|---|---|---|---|---|\n")
	for _, op := range Registry.All() {
		class := op.Class.String()
		if op.View {
			class += ", view"
		}
		if op.PassOnly {
			class += ", made by passes only"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", Signature(op), class, attrDocs(op), op.FLOPs.Doc, op.Doc)
	}
	return b.String()
}

// Signature writes an operator's operands and attributes: "softmax(x, axis=-1)".
func Signature(op *ir.Op) string {
	var args []string
	for i, name := range op.Operands {
		if op.Variadic && i == len(op.Operands)-1 {
			name += "..."
		}
		if i >= len(op.Operands)-op.Optional {
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
