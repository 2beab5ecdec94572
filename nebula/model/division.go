package model

import (
	"fmt"

	"forgekernel/display"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

// Share is what one rank holds of a decoder. Ranges are from the first up to but
// not including the second.
type Share struct {
	Rank, Stage, TPRank       int
	Layers                    [2]int
	Heads, KVHeads, FF, Vocab [2]int // of every layer, and of the embedding and head where the stage has them
	Weights                   int64  // bytes
	CachePerToken             int64  // bytes of keys and values of one position of one sequence
}

// Division is a decoder divided among the ranks of a layout.
type Division struct {
	Config Config
	Layout shard.Layout
	DType  tensor.DType // of matrices, tables and cache
	Shares []Share      // by rank
}

// Divide says what each rank of a layout holds. The error is that of a layout
// which cannot be.
func (c Config) Divide(l shard.Layout, dtype tensor.DType) (Division, error) {
	if err := l.Check(c.Dims()); err != nil {
		return Division{}, err
	}
	d := Division{Config: c, Layout: l, DType: dtype}
	for _, p := range l.Places() {
		d.Shares = append(d.Shares, Share{
			Rank: p.Rank, Stage: p.Stage(), TPRank: p.TPRank(),
			Layers: pair(p.Layers(c.Layers)),
			Heads:  pair(p.Heads(c.Dims())), KVHeads: pair(p.KVHeads(c.Dims())),
			FF: pair(p.Part(c.FF)), Vocab: pair(p.Part(c.Vocab)),
			Weights: c.WeightBytes(p, dtype), CachePerToken: c.CacheBytes(p, 1, 1, dtype),
		})
	}
	return d, nil
}

func pair(from, to int) [2]int { return [2]int{from, to} }

// Display is a table with a row per rank.
func (d Division) Display() display.Bundle { return d.table().Display() }

func (d Division) table() display.Table {
	c := d.Config
	t := display.Table{
		Title: fmt.Sprintf("%s, %d parameters, as %v in %v", c.Family, c.Parameters(), d.DType, d.Layout),
		Columns: []display.Column{
			{Name: "rank"}, {Name: "stage"}, {Name: "TP rank"}, {Name: fmt.Sprintf("layers of %d", c.Layers)},
			{Name: fmt.Sprintf("heads of %d", c.Heads)}, {Name: fmt.Sprintf("KV heads of %d", c.KVHeads)},
			{Name: fmt.Sprintf("FF channels of %d", c.FF)}, {Name: fmt.Sprintf("vocabulary of %d", c.Vocab)},
			{Name: "weights"}, {Name: "cache per token"},
		},
	}
	for _, s := range d.Shares {
		row := []any{s.Rank, s.Stage, s.TPRank}
		for _, r := range [][2]int{s.Layers, s.Heads, s.KVHeads, s.FF, s.Vocab} {
			row = append(row, span(r))
		}
		t.Rows = append(t.Rows, append(row, display.FormatBytes(s.Weights), display.FormatBytes(s.CachePerToken)))
	}
	return t
}

// span writes a range with its last number: "4–7".
func span(r [2]int) string {
	if r[1]-r[0] == 1 {
		return fmt.Sprint(r[0])
	}
	return fmt.Sprintf("%d–%d", r[0], r[1]-1)
}

// Display is the model on one rank.
func (m *Model) Display() display.Bundle {
	d, err := m.Config.Divide(shard.Single().Layout, tensor.F32)
	if err != nil {
		return display.Text(err.Error())
	}
	return d.Display()
}
