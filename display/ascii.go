package display

import (
	"fmt"
	"strings"

	"forgekernel/display/internal/cells"
)

// ASCII is the graph as a list for terminals, a line for each node in the
// order given: its ID, its label with the nodes that its edges come from, and
// its second line. The nodes of a cluster stand together, indented.
//
//	mlp: 4 nodes, 3 edges
//	  x                     f32[8,16]
//	  w                     f32[16,4]
//	  fused 0:
//	    h  = matmul(x, w)   f32[8,4]
//	    y  = relu(h)        f32[8,4]
func (g Graph) ASCII() string {
	r := g.resolve()
	l := opList{args: make([][]string, len(r.nodes))}
	for i, e := range g.Edges {
		l.args[r.to[i]] = append(l.args[r.to[i]], argument(e))
	}
	listed := make([]bool, len(r.clusters))
	for i, n := range r.nodes {
		c := r.cluster[i]
		if c < 0 {
			l.add("  ", i, n)
			continue
		}
		if listed[c] {
			continue
		}
		listed[c] = true
		l.lines = append(l.lines, opLine{head: "  " + cells.OneLine(r.clusters[c].Label) + ":", heading: true})
		for j, m := range r.nodes {
			if r.cluster[j] == c {
				l.add("    ", j, m)
			}
		}
	}
	name := cells.OneLine(g.Name)
	if name == "" {
		name = "graph"
	}
	return fmt.Sprintf("%s: %s, %s\n%s", name, Count(len(r.nodes), "node"), Count(len(g.Edges), "edge"), l.text())
}

// Count writes "1 node" or "3 nodes".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// argument is how an edge reads at its target: "x", "lhs=x", "split.1".
func argument(e Edge) string {
	s := cells.OneLine(e.From)
	if e.FromPort != "" {
		s += "." + cells.OneLine(e.FromPort)
	}
	if e.ToPort != "" {
		s = cells.OneLine(e.ToPort) + "=" + s
	}
	if e.Label != "" {
		s += " [" + cells.OneLine(e.Label) + "]"
	}
	return s
}

// opList collects the lines of a list, to align them at the end.
type opList struct {
	args  [][]string // of each node
	lines []opLine
}

// opLine is a node in three columns, or the heading of a cluster.
type opLine struct {
	head, call, sub string
	heading         bool
}

const listedArguments = 8

func (l *opList) add(indent string, i int, n Node) {
	line := opLine{head: indent + cells.OneLine(n.ID), sub: cells.OneLine(n.Sub)}
	args := l.args[i]
	if extra := len(args) - listedArguments; extra > 0 {
		args = append(args[:listedArguments:listedArguments], fmt.Sprintf("%d more", extra))
	}
	if len(args) > 0 {
		// What follows the operator in a label is its attributes.
		op, attrs, found := strings.Cut(cells.OneLine(n.Label), " ")
		line.call = "= " + op + "(" + strings.Join(args, ", ") + ")"
		if found {
			line.call += " " + attrs
		}
	} else if n.Label != n.ID {
		line.call = "= " + cells.OneLine(n.Label)
	}
	line.call = strings.ReplaceAll(line.call, "\u00a0", " ") // after the signs of a diff
	l.lines = append(l.lines, line)
}

// text aligns the columns. One very long line does not move all others.
func (l *opList) text() string {
	const widest = 56
	head, call := 0, 0
	for _, line := range l.lines {
		if w := cells.Width(line.head); !line.heading && w <= widest {
			head = max(head, w)
		}
		if w := cells.Width(line.call); w <= widest {
			call = max(call, w)
		}
	}
	var b strings.Builder
	for _, line := range l.lines {
		s := line.head
		if !line.heading {
			s = cells.PadRight(s, head) + " " + cells.PadRight(line.call, call) + "  " + line.sub
		}
		b.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	return b.String()
}
