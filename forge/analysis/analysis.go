// Package analysis measures a graph without running it: the work, the memory
// traffic and the depth of every node, what dominates them, and what
// optimisation changed.
//
// Units: FLOPs are floating-point operations as each operator counts them;
// traffic is the bytes of a node's distinct operands plus those of its results,
// which is what it moves if nothing stays in a cache; intensity is FLOPs per
// byte of traffic. Views and constants are free. A kernel is a node that is
// neither; depth counts the kernels on the longest chain that ends at a value.
package analysis

import (
	"cmp"
	"slices"

	"forgekernel/forge/ir"
)

// Node is the measure of one node that is not a constant.
type Node struct {
	Value  string   `json:"value"` // its first result: "%h"
	Op     string   `json:"op"`
	Class  string   `json:"class"`
	Body   []string `json:"body,omitempty"` // operators of a fused node, in order
	DType  string   `json:"dtype"`          // of the first result, as Shape is
	Shape  []int    `json:"shape"`
	FLOPs  int64    `json:"flops"`
	Bytes  int64    `json:"bytes"`
	Depth  int      `json:"depth"`
	View   bool     `json:"view"`
	Places []string `json:"places"` // in the source
	// Critical nodes lie on the critical path.
	Critical bool `json:"critical"`
}

// Intensity is FLOPs per byte, or 0 for a node that moves none.
func (n Node) Intensity() float64 { return intensity(n.FLOPs, n.Bytes) }

// Totals sum a graph up.
type Totals struct {
	Kernels   int   `json:"kernels"`
	Views     int   `json:"views"`
	Constants int   `json:"constants"`
	FLOPs     int64 `json:"flops"`
	Bytes     int64 `json:"bytes"`
	Depth     int   `json:"depth"`
}

// Intensity is FLOPs per byte of the whole graph.
func (t Totals) Intensity() float64 { return intensity(t.FLOPs, t.Bytes) }

func intensity(flops, bytes int64) float64 {
	if bytes == 0 {
		return 0
	}
	return float64(flops) / float64(bytes)
}

// Path is a chain of nodes, each of which reads the one before.
type Path struct {
	Values []string `json:"values"`
	FLOPs  int64    `json:"flops"`
	Bytes  int64    `json:"bytes"`
}

// Analysis is the measure of a graph.
type Analysis struct {
	Nodes  []Node `json:"nodes"` // in program order
	Totals Totals `json:"totals"`
	// Critical is the chain with the most FLOPs; of equal ones that with the
	// most traffic, then the longest. No number of cores makes the program
	// shorter than it.
	Critical Path `json:"critical_path"`
	// Top are the values of the nodes with the most FLOPs, at most [TopNodes],
	// those with more traffic first among equals. Nodes without FLOPs are not in
	// it.
	Top []string `json:"top"`
}

// TopNodes is the most nodes that [Analysis.Top] lists.
const TopNodes = 5

// chain is the costliest chain that ends at a node.
type chain struct {
	flops, bytes int64
	length       int
	before       int // index of the node before the end; -1 for none
}

// Of measures a valid graph.
func Of(g *ir.Graph) *Analysis {
	a := &Analysis{Nodes: []Node{}}
	m := measurer{depth: make(map[*ir.Value]int), at: make(map[*ir.Value]int)}
	for _, n := range g.Nodes {
		if n.Op.Class == ir.Constant {
			a.Totals.Constants++
			continue
		}
		a.Nodes = append(a.Nodes, m.node(n))
	}
	a.sum()
	a.Critical = m.critical(a.Nodes)
	a.Top = top(a.Nodes)
	return a
}

func (a *Analysis) sum() {
	for _, n := range a.Nodes {
		if n.View {
			a.Totals.Views++
		} else {
			a.Totals.Kernels++
		}
		a.Totals.FLOPs += n.FLOPs
		a.Totals.Bytes += n.Bytes
		a.Totals.Depth = max(a.Totals.Depth, n.Depth)
	}
}

// measurer walks a graph in program order.
type measurer struct {
	depth  map[*ir.Value]int
	at     map[*ir.Value]int // the measured node that defines a value
	chains []chain
}

func (m *measurer) node(n *ir.Node) Node {
	cost, out := n.Cost(), n.Out[0]
	d := Node{
		Value: out.String(), Op: n.Op.Name, Class: n.Op.Class.String(), View: n.Op.View,
		DType: out.Spec.DType.String(), Shape: append([]int{}, out.Spec.Shape...),
		FLOPs: cost.FLOPs, Bytes: cost.Bytes, Places: []string{},
	}
	if n.Body != nil {
		for _, b := range n.Body.Nodes {
			d.Body = append(d.Body, b.Op.Name)
		}
	}
	for _, p := range n.Pos {
		d.Places = append(d.Places, p.String())
	}
	best := chain{before: -1}
	for _, v := range n.In {
		d.Depth = max(d.Depth, m.depth[v])
		if i, ok := m.at[v]; ok && (best.before < 0 || m.chains[i].compare(best) > 0) {
			best = m.chains[i]
			best.before = i
		}
	}
	if !d.View {
		d.Depth++
	}
	best.flops += d.FLOPs
	best.bytes += d.Bytes
	best.length++
	for _, v := range n.Out {
		m.depth[v], m.at[v] = d.Depth, len(m.chains)
	}
	m.chains = append(m.chains, best)
	return d
}

func (c chain) compare(d chain) int {
	return cmp.Or(cmp.Compare(c.flops, d.flops), cmp.Compare(c.bytes, d.bytes), cmp.Compare(c.length, d.length))
}

// critical finds the costliest chain and marks its nodes.
func (m *measurer) critical(nodes []Node) Path {
	p := Path{Values: []string{}}
	if len(nodes) == 0 {
		return p
	}
	end := 0
	for i, c := range m.chains {
		if c.compare(m.chains[end]) > 0 {
			end = i
		}
	}
	p.FLOPs, p.Bytes = m.chains[end].flops, m.chains[end].bytes
	for i := end; i >= 0; i = m.chains[i].before {
		nodes[i].Critical = true
		p.Values = append(p.Values, nodes[i].Value)
	}
	slices.Reverse(p.Values)
	return p
}

func top(nodes []Node) []string {
	working := slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.FLOPs == 0 })
	slices.SortStableFunc(working, func(a, b Node) int {
		return cmp.Or(cmp.Compare(b.FLOPs, a.FLOPs), cmp.Compare(b.Bytes, a.Bytes))
	})
	list := []string{}
	for _, n := range working[:min(len(working), TopNodes)] {
		list = append(list, n.Value)
	}
	return list
}

// Node returns the node that defines a value, written "%h".
func (a *Analysis) Node(value string) (Node, bool) {
	i := slices.IndexFunc(a.Nodes, func(n Node) bool { return n.Value == value })
	if i < 0 {
		return Node{}, false
	}
	return a.Nodes[i], true
}
