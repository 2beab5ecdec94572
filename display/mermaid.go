package display

import (
	"fmt"
	"slices"
	"strings"
)

// Mermaid is the graph as the text of a Mermaid flowchart, whatever its size.
// Every character that Mermaid or the Markdown within its labels could take
// for syntax is written as a character code.
func (g Graph) Mermaid() string {
	r := g.resolve()
	var b strings.Builder
	b.WriteString("flowchart " + map[Direction]string{TopDown: "TD", LeftRight: "LR"}[g.Direction] + "\n")
	for i, n := range r.nodes {
		if r.cluster[i] < 0 {
			fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, mermaidNode(n))
		}
	}
	for c, group := range r.clusters {
		if !slices.Contains(r.cluster, c) {
			continue
		}
		fmt.Fprintf(&b, "  subgraph c%d [\"%s\"]\n", c, mermaidText(group.Label))
		for i, n := range r.nodes {
			if r.cluster[i] == c {
				fmt.Fprintf(&b, "    n%d[\"%s\"]\n", i, mermaidNode(n))
			}
		}
		b.WriteString("  end\n")
	}
	for i, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -->%s n%d\n", r.from[i], mermaidEdge(e), r.to[i])
	}
	g.mermaidClasses(&b, r)
	return b.String()
}

func mermaidNode(n Node) string {
	s := mermaidText(n.Label)
	if n.Sub != "" {
		s += "<br/>" + mermaidText(n.Sub)
	}
	return s
}

// mermaidEdge is the label of an edge, with the ports of its ends.
func mermaidEdge(e Edge) string {
	var parts []string
	for _, s := range []string{e.FromPort, e.Label, e.ToPort} {
		if s != "" {
			parts = append(parts, mermaidText(s))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return `|"` + strings.Join(parts, " ") + `"|`
}

// mermaidClasses colours the nodes of each class.
func (g *Graph) mermaidClasses(b *strings.Builder, r *resolved) {
	var order []Class
	members := map[Class][]string{}
	for i, n := range r.nodes {
		if n.Class == "" {
			continue
		}
		if members[n.Class] == nil {
			order = append(order, n.Class)
		}
		members[n.Class] = append(members[n.Class], fmt.Sprintf("n%d", i))
	}
	for i, class := range order {
		t := g.Theme.palette().tint(class)
		fmt.Fprintf(b, "  classDef k%d fill:%s,stroke:%s,color:%s\n", i, cssHex(t.fill), cssHex(t.stroke), cssHex(t.text))
		fmt.Fprintf(b, "  class %s k%d\n", strings.Join(members[class], ","), i)
	}
}

// mermaidText writes s for a quoted Mermaid string. An empty label would not
// parse; a space does.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		if plainInMermaid(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return " "
	}
	return b.String()
}

// plainInMermaid reports whether r has no meaning inside a quoted string.
// Brackets, commas and parentheses, frequent in shapes, are safe there.
func plainInMermaid(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r >= 0xa0:
		return true
	}
	return strings.ContainsRune(" ,()[]/=", r)
}
