package analysis

// Extent is the size of a program, in the figures that optimisation is for.
type Extent struct {
	Nodes   int   `json:"nodes"` // kernels and views
	FLOPs   int64 `json:"flops"`
	Bytes   int64 `json:"bytes"` // memory traffic
	Depth   int   `json:"depth"`
	Planned int64 `json:"planned_bytes"` // memory for intermediate values
}

// Extent is the size of the analysed graph, whose plan needs so many bytes.
func (a *Analysis) Extent(planned int64) Extent {
	t := a.Totals
	return Extent{Nodes: t.Kernels + t.Views, FLOPs: t.FLOPs, Bytes: t.Bytes, Depth: t.Depth, Planned: planned}
}

// Delta is what optimisation did to a program.
type Delta struct {
	Before Extent `json:"before"` // as written
	After  Extent `json:"after"`
}

// Figure is one row of a delta.
type Figure struct {
	Name          string
	Before, After int64
	Bytes         bool // both are bytes
}

// Figures are the rows of the delta.
func (d Delta) Figures() []Figure {
	b, a := d.Before, d.After
	return []Figure{
		{"operations", int64(b.Nodes), int64(a.Nodes), false},
		{"FLOPs", b.FLOPs, a.FLOPs, false},
		{"memory traffic", b.Bytes, a.Bytes, true},
		{"depth", int64(b.Depth), int64(a.Depth), false},
		{"planned memory", b.Planned, a.Planned, true},
	}
}

// Change is the relative change, -0.25 for a quarter less. It is 0 when there
// was nothing before.
func (f Figure) Change() float64 {
	if f.Before == 0 {
		return 0
	}
	return float64(f.After-f.Before) / float64(f.Before)
}
