package display

import (
	"fmt"
	"forgekernel/display/internal/cells"
	"forgekernel/display/internal/palette"
	"slices"
	"strings"
)

// Mermaid is the graph as the text of a Mermaid flowchart, whatever its size.
// Every character that Mermaid or the Markdown within its labels could take
// for syntax is written as a character code.
func (g Graph) Mermaid() string {
	r := g.resolve()
	var b strings.Builder
	if len(r.clusters) > 0 {
		// Otherwise the first node of a cluster touches its title.
		b.WriteString("%%{init: {\"flowchart\": {\"subGraphTitleMargin\": {\"top\": 4, \"bottom\": 24}}}}%%\n")
	}
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
		fmt.Fprintf(&b, "  end\n  style c%d %s\n", c, mermaidCluster)
	}
	for i, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -->%s n%d\n", r.from[i], mermaidEdge(e), r.to[i])
	}
	g.mermaidClasses(&b, r)
	return b.String()
}

// mermaidCluster reads well on light and dark ground: the front end chooses the
// ground and the colour of the arrows across it.
const mermaidCluster = "fill:#8c959f1a,stroke:#8c959f,color:#7d8590,stroke-dasharray:5 4"

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
		t := g.Theme.palette().Tint(string(class))
		fmt.Fprintf(b, "  classDef k%d fill:%s,stroke:%s,color:%s\n", i, palette.Hex(t.Fill), palette.Hex(t.Stroke), palette.Hex(t.Text))
		fmt.Fprintf(b, "  class %s k%d\n", strings.Join(members[class], ","), i)
	}
}

// wordJoiner is invisible. It parts pairs that Mermaid looks for even after it
// has decoded character codes: the $$ of a formula and the \n of a line break.
const wordJoiner = '\u2060'

// mermaidText writes s for a quoted Mermaid string. An empty label would not
// parse; a space does.
func mermaidText(s string) string {
	var b strings.Builder
	text := []rune(cells.OneLine(s))
	for i, r := range text {
		if i > 0 && (text[i-1] == '$' && r == '$' || text[i-1] == '\\') {
			b.WriteRune(wordJoiner)
		}
		if plainInMermaid(text, i) {
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

// plainInMermaid reports whether a character has no meaning where it stands in
// a quoted string. Brackets, commas and parentheses, frequent in shapes, are
// safe; points, hyphens and underscores are so within a word.
func plainInMermaid(text []rune, i int) bool {
	switch r := text[i]; r {
	case ' ', ',', '(', ')', '[', ']', '/', '=':
		return true
	case '.', '-', '_':
		return i > 0 && i+1 < len(text) && isWord(text[i-1]) && isWord(text[i+1])
	default:
		return isWord(r)
	}
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r >= 0xa0
}
