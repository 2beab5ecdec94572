package ir

import (
	"fmt"
	"strings"
)

// Line is the node in one line: its result, its operator with its operands and attributes, what a
// fused region consists of, and where the program has it.
func (n *Node) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %v = %s", n.Out[0], n.Out[0].Spec, n.Op.Name)
	for i, v := range n.In {
		fmt.Fprintf(&b, "%s %v", [2]string{"", ","}[min(i, 1)], v)
	}
	b.WriteString(n.Attrs.Text())
	if n.Body != nil {
		var ops []string
		for _, m := range n.Body.Nodes {
			if m.Op.Class != Constant {
				ops = append(ops, m.Op.Name)
			}
		}
		fmt.Fprintf(&b, " (%s)", strings.Join(ops, ", "))
	}
	if len(n.Pos) > 0 && n.Pos[0].IsKnown() {
		fmt.Fprintf(&b, "  # %v", n.Pos[0])
	}
	return b.String()
}

// Text is the attributes as the text form has them: " {axis = 1}"; empty for none.
func (a Attrs) Text() string {
	p := &printer{}
	p.attrs(a)
	return p.b.String()
}
