package display

import (
	"fmt"
	"strings"
)

// Graph describes a directed graph to draw. It follows the conventions of DOT:
// a node or cluster that is only mentioned exists with its ID as label, and of
// two nodes or clusters with one ID the later counts. Cycles, self-loops and
// parallel edges are allowed.
type Graph struct {
	Name      string // title of the drawing; may be empty
	Direction Direction
	Theme     Theme
	Whole     bool // show repeated blocks each
	Nodes     []Node
	Edges     []Edge
	Clusters  []Cluster
}

// Direction is where edges point.
type Direction uint8

// Directions of drawing.
const (
	TopDown Direction = iota
	LeftRight
)

// Node is one box of a graph.
type Node struct {
	ID      string
	Label   string // first line, an operator and its attributes; the ID if empty
	Sub     string // second line, such as a shape; may be empty
	Class   Class
	Tooltip string // longer text shown on hovering; may be empty
	Cluster string // ID of the cluster that the node stands in; may be empty
	// Kind is what the node does and to what types, without its name: equal blocks of
	// nodes are drawn once, see [Graph.Folded]. If empty, Label, Sub and Class tell.
	Kind string
}

// Edge is one arrow. Edges that leave a node by the same FromPort start at one
// point, as the uses of one value do; edges that enter by the same ToPort end
// at one point. Edges without a ToPort each end at a point of their own. The
// names of ports are shown inside the node.
type Edge struct {
	From, FromPort string
	To, ToPort     string
	Label          string
	Tooltip        string // shown on hovering; may be empty
}

// Cluster is a box around nodes, such as the operators of one fused kernel.
type Cluster struct {
	ID      string
	Label   string // the ID if empty
	Tooltip string
}

// Display shows the graph in every form: as a picture that a front end cannot
// alter (SVG, PNG), and as an indented list for terminals. A graph too large for a
// picture shows as a list, and a long list is cut. Of repeated blocks one is shown,
// see [Graph.Folded]; the whole graph unfolds below. Front ends that draw Mermaid would
// prefer it to any picture, with thin lines, without colours that follow their theme,
// and after a while: it is there on request, from [Graph.Mermaid].
func (g Graph) Display() Bundle {
	if !g.Whole {
		if folded, is := g.Folded(); is {
			return g.unfolding(folded)
		}
	}
	text := firstLines(g.ASCII(), listedLines)
	b := Bundle{Data: map[string]any{mimeText: text}, Metadata: map[string]any{}}
	p, err := g.picture()
	if err != nil {
		b.Data[mimeText] = fmt.Sprintf("%s\n(no picture: %v)", text, err)
		return b
	}
	b.Data[mimeSVG] = p.svg()
	if p.scale() >= pngLegible {
		png, err := p.png()
		if err != nil {
			b.Data[mimeText] = fmt.Sprintf("%s\n(no PNG: %v)", text, err)
			return b
		}
		b.Data[mimePNG] = png
		b.Metadata[mimePNG] = p.pngHints()
	}
	return b
}

// unfoldedBytes is how large a drawing of a whole graph may be that stands below the
// folded one.
const unfoldedBytes = 1 << 20

// unfolding shows the folded graph, and the whole one on request: in a part of the
// page that opens without a script. Front ends without HTML show the folded one.
func (g Graph) unfolding(folded Graph) Bundle {
	folded.Whole = true
	b := folded.Display()
	svg, is := b.Data[mimeSVG].(string)
	if !is {
		return b
	}
	page := "<div>" + Image(svg, folded.label()) + "</div>"
	if whole, err := g.SVG(); err == nil && len(whole) <= unfoldedBytes {
		page += fmt.Sprintf(`<details><summary style="cursor:pointer;font-size:12px">all %s</summary>%s</details>`, Count(len(g.resolve().nodes), "node"), Image(whole, g.label()))
	}
	b.Data[mimeHTML] = page
	return b
}

// listedLines is the length of a list before it is cut.
const listedLines = 1000

func firstLines(s string, limit int) string {
	at := 0
	for range limit {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s
		}
		at += i + 1
	}
	if rest := strings.Count(s[at:], "\n"); rest > 0 {
		return fmt.Sprintf("%s... %d more\n", s[:at], rest)
	}
	return s
}

// SVG is the drawing as an SVG document. It fails for graphs too large to lay
// out.
func (g Graph) SVG() (string, error) {
	p, err := g.picture()
	if err != nil {
		return "", err
	}
	return p.svg(), nil
}

// PNG is the drawing as a PNG image with two pixels to each CSS pixel; a large
// drawing gets fewer, so that no side exceeds 8,000 pixels. It fails for
// graphs too large to lay out.
func (g Graph) PNG() ([]byte, error) {
	p, err := g.picture()
	if err != nil {
		return nil, err
	}
	return p.png()
}

// resolved is a graph with every name looked up.
type resolved struct {
	nodes    []Node
	clusters []Cluster
	cluster  []int // of each node, or -1
	from, to []int // of each edge
}

func (g *Graph) resolve() *resolved {
	r := &resolved{}
	nodes := map[string]int{}
	for _, n := range g.Nodes {
		if i, ok := nodes[n.ID]; ok {
			r.nodes[i] = n
			continue
		}
		nodes[n.ID] = len(r.nodes)
		r.nodes = append(r.nodes, n)
	}
	node := func(id string) int {
		i, ok := nodes[id]
		if !ok {
			i = len(r.nodes)
			nodes[id] = i
			r.nodes = append(r.nodes, Node{ID: id})
		}
		return i
	}
	for _, e := range g.Edges {
		r.from = append(r.from, node(e.From))
		r.to = append(r.to, node(e.To))
	}
	r.resolveClusters(g.Clusters)
	for i := range r.nodes {
		if r.nodes[i].Label == "" {
			r.nodes[i].Label = r.nodes[i].ID
		}
	}
	return r
}

func (r *resolved) resolveClusters(declared []Cluster) {
	clusters := map[string]int{}
	add := func(c Cluster) {
		if c.Label == "" {
			c.Label = c.ID
		}
		if i, ok := clusters[c.ID]; ok {
			r.clusters[i] = c
			return
		}
		clusters[c.ID] = len(r.clusters)
		r.clusters = append(r.clusters, c)
	}
	for _, c := range declared {
		add(c)
	}
	for _, n := range r.nodes {
		if n.Cluster == "" {
			r.cluster = append(r.cluster, -1)
			continue
		}
		if _, ok := clusters[n.Cluster]; !ok {
			add(Cluster{ID: n.Cluster})
		}
		r.cluster = append(r.cluster, clusters[n.Cluster])
	}
}
