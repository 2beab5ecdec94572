package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"math"
	"slices"

	"forgekernel/forge/tensor"
)

// Equal reports whether two graphs are the same in everything: structure,
// specs, attributes, names and positions.
func Equal(a, b *Graph) bool {
	if a.Name != b.Name || len(a.Inputs) != len(b.Inputs) || len(a.Nodes) != len(b.Nodes) {
		return false
	}
	counterpart := make(map[*Value]*Value)
	same := func(x, y []*Value) bool {
		return slices.EqualFunc(x, y, func(v, w *Value) bool { return counterpart[v] == w })
	}
	define := func(x, y []*Value) bool {
		return slices.EqualFunc(x, y, func(v, w *Value) bool {
			counterpart[v] = w
			return v.Name == w.Name && v.Spec.Equal(w.Spec) && v.InputPos == w.InputPos
		})
	}
	if !define(a.Inputs, b.Inputs) {
		return false
	}
	for i, n := range a.Nodes {
		m := b.Nodes[i]
		if n.Op != m.Op || !same(n.In, m.In) || !n.Attrs.Equal(m.Attrs) || !slices.Equal(n.Pos, m.Pos) ||
			(n.Body == nil) != (m.Body == nil) || n.Body != nil && !Equal(n.Body, m.Body) || !define(n.Out, m.Out) {
			return false
		}
	}
	return same(a.Outputs, b.Outputs)
}

// Hash identifies the structure of a graph: operators, attributes, constants,
// specs and connections, but neither names nor source positions. It is a
// SHA-256 in hexadecimal.
func (g *Graph) Hash() string {
	h := hasher{Hash: sha256.New()}
	h.graph(g)
	return hex.EncodeToString(h.Sum(nil))
}

// Key identifies what a node computes, given numbers for the values that it
// reads: nodes with equal keys have equal results.
func (n *Node) Key(number map[*Value]int) string {
	h := hasher{Hash: sha256.New()}
	h.node(n, number)
	return string(h.Sum(nil))
}

// hasher writes self-delimiting fields, so that different structures never
// give the same bytes.
type hasher struct{ hash.Hash }

func (h hasher) int(i int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(i))
	h.Write(b[:])
}

func (h hasher) str(s string) {
	h.int(len(s))
	h.Write([]byte(s))
}

func (h hasher) spec(s Spec) {
	h.int(int(s.DType))
	h.int(len(s.Shape))
	for _, d := range s.Shape {
		h.int(d)
	}
	h.str(string(s.Device))
}

func (h hasher) graph(g *Graph) {
	number := make(map[*Value]int)
	define := func(list []*Value) {
		h.int(len(list))
		for _, v := range list {
			number[v] = len(number)
			h.spec(v.Spec)
		}
	}
	define(g.Inputs)
	h.int(len(g.Nodes))
	for _, n := range g.Nodes {
		h.node(n, number)
		define(n.Out)
	}
	h.uses(g.Outputs, number)
}

func (h hasher) node(n *Node, number map[*Value]int) {
	h.str(n.Op.Name)
	h.uses(n.In, number)
	h.attrs(n.Attrs)
	if n.Body != nil {
		h.graph(n.Body)
	}
}

func (h hasher) uses(list []*Value, number map[*Value]int) {
	h.int(len(list))
	for _, v := range list {
		h.int(number[v])
	}
}

func (h hasher) attrs(attrs Attrs) {
	h.int(len(attrs))
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		h.str(name)
		switch v := attrs[name].(type) {
		case bool:
			h.str("bool")
			if v {
				h.int(1)
			} else {
				h.int(0)
			}
		case int64:
			h.str("int")
			h.int(int(v))
		case float64:
			h.str("float")
			h.int(int(math.Float64bits(v)))
		case string:
			h.str("string")
			h.str(v)
		case []int64:
			h.str("ints")
			h.int(len(v))
			for _, x := range v {
				h.int(int(x))
			}
		case *tensor.Tensor:
			h.str("tensor")
			h.spec(SpecOf(v))
			h.Write(v.Encode())
		}
	}
}
