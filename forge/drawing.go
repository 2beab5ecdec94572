package forge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// drawing describes a graph for display: one box per operator, the operators
// of a fused kernel in a box around them. Scalar constants are written into
// their readers, "mul(·, 2)", as boxes of their own would hide the flow.
func drawing(g *ir.Graph) display.Graph {
	d := &drawer{made: make(map[*ir.Value]string), scalar: make(map[*ir.Value]string)}
	d.Name = g.Name
	for _, v := range g.Inputs {
		d.made[v] = v.Name
		d.add(display.Node{ID: v.Name, Label: v.Name, Sub: v.Spec.String(), Class: display.ClassInput, Tooltip: at("input "+v.Name, v.Pos())})
	}
	for _, n := range g.Nodes {
		d.node(n, "")
	}
	for i, v := range g.Outputs {
		id := fmt.Sprintf("output %d", i)
		d.add(display.Node{ID: id, Label: "output", Sub: v.Spec.String(), Class: display.ClassOutput})
		d.edge(v, id, "")
	}
	return d.Graph
}

// drawer builds a drawing.
type drawer struct {
	display.Graph
	made   map[*ir.Value]string // the box that makes a value
	scalar map[*ir.Value]string // the text of a scalar constant without a box
}

func (d *drawer) add(n display.Node) { d.Nodes = append(d.Nodes, n) }

// edge draws the flow of v to an operand of a box. A scalar constant that
// something other than a label shows gets a box after all.
func (d *drawer) edge(v *ir.Value, to, port string) {
	if d.made[v] == "" {
		d.made[v] = v.Name
		d.add(display.Node{ID: v.Name, Label: d.scalar[v], Sub: v.Spec.String(), Class: display.ClassConstant})
	}
	d.Edges = append(d.Edges, display.Edge{From: d.made[v], To: to, ToPort: port})
}

// node draws one operator. In a kernel, the cluster makes its name unique in
// the whole drawing.
func (d *drawer) node(n *ir.Node, cluster string) {
	v := n.Out[0]
	if text, ok := scalarText(n); ok {
		d.scalar[v] = text
		return
	}
	if n.Body != nil {
		d.kernel(n)
		return
	}
	id := v.Name
	if cluster != "" {
		id = cluster + "/" + id
	}
	for _, out := range n.Out {
		d.made[out] = id
	}
	d.add(display.Node{ID: id, Label: d.label(n), Sub: v.Spec.String(), Class: classes[n.Op.Class], Tooltip: at(v.String(), n.Pos...), Cluster: cluster})
	for i, in := range n.In {
		if d.scalar[in] == "" {
			d.edge(in, id, port(n, i))
		}
	}
}

// kernel draws the operators of a fused node inside a box.
func (d *drawer) kernel(n *ir.Node) {
	id := "kernel " + n.Out[0].Name
	d.Clusters = append(d.Clusters, display.Cluster{ID: id, Label: "fused kernel " + n.Out[0].Spec.String(), Tooltip: at(n.Out[0].String(), n.Pos...)})
	for i, v := range n.Body.Inputs {
		d.made[v], d.scalar[v] = d.made[n.In[i]], d.scalar[n.In[i]]
	}
	for _, m := range n.Body.Nodes {
		d.node(m, id)
	}
	result := n.Body.Outputs[0]
	d.made[n.Out[0]], d.scalar[n.Out[0]] = d.made[result], d.scalar[result]
}

// label is the operator with its scalar operands and attributes.
func (d *drawer) label(n *ir.Node) string {
	var parts []string
	shown := false
	for _, in := range n.In {
		text := d.scalar[in]
		shown = shown || text != ""
		if text == "" {
			text = "·"
		}
		parts = append(parts, text)
	}
	if !shown {
		parts = nil
	}
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		if _, isTensor := n.Attrs[name].(*tensor.Tensor); !isTensor {
			parts = append(parts, name+"="+attrText(n.Attrs[name]))
		}
	}
	if parts == nil {
		return n.Op.Name
	}
	return n.Op.Name + "(" + strings.Join(parts, ", ") + ")"
}

func attrText(v any) string {
	list, ok := v.([]int64)
	if !ok {
		return fmt.Sprint(v)
	}
	items := make([]string, len(list))
	for i, x := range list {
		items[i] = strconv.FormatInt(x, 10)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// port names an operand where a box has several.
func port(n *ir.Node, i int) string {
	if len(n.In) < 2 || i >= len(n.Op.Operands) {
		return ""
	}
	return n.Op.Operands[i]
}

// scalarText is the value of a scalar constant.
func scalarText(n *ir.Node) (string, bool) {
	t := n.Tensor("value")
	if n.Op.Class != ir.Constant || t == nil || t.Rank() != 0 {
		return "", false
	}
	return strconv.FormatFloat(t.Item(), 'g', -1, bitsOf(t)), true
}

// bitsOf is the precision that shows a float as it was written.
func bitsOf(t *tensor.Tensor) int {
	if t.DType() == tensor.F64 {
		return 64
	}
	return 32
}

// at adds source positions to a text.
func at(text string, positions ...ir.Pos) string {
	for _, p := range positions {
		if p.IsKnown() {
			text += "\n" + p.String()
		}
	}
	return text
}

var classes = map[ir.Class]display.Class{
	ir.Constant:    display.ClassConstant,
	ir.Elementwise: display.ClassElementwise,
	ir.Contraction: display.ClassContraction,
	ir.Reduction:   display.ClassReduction,
	ir.Normalise:   display.ClassReduction,
	ir.Movement:    display.ClassMovement,
	ir.Fused:       display.ClassFused,
}
