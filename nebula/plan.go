package nebula

import (
	"fmt"

	"forgekernel/display"
	"forgekernel/forge/ir"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// Plan is what the ranks of a job will hold and run, before any is started.
type Plan struct {
	model  *Model
	layout shard.Layout
	engine engine.Options
}

// Plan tells what a job with these options would be. It panics when the model cannot
// be divided like that, with the rule and the nearest degrees that can be.
func (m *Model) Plan(opts ...Option) *Plan {
	o, err := newOptions(m, opts)
	return must("Plan", &Plan{m, o.Layout, o.Engine}, err)
}

// Display lists the ranks with their parts.
func (p *Plan) Display() display.Bundle {
	c := p.model.Config()
	t := display.Table{
		Title: fmt.Sprintf("%s on %v in %v: a cache of %d blocks of %d tokens", p.model.Name(), p.layout, p.engine.DType, p.engine.Blocks, p.engine.BlockSize),
		Columns: []display.Column{{Name: "rank"}, {Name: "stage"}, {Name: "TP rank"}, {Name: "layers", Align: display.AlignRight}, {Name: "heads", Align: display.AlignRight},
			{Name: "KV heads", Align: display.AlignRight}, {Name: "channels of FF", Align: display.AlignRight}, {Name: "weights", Align: display.AlignRight}, {Name: "cache", Align: display.AlignRight}},
	}
	for _, at := range p.layout.Places() {
		part := func(from, to int) string { return fmt.Sprintf("%d to %d", from, to-1) }
		t.Rows = append(t.Rows, []any{at.Rank, at.Stage(), at.TPRank(), part(at.Layers(c.Layers)), part(at.Heads(c.Dims())), part(at.KVHeads(c.Dims())), part(at.Part(c.FF)),
			display.FormatBytes(c.WeightBytes(at, p.engine.DType)), display.FormatBytes(c.CacheBytes(at, p.engine.Blocks, p.engine.BlockSize, p.engine.DType))})
	}
	return t.Display()
}

// Params lists the parameters of a rank and which part of each it holds.
func (p *Plan) Params(rank int) display.Table {
	at := p.place("Params", rank)
	t := display.Table{
		Title:   fmt.Sprintf("Parameters of rank %d", rank),
		Columns: []display.Column{{Name: "parameter"}, {Name: "whole", Align: display.AlignRight}, {Name: "here", Align: display.AlignRight}, {Name: "elements"}},
	}
	for _, param := range p.model.Config().Params(at) {
		elements := "all"
		if param.Axis >= 0 {
			elements = fmt.Sprintf("%d to %d of axis %d", param.From, param.To-1, param.Axis)
		}
		t.Rows = append(t.Rows, []any{param.Name, fmt.Sprint(param.Shape), fmt.Sprint(param.PartShape()), elements})
	}
	return t
}

// Graph is the program of a rank for a step of so many rows of so many tokens each,
// before the compiler's passes.
func (p *Plan) Graph(rank, rows, tokens int) *ir.Graph {
	e := p.engine
	g, err := p.model.decoder.Graph(model.Form{
		Place: p.place("Graph", rank), DType: e.DType, Rows: rows, Tokens: tokens,
		Cache: model.Paged{Blocks: e.Blocks, BlockSize: e.BlockSize, Width: (e.Context + e.BlockSize - 1) / e.BlockSize}, Logits: model.Last,
	})
	return must("Graph", g, err)
}

func (p *Plan) place(function string, rank int) shard.Place {
	places := p.layout.Places()
	if rank < 0 || rank >= len(places) {
		panic(newError(function, noRank(rank, len(places))))
	}
	return places[rank]
}
