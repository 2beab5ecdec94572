package fuzz

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/script"
	"forgekernel/forge/tensor"
)

// forgeScript writes a graph as a ForgeScript function. It is false where the
// language cannot say it: the text is traced again, and must give a graph of
// the same structure.
func forgeScript(g *ir.Graph) (string, bool) {
	w := &scriptWriter{names: make(map[*ir.Value]string)}
	params := make([]string, len(g.Inputs))
	specs := make([]ir.Spec, len(g.Inputs))
	for i, v := range g.Inputs {
		w.names[v] = fmt.Sprint("x", i)
		params[i] = w.names[v] + ": " + v.Spec.String()
		specs[i] = v.Spec
	}
	for i, n := range g.Nodes {
		if len(n.Out) != 1 || !w.node(n, fmt.Sprint("t", i)) {
			return "", false
		}
	}
	results := make([]string, len(g.Outputs))
	for i, v := range g.Outputs {
		results[i] = w.names[v]
	}
	text := fmt.Sprintf("def %s(%s):\n%s    return %s\n", g.Name, strings.Join(params, ", "), w.b.String(), strings.Join(results, ", "))
	file, err := script.Parse("fuzz.fs", text, nil, script.Limits{})
	if err != nil {
		return "", false
	}
	traced, err := file.Funcs[0].Trace(nil, specs)
	if err != nil || traced.Graph.Hash() != g.Hash() {
		return "", false
	}
	return text, true
}

type scriptWriter struct {
	b     strings.Builder
	names map[*ir.Value]string // what stands for each value: a name or a number
}

var infix = map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@"}

// node writes an assignment, or notes a number.
func (w *scriptWriter) node(n *ir.Node, name string) bool {
	v := n.Out[0]
	if t := n.Tensor("value"); t != nil {
		if t.Rank() != 0 || t.DType() != tensor.F32 {
			return false
		}
		w.names[v] = strconv.FormatFloat(t.Elem(0), 'g', -1, 32)
		return true
	}
	operands := make([]string, len(n.In))
	for i, u := range n.In {
		operands[i] = w.names[u]
	}
	if sign := infix[n.Op.Name]; sign != "" && n.Attrs == nil {
		fmt.Fprintf(&w.b, "    %s = %s %s %s\n", name, operands[0], sign, operands[1])
	} else {
		fmt.Fprintf(&w.b, "    %s = %s(%s)\n", name, n.Op.Name, strings.Join(append(operands, arguments(n)...), ", "))
	}
	w.names[v] = name
	return true
}

// arguments writes attributes as named arguments, and shapes and permutations
// as whole numbers.
func arguments(n *ir.Node) []string {
	var list []string
	for _, d := range n.Op.Attrs {
		switch a := n.Attrs[d.Name].(type) {
		case []int64:
			if d.Name == "axes" && len(a) == 1 {
				list = append(list, fmt.Sprintf("axis=%d", a[0]))
				continue
			}
			for _, i := range a {
				list = append(list, strconv.FormatInt(i, 10))
			}
		case bool:
			list = append(list, d.Name+"="+map[bool]string{true: "True", false: "False"}[a])
		case nil:
		default:
			list = append(list, fmt.Sprintf("%s=%v", d.Name, a))
		}
	}
	return slices.Clip(list)
}
