package plan

import (
	"cmp"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// buffer is memory with one tenant from start to end: a storage, or several that
// take it over from one another in place.
type buffer struct {
	kind       kind
	bytes      int64
	start, end int
	storages   []int // in order of time
}

// kind is what values need to have in common to share a slot.
type kind struct {
	dtype  tensor.DType
	device ir.Device
}

// liveness is the lives of all storages in slots under one schedule.
type liveness struct {
	order   []int // kernel of each step
	step    []int // of each kernel
	buffers []buffer
	live    []int64 // bytes per step
	peak    int64
}

func (a *analysis) liveness(order []int, opts Options) *liveness {
	l := &liveness{order: order, step: make([]int, len(order))}
	for t, k := range order {
		l.step[k] = t
	}
	bufferOf := make([]int, len(a.storages))
	for _, k := range order {
		donor := notWritten
		if !opts.NoReuseInPlace {
			donor = a.donor(k, func(s int) bool { return l.lastUse(a, s) == l.step[k] })
		}
		for _, s := range a.kernels[k].writes {
			end := l.lastUse(a, s)
			if donor != notWritten {
				bufferOf[s] = bufferOf[donor]
				b := &l.buffers[bufferOf[s]]
				b.end, b.storages = end, append(b.storages, s)
				continue
			}
			bufferOf[s] = len(l.buffers)
			root := a.storages[s].root.Spec
			l.buffers = append(l.buffers, buffer{kind{root.DType, root.Device}, a.storages[s].bytes, l.step[k], end, []int{s}})
		}
	}
	l.measure()
	return l
}

// lastUse is the last step that touches a storage.
func (l *liveness) lastUse(a *analysis, s int) int {
	if a.storages[s].escapes {
		return len(l.order) - 1
	}
	last := 0
	for _, k := range a.storages[s].writers {
		last = max(last, l.step[k])
	}
	for _, k := range a.storages[s].readers {
		last = max(last, l.step[k])
	}
	return last
}

// donor is the storage that the result of a kernel may overwrite, among those
// that dies accepts, or notWritten. The kernel has to read the storage element
// by element in the order in which it writes.
func (a *analysis) donor(k int, dies func(storage int) bool) int {
	kn := &a.kernels[k]
	if len(kn.writes) != 1 || len(kn.node.Out) != 1 || !overwrites(kn.node.Op) {
		return notWritten
	}
	result := kn.node.Out[0].Spec
	for _, s := range kn.reads {
		if !dies(s) || a.storages[s].escapes {
			continue
		}
		inOrder := true
		for _, v := range kn.node.In {
			if a.at[v].storage == s {
				inOrder = inOrder && v.Spec.Equal(result) && a.whole(v)
			}
		}
		if inOrder {
			return s
		}
	}
	return notWritten
}

// overwrites reports whether kernels of an operator read element i of operands
// shaped like the result before they write element i, and no other afterwards.
func overwrites(op *ir.Op) bool { return op.Class == ir.Elementwise || op.Class == ir.Fused }

// measure adds up what is live at each step.
func (l *liveness) measure() {
	change := make([]int64, len(l.order)+1)
	for _, b := range l.buffers {
		change[b.start] += b.bytes
		change[b.end+1] -= b.bytes
	}
	l.live = make([]int64, len(l.order))
	var live int64
	for t := range l.live {
		live += change[t]
		l.live[t] = live
		l.peak = max(l.peak, live)
	}
}

// layout is buffers packed into slots.
type layout struct {
	packing string
	slots   []Slot
	slot    []int   // of each buffer
	offset  []int64 // of each buffer, in its slot
	planned int64
}

// plan is a schedule with its best layout.
type plan struct {
	policy string
	live   *liveness
	layout *layout
}

// search tries every policy, and returns the plan with the fewest bytes. No
// packing beats the most live bytes of a schedule, so the costlier packings are
// tried only while they can win.
func (a *analysis) search(opts Options) (plan, []Candidate) {
	plans := make([]plan, len(policies))
	for i, p := range policies {
		live := a.liveness(a.schedule(p), opts)
		plans[i] = plan{p.name, live, packBestFit(live.buffers)}
	}
	best := bestOf(plans)
	byPeak := make([]int, len(plans))
	for i := range byPeak {
		byPeak[i] = i
	}
	slices.SortStableFunc(byPeak, func(x, y int) int { return cmp.Compare(plans[x].live.peak, plans[y].live.peak) })
	for _, i := range byPeak {
		p := &plans[i]
		for _, pack := range packings {
			if p.live.peak >= plans[best].layout.planned {
				break
			}
			if l := pack(p.live.buffers); l.planned < p.layout.planned {
				p.layout = l
			}
			best = bestOf(plans)
		}
	}
	candidates := make([]Candidate, len(plans))
	for i, p := range plans {
		candidates[i] = Candidate{Policy: p.policy, Lower: p.live.peak, Planned: p.layout.planned, Packing: p.layout.packing}
	}
	return plans[best], candidates
}

// bestOf is the index of the first plan with the fewest bytes.
func bestOf(plans []plan) int {
	best := 0
	for i, p := range plans {
		if p.layout.planned < plans[best].layout.planned {
			best = i
		}
	}
	return best
}
