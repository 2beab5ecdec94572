package onnx

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// mutate changes one thing of a model, or of the values at hand: an
// attribute, an operand, a shape, a type, the version.
func (r randomNode) mutate(p *proto.Model, v map[string]*tensor.Tensor) {
	n := p.Graph.Nodes[r.IntN(len(p.Graph.Nodes))]
	switch r.IntN(8) {
	case 0, 1, 2:
		if len(n.Attrs) == 0 {
			n.Attrs = r.attributes()
			return
		}
		r.mutateAttribute(n.Attrs[r.IntN(len(n.Attrs))])
	case 3, 4:
		if len(n.Inputs) == 0 {
			return
		}
		n.Inputs[r.IntN(len(n.Inputs))] = append(n.Inputs, "")[r.IntN(len(n.Inputs)+1)]
	case 5:
		p.Opsets[0].Version = 1 + r.Int64N(MaxOpset)
	default:
		if len(v) == 0 {
			return
		}
		name := slices.Sorted(maps.Keys(v))[r.IntN(len(v))]
		v[name] = r.mutateValue(v[name])
		for _, in := range p.Graph.Inputs {
			if in.Name == name {
				*in = *info(name, in.Type.Elem, formula.Int64s(v[name].Shape())...)
			}
		}
	}
}

func (r randomNode) mutateAttribute(a *proto.Attribute) {
	switch {
	case r.IntN(10) == 0:
		a.Name = "_" + a.Name
	case a.Type == proto.IntType:
		a.I = r.integer()
	case a.Type == proto.FloatType:
		a.F = r.real()
	case a.Type == proto.StringType && len(randomTexts[a.Name]) > 0:
		a.S = []byte(randomTexts[a.Name][r.IntN(len(randomTexts[a.Name]))])
	case len(a.Ints) > 0 && r.IntN(3) == 0:
		a.Ints = a.Ints[:len(a.Ints)-1]
	case len(a.Ints) > 0:
		a.Ints[r.IntN(len(a.Ints))] = r.integer()
	}
}

// mutateValue changes an element of integers that may act as an attribute, or the
// shape.
func (r randomNode) mutateValue(v *tensor.Tensor) *tensor.Tensor {
	if v.DType() == tensor.I64 && v.Len() > 0 && r.IntN(2) == 0 {
		v = v.Clone()
		v.Int64()[r.IntN(v.Len())] = r.integer()
		return v
	}
	shape := slices.Clone(v.Shape())
	switch {
	case len(shape) == 0 || r.IntN(4) == 0 && len(shape) < tensor.MaxRank:
		shape = append(shape, 1+r.IntN(2))
	case r.IntN(4) == 0:
		shape = shape[:len(shape)-1]
	default:
		shape[r.IntN(len(shape))] = r.IntN(4)
	}
	t, err := tensor.Full(v.DType(), 1, shape...)
	if err != nil {
		return v
	}
	return t
}

// Cases that work are changed a little, which reaches deeper than nonsense: there is
// an error or a valid graph.
func TestMutatedCases(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for i, c := range readCases(t) {
		r := randomNode{Rand: rand.New(rand.NewPCG(uint64(i), 2))}
		values := c.values(t)
		for range rounds {
			r.tryMutated(t, c, values)
		}
	}
}

func (r randomNode) tryMutated(t *testing.T, c jsonCase, values map[string]*tensor.Tensor) {
	p, err := proto.Decode(slices.Clone(c.Model))
	if err != nil {
		t.Fatal(err)
	}
	v := maps.Clone(values)
	for range 1 + r.IntN(3) {
		r.mutate(p, v)
	}
	m, err := Read("mutated.onnx", encode(p))
	if err != nil {
		return
	}
	if g, err := m.Graph(t.Context(), importer.Binding{Values: v}); err == nil {
		if err := ir.Verify(g.Graph); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// FuzzMutated is the same for any seed.
func FuzzMutated(f *testing.F) {
	cases := readCases(f)
	var values []map[string]*tensor.Tensor
	for i, c := range cases {
		values = append(values, c.values(f))
		f.Add(uint64(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := randomNode{Rand: rand.New(rand.NewPCG(seed, 0))}
		for range 16 {
			i := r.IntN(len(cases))
			r.tryMutated(t, cases[i], values[i])
		}
	})
}
