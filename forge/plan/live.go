package plan

import (
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
	last    []int // step that touches each storage last
	buffers []buffer
	live    []int64 // bytes per step
	peak    int64
}

func (a *analysis) liveness(order []int, opts Options) *liveness {
	l := &liveness{order: order, step: make([]int, len(order))}
	for t, k := range order {
		l.step[k] = t
	}
	l.last = make([]int, len(a.storages))
	for s := range a.storages {
		l.last[s] = l.lastUse(&a.storages[s])
	}
	bufferOf := make([]int, len(a.storages))
	for _, k := range order {
		donor := notWritten
		if !opts.NoReuseInPlace {
			donor = a.donor(k, func(s int) bool { return l.last[s] == l.step[k] })
		}
		for _, s := range a.kernels[k].writes {
			end := l.last[s]
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
func (l *liveness) lastUse(s *storage) int {
	if s.escapes {
		return len(l.order) - 1
	}
	last := 0
	for _, list := range [][]int{s.writers, s.readers} {
		for _, k := range list {
			last = max(last, l.step[k])
		}
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
