package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/tensor"
)

// Display draws the graph.
func (g *Graph) Display() display.Bundle { return g.Drawing().Display() }

// Drawing describes the graph as a picture: a box per input, operator and
// output, with its spec below, and a frame around each fused kernel, whose
// operators are drawn inside.
func (g *Graph) Drawing() display.Graph {
	d := &drawing{g: display.Graph{Name: g.Name}, box: make(map[*Value]string), taken: make(map[string]bool)}
	for v := range g.Values {
		d.taken[v.Name] = v.Def == nil || v.Def.Body == nil
	}
	for _, v := range g.Inputs {
		d.add(v, display.Node{ID: v.Name, Label: v.Name, Sub: v.Spec.String(), Class: display.ClassInput})
	}
	for _, n := range g.Nodes {
		if n.Body != nil {
			d.kernel(n)
		} else {
			d.node(n, n.Out[0].Name, "", n.Out[0].Spec)
		}
	}
	for i, v := range g.Outputs {
		if i != slices.Index(g.Outputs, v) {
			continue // the same value again
		}
		id := "output " + v.String()
		d.g.Nodes = append(d.g.Nodes, display.Node{ID: id, Label: "output", Sub: v.Spec.String(), Class: display.ClassOutput})
		d.edge(v, id)
	}
	return d.g
}

type drawing struct {
	g   display.Graph
	box map[*Value]string // the box that shows each value's producer
	// taken holds the boxes' names outside kernels, so that a value in a kernel
	// can go by its own name where that is unique.
	taken map[string]bool
}

func (d *drawing) add(v *Value, n display.Node) {
	if pos := v.Pos(); pos.IsKnown() && n.Tooltip == "" {
		n.Tooltip = pos.String()
	}
	d.g.Nodes = append(d.g.Nodes, n)
	d.box[v] = n.ID
}

func (d *drawing) edge(from *Value, to string) {
	d.port(from, to, "")
}

// port is an edge into a named place of a box.
func (d *drawing) port(from *Value, to, port string) {
	e := display.Edge{From: d.box[from], To: to, ToPort: port, Label: edgeLabel(from)}
	if from.Def == nil || from.Def.Body == nil {
		e.Tooltip = fmt.Sprintf("%v: %v, %s", from, from.Spec, display.FormatBytes(from.Spec.Bytes()))
	}
	d.g.Edges = append(d.g.Edges, e)
}

// edgeLabel tells the results of one box apart, by their names and types.
func edgeLabel(v *Value) string {
	if v.Def == nil || len(v.Def.Out) == 1 {
		return ""
	}
	return v.String() + ": " + v.Spec.String()
}

// ports names the operands of a node where their order matters to a reader: of three
// or more different ones.
func ports(n *Node) []string {
	names := make([]string, len(n.In))
	if len(n.In) < 3 || n.Op.Variadic || len(n.Op.Operands) < len(n.In) {
		return names
	}
	copy(names, n.Op.Operands)
	return names
}

// node draws an operator that computes values of the given spec.
func (d *drawing) node(n *Node, id, cluster string, spec Spec) {
	v := n.Out[0]
	box := display.Node{ID: id, Label: nodeLabel(n), Sub: spec.String(), Class: drawnClass[n.Op.Class], Cluster: cluster}
	if !isNumber(v.Name) {
		box.Sub = v.Name + ": " + box.Sub
	}
	box.Kind = box.Label + " " + spec.String()
	if len(n.Out) > 1 { // the edges that leave the box tell the results apart
		box.Sub = resultList(n.Out)
	}
	var listing printer
	listing.node(n, "")
	box.Tooltip = strings.TrimSpace(listing.b.String())
	d.add(v, box)
	for _, out := range n.Out[1:] {
		d.box[out] = id
	}
	names := ports(n)
	for i, in := range n.In {
		d.port(in, id, names[i])
	}
}

// resultList writes "%a: f32[2], %b: f32[3]".
func resultList(values []*Value) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.String() + ": " + v.Spec.String()
	}
	return strings.Join(list, ", ")
}

// kernel draws the body of a fused node. Its operators are scalar programs
// over the shape of the result, so they are labelled with that shape.
func (d *drawing) kernel(n *Node) {
	frame := n.Out[0].Name
	d.g.Clusters = append(d.g.Clusters, display.Cluster{ID: frame, Label: "fused kernel " + n.Out[0].String()})
	for i, s := range n.Body.Inputs {
		d.box[s] = d.box[n.In[i]]
	}
	for _, m := range n.Body.Nodes {
		spec := n.Out[0].Spec
		if m.Op.Class == Constant {
			spec = m.Out[0].Spec
		}
		id := m.Out[0].Name
		if d.taken[id] {
			id = frame + "/" + id
		}
		d.taken[id] = true
		d.node(m, id, frame, spec)
	}
	d.box[n.Out[0]] = d.box[n.Body.Outputs[0]]
}

// Drawn is the class of boxes that nodes of operators of class c are drawn as.
func (c Class) Drawn() display.Class { return drawnClass[c] }

var drawnClass = map[Class]display.Class{
	Constant:    display.ClassConstant,
	Elementwise: display.ClassElementwise,
	Contraction: display.ClassContraction,
	Reduction:   display.ClassReduction,
	Normalise:   display.ClassReduction,
	Movement:    display.ClassMovement,
	Fused:       display.ClassFused,
	State:       display.ClassState,
	Transfer:    display.ClassTransfer,
}

// nodeLabel is the operator's name with the attributes that its result's shape
// does not show; a scalar constant is its value.
func nodeLabel(n *Node) string {
	if t := n.Tensor("value"); t != nil {
		if t.Rank() == 0 {
			return formatElement(t, 0)
		}
		return n.Op.Name
	}
	if n.Op.Class == Movement {
		return n.Op.Name
	}
	label := n.Op.Name
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		switch v := n.Attrs[name].(type) {
		case *tensor.Tensor:
		case float64: // rounded to float32, it has digits that nobody wrote
			label += fmt.Sprintf(" %s=%.6g", name, v)
		default:
			label += fmt.Sprintf(" %s=%v", name, v)
		}
	}
	return label
}
