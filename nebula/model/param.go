package model

import (
	"fmt"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

// Kind says how a parameter is used.
type Kind string

// Kinds of parameters. Matrices and tables have the element type of the form,
// the others are f32.
const (
	Matrix Kind = "matrix" // [in, out] of a linear layer
	Table  Kind = "table"  // [rows, hidden] of an embedding
	Scale  Kind = "scale"  // [channels] of a norm
	Bias   Kind = "bias"   // [channels]
)

// Param is a parameter of a decoder and the part of it that one place holds.
type Param struct {
	Name  string // "layers.3.attention.q.weight"
	Kind  Kind
	Shape []int // of the whole parameter
	// Axis is the dimension that ranks divide, -1 when each holds the whole.
	// This place holds the elements From to To-1 of it.
	Axis     int
	From, To int
}

// PartShape is the shape of what the place holds.
func (p Param) PartShape() []int {
	shape := append([]int(nil), p.Shape...)
	if p.Axis >= 0 {
		shape[p.Axis] = p.To - p.From
	}
	return shape
}

// DType is the element type of the parameter in a form of the given type.
func (p Param) DType(form tensor.DType) tensor.DType {
	if p.Kind == Matrix || p.Kind == Table {
		return form
	}
	return tensor.F32
}

func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}

// Parameters is the number of parameters of the whole model.
func (c Config) Parameters() int64 {
	var n int64
	for _, p := range c.Params(shard.Single()) {
		n += elements(p.Shape)
	}
	return n
}

// WeightBytes is the size of the parameters that one place holds, with matrices
// and tables in the given type.
func (c Config) WeightBytes(p shard.Place, dtype tensor.DType) int64 {
	var n int64
	for _, w := range c.Params(p) {
		n += elements(w.PartShape()) * int64(w.DType(dtype).Size())
	}
	return n
}

// CacheBytes is the planned size of the key-value cache of one place for so many
// sequences of so many positions: 2 * L/P * B * S * h/T * d * w, where the
// place's own share of the layers and KV heads stands for L/P and h/T.
func (c Config) CacheBytes(p shard.Place, sequences, positions int, dtype tensor.DType) int64 {
	first, last := p.Layers(c.Layers)
	from, to := p.KVHeads(c.Dims())
	return 2 * elements([]int{last - first, sequences, positions, to - from, c.HeadDim, dtype.Size()})
}

// Params are the parameters that a place holds, in the order of the program.
// The place must be legal for the configuration. A tied head has no parameter of
// its own: the last stage has the embedding, too.
func (c Config) Params(p shard.Place) []Param {
	f, err := familyOf(c.Family)
	if err != nil {
		return nil
	}
	t := &table{c: c, place: p}
	from, to := p.Part(c.Vocab)
	if p.First() || p.Last() && c.Tied {
		t.add(embedding, Table, []int{c.Vocab, c.Hidden}, 0, from, to)
	}
	if p.First() && !f.rotary {
		t.whole(positions, Table, c.Context, c.Hidden)
	}
	first, last := p.Layers(c.Layers)
	for l := first; l < last; l++ {
		t.layer(f, l)
	}
	if p.Last() {
		t.norm(f, finalNorm)
		if !c.Tied {
			t.add(head+weight, Matrix, []int{c.Hidden, c.Vocab}, 1, from, to)
		}
	}
	return t.list
}

// Names of parameters. Those of layers begin with [layerName], those of linear
// layers and norms end with weight or bias.
const (
	embedding = "embedding"
	positions = "positions"
	finalNorm = "norm"
	head      = "head"

	attentionNorm   = "attention.norm"
	attentionQ      = "attention.q"
	attentionK      = "attention.k"
	attentionV      = "attention.v"
	attentionOutput = "attention.output"
	ffNorm          = "ff.norm"
	ffGate          = "ff.gate"
	ffUp            = "ff.up"
	ffDown          = "ff.down"

	weight = ".weight"
	bias   = ".bias"
)

// layerName is the name of a part of layer l: "layers.3.attention.q".
func layerName(l int, part string) string { return fmt.Sprintf("layers.%d.%s", l, part) }

// table collects the parameters of a place.
type table struct {
	c     Config
	place shard.Place
	list  []Param
}

func (t *table) add(name string, kind Kind, shape []int, axis, from, to int) {
	t.list = append(t.list, Param{Name: name, Kind: kind, Shape: shape, Axis: axis, From: from, To: to})
}

func (t *table) whole(name string, kind Kind, shape ...int) { t.add(name, kind, shape, -1, 0, 0) }

func (t *table) norm(f *family, name string) {
	t.whole(name+weight, Scale, t.c.Hidden)
	if f.layerNorm {
		t.whole(name+bias, Bias, t.c.Hidden)
	}
}

// columns adds a linear layer whose out channels from … to-1 this place holds,
// rows one whose in channels it holds. A bias of the latter is added to the sum
// over all ranks, which each of them has.
func (t *table) columns(name string, in, out, from, to int, biased bool) {
	t.add(name+weight, Matrix, []int{in, out}, 1, from, to)
	if biased {
		t.add(name+bias, Bias, []int{out}, 0, from, to)
	}
}

func (t *table) rows(name string, in, out, from, to int, biased bool) {
	t.add(name+weight, Matrix, []int{in, out}, 0, from, to)
	if biased {
		t.whole(name+bias, Bias, out)
	}
}

func (t *table) layer(f *family, l int) {
	c, d := t.c, t.c.HeadDim
	name := func(part string) string { return layerName(l, part) }
	qkvBias, outBias, ffBias := f.biases(c)
	q, qEnd := t.place.Heads(c.Dims())
	kv, kvEnd := t.place.KVHeads(c.Dims())
	ff, ffEnd := t.place.Part(c.FF)
	t.norm(f, name(attentionNorm))
	t.columns(name(attentionQ), c.Hidden, c.Heads*d, q*d, qEnd*d, qkvBias)
	t.columns(name(attentionK), c.Hidden, c.KVHeads*d, kv*d, kvEnd*d, qkvBias)
	t.columns(name(attentionV), c.Hidden, c.KVHeads*d, kv*d, kvEnd*d, qkvBias)
	t.rows(name(attentionOutput), c.Heads*d, c.Hidden, q*d, qEnd*d, outBias)
	t.norm(f, name(ffNorm))
	if f.gated {
		t.columns(name(ffGate), c.Hidden, c.FF, ff, ffEnd, ffBias)
	}
	t.columns(name(ffUp), c.Hidden, c.FF, ff, ffEnd, ffBias)
	t.rows(name(ffDown), c.FF, c.Hidden, ff, ffEnd, ffBias)
}
