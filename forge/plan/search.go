package plan

import (
	"cmp"
	"slices"
)

// layout is buffers packed into slots.
type layout struct {
	packing string
	slots   []Slot
	slot    []int   // of each buffer
	offset  []int64 // of each buffer, in its slot
	planned int64
}

// trial is a schedule with its best layout.
type trial struct {
	policy string
	live   *liveness
	layout *layout
}

// exhaustive names the schedule that a search through all orders finds.
const exhaustive = "all orders"

// search tries every policy and, for a small graph, every order, and returns the
// trial with the fewest bytes. No packing beats the most live bytes of a schedule,
// so the costlier packings are tried only while they can win.
func (a *analysis) search(opts Options) (best trial, candidates []Candidate, bound int64) {
	var trials []trial
	try := func(policy string, order []int) {
		live := a.liveness(order, opts)
		trials = append(trials, trial{policy, live, packBestFit(live.buffers)})
	}
	if opts.KeepOrder {
		try(programOrder.name, a.schedule(programOrder))
	} else {
		for _, p := range policies {
			try(p.name, a.schedule(p))
		}
	}
	if order, peak := a.exact(opts); order == nil {
		bound = a.bound(opts)
	} else {
		bound = peak
		if !opts.KeepOrder {
			try(exhaustive, order)
		}
	}
	chosen := packAll(trials)
	for _, p := range trials {
		candidates = append(candidates, Candidate{Policy: p.policy, Lower: p.live.peak, Planned: p.layout.planned, Packing: p.layout.packing})
	}
	return trials[chosen], candidates, bound
}

// packAll tries the costlier packings and returns the index of the best plan.
func packAll(trials []trial) int {
	best := bestOf(trials)
	byPeak := make([]int, len(trials))
	for i := range byPeak {
		byPeak[i] = i
	}
	slices.SortStableFunc(byPeak, func(x, y int) int { return cmp.Compare(trials[x].live.peak, trials[y].live.peak) })
	for _, i := range byPeak {
		p := &trials[i]
		for _, pack := range packings {
			if p.live.peak >= trials[best].layout.planned {
				break
			}
			if l := pack(p.live.buffers); l.planned < p.layout.planned {
				p.layout = l
			}
			best = bestOf(trials)
		}
	}
	return best
}

// bestOf is the index of the first plan with the fewest bytes.
func bestOf(trials []trial) int {
	best := 0
	for i, p := range trials {
		if p.layout.planned < trials[best].layout.planned {
			best = i
		}
	}
	return best
}
