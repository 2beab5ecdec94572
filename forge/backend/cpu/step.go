package cpu

import (
	"cmp"
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// Step is the native work of one node.
type Step struct {
	Value string // the first result of the node: "%h"
	// Shape names what the code of the kernel depends on besides its schedule.
	// Kernels of one shape have one schedule.
	Shape string
	// Proposals begin with the backend's own choice. There are others where they
	// could differ in time.
	Proposals []Proposal
	FLOPs     int64
	Bytes     int64 // of memory traffic, at least
	// Graph is the node by itself, with operands as they stand in the program; nil
	// where it is no program by itself, and Reason says why.
	Graph  *ir.Graph
	Reason string
}

// Proposal is a schedule that may be the best for a kernel.
type Proposal struct {
	Schedule Schedule
	// Cost is the predicted time in units that are equal for all proposals of a
	// kernel; 0 where there is no prediction.
	Cost float64
}

// Steps are the kernels of a graph in the order in which they run, with what may
// be tried for each, and whether the program has work for several threads.
func (b *Backend) Steps(g *ir.Graph) (list []Step, shared bool, err error) {
	none := func([]string) Schedules { return nil }
	p, err := b.prepare(g, none)
	if err != nil {
		return nil, false, err
	}
	newUnit(b.Target).add(p, 0) // which adds up what is worth sharing
	shared = b.Threads > 1 && p.shared >= teamLeast
	for _, s := range p.steps {
		if s.kernel == nil || s.node == nil {
			continue
		}
		step := Step{Value: s.node.Out[0].String(), Shape: s.shape, Proposals: b.Target.proposals(s.kernel, s.constant, s.schedule)}
		if shared && b.Target.duration(s.kernel) >= teamLeast {
			for _, chunks := range splits {
				split := s.schedule
				split.Split = max(1, chunks*b.Threads)
				step.Proposals = append(step.Proposals, Proposal{split, step.Proposals[0].Cost})
			}
		}
		if step.Graph, err = p.Isolate(s.node); err == nil {
			cost := step.Graph.Cost()
			step.FLOPs, step.Bytes = cost.FLOPs, cost.Bytes
			err = b.same(step.Graph, s.shape)
		}
		if err != nil {
			step.Graph, step.Reason = nil, err.Error()
		}
		list = append(list, step)
	}
	return list, shared, nil
}

// same checks that a graph is one kernel of a shape.
func (b *Backend) same(g *ir.Graph, shape string) error {
	p, err := b.prepare(g, func([]string) Schedules { return nil })
	if err == nil && !slices.Equal(p.shapes(), []string{shape}) {
		err = fmt.Errorf("by itself it is another kernel, %v", p.shapes())
	}
	return err
}

// splits are the chunks for each thread that are proposed; 0 keeps a kernel on one
// thread.
var splits = []int{0, 1, 2, 4, 8}

// Bounds of what is proposed for a contraction: so many tiles, the cheapest by
// prediction, of which so many with other blocks and unrolled.
const (
	proposedTiles  = 8
	proposedDeeper = 3
)

// proposals are schedules that differ in what matters to the kernel, each
// complete. The backend's own choice comes first, then less code before more,
// then by text: the order in which ties are broken.
func (t Target) proposals(k *loop.Kernel, packed bool, own Schedule) []Proposal {
	list := []Proposal{{own, t.cost(k, own)}}
	add := func(want Schedule) {
		s, _ := t.decide(k, packed, want)
		if t.Check(s) == nil && !slices.ContainsFunc(list, func(p Proposal) bool { return p.Schedule == s }) {
			list = append(list, Proposal{s, t.cost(k, s)})
		}
	}
	for _, width := range t.widths(k) {
		switch {
		case k.Contraction != nil:
			t.proposeTiles(k, packed, width, add)
		case k.Convolution != nil:
			for _, form := range []string{lineForm, flatForm} {
				for _, tile := range shapes[t.Registers] {
					add(Schedule{Form: form, Rows: tile[0], Vectors: tile[1]})
				}
			}
		case k.Attention != nil:
			for _, keys := range []int{32, 64, 128, 256} {
				add(Schedule{Keys: keys})
			}
		default:
			add(Schedule{Width: width})
		}
	}
	slices.SortStableFunc(list[1:], func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(a.Schedule.code(), b.Schedule.code()), cmp.Compare(a.Schedule.String(), b.Schedule.String()))
	})
	return list
}

// code estimates how much code a schedule makes.
func (s Schedule) code() int { return s.Rows * s.Vectors * max(1, s.Chains*s.Unroll) }

// widths are that of the target, and half of it where that leaves fewer lanes
// empty.
func (t Target) widths(k *loop.Kernel) []int {
	half := t.Lanes / 2
	if n := across(k); half >= minLanes && isSingle(k) && (n+half-1)/half%2 == 1 {
		return []int{t.Lanes, half}
	}
	return []int{t.Lanes}
}

// across is the extent that the lanes of a kernel run along.
func across(k *loop.Kernel) int {
	switch {
	case k.Contraction != nil:
		return k.Contraction.N
	case k.Convolution != nil:
		return k.Convolution.H.Out
	case k.Attention != nil:
		return k.Attention.Queries
	}
	return k.Nest.Line[len(k.Nest.Line)-1]
}

// proposeTiles adds the other forms, the cheapest tiles, and the first of them in
// other blocks, with longer rounds of the loop over k and with other chains.
func (t Target) proposeTiles(k *loop.Kernel, packed bool, width int, add func(Schedule)) {
	if !packed {
		add(Schedule{Form: string(inSweeps), Width: width})
		add(Schedule{Form: string(inDots), Width: width})
	}
	var tiles []Schedule
	for _, shape := range shapes[t.Registers] {
		s, _ := t.decide(k, packed, Schedule{Form: string(inTiles), Rows: shape[0], Vectors: shape[1], Width: width})
		if !slices.Contains(tiles, s) {
			tiles = append(tiles, s)
		}
	}
	slices.SortStableFunc(tiles, func(a, b Schedule) int { return cmp.Compare(t.cost(k, a), t.cost(k, b)) })
	for i, s := range tiles[:min(proposedTiles, len(tiles))] {
		add(s)
		if i >= proposedDeeper {
			continue
		}
		for _, block := range []int{s.Rows, minBlock, k.Contraction.M} {
			deeper := s
			deeper.Block = block
			add(deeper)
		}
		for _, unroll := range []int{2, 4} {
			deeper := s
			deeper.Unroll = unroll
			add(deeper)
		}
		for _, chains := range []int{1, 2, 4} {
			deeper := s
			deeper.Chains = chains
			add(deeper)
		}
	}
}

// cost is the predicted time of a kernel under a complete schedule; 0 where there
// is none.
func (t Target) cost(k *loop.Kernel, s Schedule) float64 {
	c := k.Contraction
	if c == nil || s.Form != string(inTiles) {
		return 0
	}
	return float64(tiling{rows: s.Rows, vector: s.Vectors}.cost(t.narrowed(s.Width), c))
}
