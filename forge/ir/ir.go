// Package ir is the compiler's program form: a typed SSA dataflow graph.
//
// A [Graph] has inputs, nodes and outputs. Every [Value] is defined once, by
// the input list or by a [Node], and has a static [Spec]: element type and
// shape. Nodes stand in definition order, so a node's operands are inputs or
// results of earlier nodes. Printed, a graph reads
//
//	graph layer(%x: f32[8,16] @ "mlp.fs":1:11, %w: f32[16,12] @ "mlp.fs":1:14) {
//	  %0: f32[8,12] = matmul %x, %w @ "mlp.fs":2:12
//	  %1: f32[] = const {value = f32[] 2.0} @ "mlp.fs":2:18
//	  %y: f32[8,12] = mul %0, %1 @ "mlp.fs":2:16
//	  return %y
//	}
//
// and [Parse] reads that text back into an equal graph. A constant is a node
// without operands. A node may have several results, "%a: …, %b: … = split %x".
// A fused node carries a body: the scalar program that it applies to every
// element. Values live on the host unless their spec says "on cuda:0".
//
// What an operator means is declared here as [Op] and implemented in package
// op, one registration per operator, so that every stage treats operators as
// data. Graphs are built with a [Builder], which runs shape inference at each
// step, and checked by [Verify].
package ir

import (
	"slices"
	"strconv"
)

// Pos is a place in the program that the user wrote.
type Pos struct {
	Source string `json:"source"` // "mlp.fs", "cell 3"
	Line   int    `json:"line"`   // 1-based; 0 when unknown
	Col    int    `json:"col"`    // 1-based, in code points
}

// IsKnown reports whether p names a place.
func (p Pos) IsKnown() bool { return p.Line > 0 }

// valid reports whether p is a place that the text form can hold.
func (p Pos) valid() bool { return p.Line >= 1 && p.Col >= 0 }

// String writes "mlp.fs:2:10", or "" for an unknown position.
func (p Pos) String() string {
	if !p.IsKnown() {
		return ""
	}
	return p.Source + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Value is one SSA value.
type Value struct {
	Name string // unique in its graph; printed as %Name
	Spec Spec
	Def  *Node // the producer; nil for a graph input
	// InputPos is where a graph input was declared. The position of any other
	// value is that of its node; see [Value.Pos].
	InputPos Pos
}

// Pos is where the program text defines the value.
func (v *Value) Pos() Pos {
	if v.Def == nil {
		return v.InputPos
	}
	if len(v.Def.Pos) == 0 {
		return Pos{}
	}
	return v.Def.Pos[0]
}

// Owner is the value whose storage v shares through views; v itself when it is
// no view.
func (v *Value) Owner() *Value {
	for v.Def != nil && v.Def.Op.View {
		v = v.Def.In[0]
	}
	return v
}

// String is "%name".
func (v *Value) String() string { return "%" + v.Name }

// Node applies an operator to values.
type Node struct {
	Op    *Op
	In    []*Value
	Out   []*Value
	Attrs Attrs
	// Body is the scalar program of a fused node, nil for any other.
	Body *Graph
	// Pos holds every source position that this node implements: first the one
	// of its result, then those that passes merged into it.
	Pos []Pos
}

// Graph is a program with static shapes.
type Graph struct {
	Name    string
	Inputs  []*Value
	Nodes   []*Node
	Outputs []*Value
}

// Values calls yield for every value in definition order.
func (g *Graph) Values(yield func(*Value) bool) {
	for _, v := range g.Inputs {
		if !yield(v) {
			return
		}
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			if !yield(v) {
				return
			}
		}
	}
}

// Uses maps each value to the nodes that read it, one entry per operand
// position, in program order. Being a graph output is not a use.
func (g *Graph) Uses() map[*Value][]*Node {
	uses := make(map[*Value][]*Node)
	for _, n := range g.Nodes {
		for _, v := range n.In {
			uses[v] = append(uses[v], n)
		}
	}
	return uses
}

// IsOutput reports whether v is an output of the graph.
func (g *Graph) IsOutput(v *Value) bool { return slices.Contains(g.Outputs, v) }

// Clone copies the graph. Operators and constant tensors, which are
// immutable, are shared.
func (g *Graph) Clone() *Graph {
	c := &Graph{Name: g.Name}
	copies := make(map[*Value]*Value)
	copyOf := func(v *Value, def *Node) *Value {
		w := &Value{Name: v.Name, Spec: v.Spec.Clone(), Def: def, InputPos: v.InputPos}
		copies[v] = w
		return w
	}
	for _, v := range g.Inputs {
		c.Inputs = append(c.Inputs, copyOf(v, nil))
	}
	for _, n := range g.Nodes {
		m := &Node{Op: n.Op, Attrs: n.Attrs.Clone(), Pos: slices.Clone(n.Pos)}
		if n.Body != nil {
			m.Body = n.Body.Clone()
		}
		for _, v := range n.In {
			m.In = append(m.In, copies[v])
		}
		for _, v := range n.Out {
			m.Out = append(m.Out, copyOf(v, m))
		}
		c.Nodes = append(c.Nodes, m)
	}
	for _, v := range g.Outputs {
		c.Outputs = append(c.Outputs, copies[v])
	}
	return c
}
