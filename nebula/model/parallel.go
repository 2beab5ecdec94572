package model

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// linear applies a linear layer. Its matrix is held in the form's type and used
// in f32.
func (g *grapher) linear(name string, x, bias *ir.Value) *ir.Value {
	in := []*ir.Value{x, g.matrix(name + weight)}
	if bias != nil {
		in = append(in, bias)
	}
	return g.apply("linear", nil, in...)
}

// matrix is a matrix or table in f32.
func (g *grapher) matrix(name string) *ir.Value { return g.cast(g.param(name), tensor.F32) }

// columns is a linear layer of which this rank has some output channels. It needs
// all input channels and exchanges nothing.
func (g *grapher) columns(name string, x *ir.Value) *ir.Value {
	return g.linear(name, x, g.optional(name+bias))
}

// rows is a linear layer of which this rank has some input channels: its part of
// a sum over all ranks, to which the bias is added once.
func (g *grapher) rows(name string, x *ir.Value) *ir.Value {
	if g.f.Place.TP == 1 {
		return g.columns(name, x)
	}
	y := g.allReduce(g.linear(name, x, nil))
	if b := g.optional(name + bias); b != nil {
		y = g.apply("add", nil, y, b)
	}
	return y
}

// allReduce is the sum over the ranks of the stage.
func (g *grapher) allReduce(x *ir.Value) *ir.Value {
	return g.apply("all_reduce", ir.Attrs{"group": "tp", "size": g.f.Place.TP}, x)
}

// embed looks the tokens up. Each rank has the rows of its part of the
// vocabulary and gives zeros for tokens of other ranks; the sum over all is the
// embedding. The first and the last rank do not bound the tokens on the outside,
// so that a token of no rank is an error.
func (g *grapher) embed() *ir.Value {
	g.at("embedding")
	place := g.f.Place
	from, to := place.Part(g.c.Vocab)
	index, known := g.tokens, (*ir.Value)(nil)
	if place.TPRank() > 0 {
		known = g.apply("ge", nil, g.tokens, g.integer(from))
		index = g.apply("sub", nil, g.tokens, g.integer(from))
	}
	if place.TPRank() < place.TP-1 {
		below := g.apply("lt", nil, g.tokens, g.integer(to))
		if known != nil {
			below = g.apply("and", nil, known, below)
		}
		known = below
	}
	if known == nil {
		return g.lookUp(embedding, index)
	}
	x := g.lookUp(embedding, g.apply("where", nil, known, index, g.integer(0)))
	known = g.reshape(known, g.f.Rows, g.f.Tokens, 1)
	return g.allReduce(g.apply("where", nil, known, x, g.constant(tensor.Zeros(tensor.F32))))
}

// learned are the position embeddings of the tokens. Padding has position 0,
// because its own may be beyond the table.
func (g *grapher) learned() *ir.Value {
	g.at("positions")
	b, t := g.f.Rows, g.f.Tokens
	steps := make([]int32, t)
	for i := range steps {
		steps[i] = int32(i)
	}
	at := g.apply("add", nil, g.reshape(g.pos, b, 1), g.constant(tensor.From([]int{1, t}, steps)))
	real := g.apply("lt", nil, at, g.reshape(g.length, b, 1))
	return g.lookUp(positions, g.apply("where", nil, real, at, g.integer(0)))
}

// lookUp takes rows of a table, in f32.
func (g *grapher) lookUp(name string, index *ir.Value) *ir.Value {
	return g.cast(g.apply("gather", nil, g.param(name), index), tensor.F32)
}

func (g *grapher) integer(v int) *ir.Value {
	return g.constant(tensor.Full(tensor.I32, float64(v)))
}

// head are the logits of the whole vocabulary on every rank. Each computes those
// of its part. Parts that are one shorter than the first are padded for the
// exchange, and the padding is left out of what is gathered.
func (g *grapher) head(x *ir.Value) *ir.Value {
	g.at(head)
	place, vocab := g.f.Place, g.c.Vocab
	var y *ir.Value
	if g.c.Tied {
		y = g.apply("linear", nil, x, g.apply("transpose", nil, g.matrix(embedding)))
	} else {
		y = g.linear(head, x, nil)
	}
	if place.TP == 1 || g.err != nil {
		return y
	}
	most := (vocab + place.TP - 1) / place.TP
	rank := y.Spec.Rank()
	if short := most - y.Spec.Shape[rank-1]; short > 0 {
		high := make([]int, rank)
		high[rank-1] = short
		y = g.apply("pad", ir.Attrs{"low": make([]int, rank), "high": high}, y)
	}
	y = g.apply("all_gather", ir.Attrs{"group": "tp", "size": place.TP, "axis": -1}, y)
	if vocab%place.TP == 0 {
		return y
	}
	return g.apply("gather", ir.Attrs{"axis": -1}, y, g.constant(unpadded(vocab, place.TP)))
}

// unpadded are the places of n channels among those of all ranks, where each has
// as many as the first.
func unpadded(n, ranks int) (*tensor.Tensor, error) {
	most, larger := (n+ranks-1)/ranks, n%ranks
	index := make([]int32, n)
	for i := range index {
		index[i] = int32(i)
		if beyond := i - larger*most; beyond >= 0 {
			index[i] += int32(beyond / (most - 1))
		}
	}
	return tensor.From([]int{n}, index)
}
