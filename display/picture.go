package display

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/display/internal/canvas"
	"forgekernel/display/internal/cells"
	"forgekernel/display/internal/layered"
	"forgekernel/display/internal/palette"
)

// Measures of a drawing, in CSS pixels.
const (
	labelSize   = 13.0
	subSize     = 11.0
	smallSize   = 10.0 // port names, edge labels, legend
	nodePad     = 12.0 // beside the text in a node
	lineHeight  = 17.0
	portHeight  = 12.0 // of the row of port names in a node
	cardPad     = 18.0
	titleSize   = 14.0
	titleHeight = 19.0 // of a line
	titleGap    = 7.0
	titleWidth  = 320.0 // below which a title does not break
	arrowLength = 7.0
	arrowWidth  = 6.0
	longest     = 40 // characters of a line; the rest is in the tooltip
)

// picture is a graph, laid out and ready to draw.
type picture struct {
	graph  *Graph
	nodes  []Node
	groups []Cluster
	boxes  []nodeBox
	title  []string // its lines
	labels []string // of edges, cut to length
	layout *layered.Drawing
	colour *palette.Palette
	legend legend
	w, h   float64
}

// nodeBox is the inside of a node.
type nodeBox struct {
	layered.Node
	label, sub string
	ins, outs  []string // names of its ports; a nameless one is ""
}

// Limits of a picture: beyond them nobody could read it.
const (
	drawnNodes = 5000
	drawnEdges = 20_000
)

func (g Graph) picture() (*picture, error) {
	r := g.resolve()
	if len(r.nodes) > drawnNodes || len(g.Edges) > drawnEdges {
		return nil, fmt.Errorf("graph too large to draw: %s and %s, at most %d and %d",
			Count(len(r.nodes), "node"), Count(len(g.Edges), "edge"), drawnNodes, drawnEdges)
	}
	p := &picture{graph: &g, nodes: r.nodes, groups: r.clusters, colour: g.Theme.palette()}
	p.boxes = make([]nodeBox, len(r.nodes))
	edges := make([]layered.Edge, len(g.Edges))
	for i, e := range g.Edges {
		edges[i] = layered.Edge{From: r.from[i], To: r.to[i]}
		edges[i].OutPort = portIndex(&p.boxes[r.from[i]].outs, e.FromPort)
		edges[i].InPort = layered.None
		if e.ToPort != "" {
			edges[i].InPort = portIndex(&p.boxes[r.to[i]].ins, e.ToPort)
		}
		label := short(e.Label)
		p.labels = append(p.labels, label)
		if label != "" {
			edges[i].Label = layered.Size{W: canvas.Width(label, canvas.Regular, smallSize) + 8, H: smallSize + 5}
		}
	}
	p.completePorts(edges)
	lg := layered.Graph{Edges: edges, Horizontal: g.Direction == LeftRight}
	for i, n := range r.nodes {
		p.boxes[i].measure(n, lg.Horizontal)
		p.boxes[i].Cluster = r.cluster[i]
		lg.Nodes = append(lg.Nodes, p.boxes[i].Node)
	}
	for _, c := range r.clusters {
		lg.Clusters = append(lg.Clusters, layered.Cluster{Title: layered.Size{W: canvas.Width(short(c.Label), canvas.Medium, subSize) + 4, H: subSize + 5}})
	}
	var err error
	if p.layout, err = layered.Layout(lg); err != nil {
		return nil, err
	}
	p.frame()
	return p, nil
}

// portIndex finds a port by name, adding it if it is new.
func portIndex(ports *[]string, name string) int {
	i := slices.Index(*ports, name)
	if i < 0 {
		i = len(*ports)
		*ports = append(*ports, name)
	}
	return i
}

// completePorts gives a port to edges that name none but end at a node with
// named ports, so that the points do not coincide.
func (p *picture) completePorts(edges []layered.Edge) {
	for i := range edges {
		e := &edges[i]
		if ports := &p.boxes[e.To].ins; e.InPort == layered.None && len(*ports) > 0 {
			e.InPort = len(*ports)
			*ports = append(*ports, "")
		}
	}
}

// measure computes the size of a node and where its ports are.
func (b *nodeBox) measure(n Node, horizontal bool) {
	b.label, b.sub = short(n.Label), short(n.Sub)
	w := canvas.Width(b.label, canvas.Medium, labelSize)
	h := lineHeight + 13
	if b.sub != "" {
		w = max(w, canvas.Width(b.sub, canvas.Regular, subSize))
		h += lineHeight - 3
	}
	w += 2 * nodePad
	if horizontal {
		w += portsWidth(b.ins) + portsWidth(b.outs)
		h = max(h, float64(max(named(b.ins), named(b.outs)))*(portHeight+2)+8)
		b.In, b.Out = spread(len(b.ins), h-10), spread(len(b.outs), h-10)
	} else {
		if named(b.ins) > 0 {
			h += portHeight
		}
		if named(b.outs) > 0 {
			h += portHeight
		}
		w = max(w, portsRow(b.ins), portsRow(b.outs))
		b.In, b.Out = spread(len(b.ins), w-10), spread(len(b.outs), w-10)
	}
	b.W, b.H = math.Ceil(max(w, 44)), h
}

// named is how many ports have names to show.
func named(ports []string) int {
	n := 0
	for _, name := range ports {
		if name != "" {
			n++
		}
	}
	return n
}

// widestPort is the room of the longest port name; all ports get as much.
func widestPort(ports []string) float64 {
	w := 0.0
	for _, name := range ports {
		w = max(w, canvas.Width(short(name), canvas.Regular, smallSize))
	}
	return w
}

func portsRow(ports []string) float64 {
	return float64(len(ports)) * (widestPort(ports) + 8)
}

func portsWidth(ports []string) float64 {
	if named(ports) == 0 {
		return 0
	}
	return widestPort(ports) + 6
}

// spread puts n ports evenly over a side.
func spread(n int, side float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = side * ((float64(i)+0.5)/float64(n) - 0.5)
	}
	return out
}

// short makes s one line of limited length.
func short(s string) string { return cells.Short(s, longest) }

// frame computes the size of the card around the drawing, its title and its
// legend.
func (p *picture) frame() {
	p.w = max(p.layout.W, 120)
	p.h = p.layout.H
	p.title = canvas.Wrap(p.graph.Name, max(p.w, titleWidth), canvas.Medium, titleSize)
	for _, line := range p.title {
		p.w = max(p.w, canvas.Width(line, canvas.Medium, titleSize))
	}
	p.h += p.titleHeight()
	p.legend = newLegend(p.nodes, p.w)
	p.h += p.legend.height
	p.w, p.h = math.Ceil(p.w+2*cardPad), math.Ceil(p.h+2*cardPad)
}

// titleHeight is the room of the title, which may have several lines.
func (p *picture) titleHeight() float64 {
	if len(p.title) == 0 {
		return 0
	}
	return titleHeight*float64(len(p.title)) + titleGap
}

// legend explains the colours that a drawing uses, in rows at its foot.
type legend struct {
	entries []legendEntry
	height  float64
}

type legendEntry struct {
	class Class
	x, y  float64
}

const (
	swatch    = 10.0
	legendRow = 16.0
)

// newLegend lists the classes in the order of their first nodes. One class
// alone needs no explanation.
func newLegend(nodes []Node, width float64) legend {
	var l legend
	x, y := 0.0, 20.0
	for _, n := range nodes {
		if n.Class == "" || slices.ContainsFunc(l.entries, func(e legendEntry) bool { return e.class == n.Class }) {
			continue
		}
		w := swatch + 5 + canvas.Width(short(string(n.Class)), canvas.Regular, smallSize) + 14
		if x > 0 && x+w > width {
			x, y = 0, y+legendRow
		}
		l.entries = append(l.entries, legendEntry{n.Class, x, y})
		x += w
	}
	if len(l.entries) < 2 {
		return legend{}
	}
	l.height = y + swatch
	return l
}
