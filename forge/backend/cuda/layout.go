package cuda

import (
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/plan"
)

// binding is the inputs and outputs, by index, that stand in memory which is held. Those
// that are nil come with each run.
type binding struct{ inputs, outputs []*Held }

// unbound is the binding of runs whose tensors are all of the host.
func (p *program) unbound() binding {
	return binding{make([]*Held, len(p.Graph.Inputs)), make([]*Held, len(p.Graph.Outputs))}
}

// holder is the held memory that a buffer is, nil when it is of the frame or constant.
func (b binding) holder(buf *planned.Buffer) *Held {
	switch {
	case buf.Input >= 0 && !buf.Updated:
		return b.inputs[buf.Input]
	case buf.Result >= 0:
		return b.outputs[buf.Result]
	}
	return nil
}

// comes reports whether a run brings a buffer from the host, and goes whether it takes it
// there.
func (b binding) comes(buf *planned.Buffer) bool { return buf.Input >= 0 && b.inputs[buf.Input] == nil }
func (b binding) goes(buf *planned.Buffer) bool {
	return buf.Result >= 0 && b.outputs[buf.Result] == nil
}

// layout is where buffers begin in the memory of a frame. What comes from the host is in
// front, and what goes there follows; some are both.
type layout struct {
	at                []int64 // by buffer; -1 for those that are not in this memory
	in, out, end      int64   // copies are of [0, in) to the device and of [out, end) from it
	scratch, counters int64
	bytes             int64
	// direct says that kernels write what goes to the host there by themselves: it is
	// little, and takes less time than a copy behind them.
	direct bool
}

// maxDirect bounds the bytes that kernels write to the host.
const maxDirect = 4 << 10

// layOut decides where buffers stand.
func (p *program) layOut(b binding) layout {
	l := layout{at: make([]int64, len(p.Buffers))}
	aligned := func(n int64) int64 { return (n + plan.Align - 1) / plan.Align * plan.Align }
	each := func(comes, goes bool) {
		for i := range p.Buffers {
			buf := &p.Buffers[i]
			if b.comes(buf) != comes || b.goes(buf) != goes {
				continue
			}
			l.at[i] = -1
			if size := p.size(buf); size > 0 && (b.holder(buf) == nil || comes) {
				l.at[i] = l.bytes
				l.bytes += aligned(size)
			}
		}
	}
	each(true, false)
	l.out = l.bytes
	each(true, true)
	l.in = l.bytes
	each(false, true)
	l.end = l.bytes
	l.direct = l.end-l.out <= maxDirect && p.writable(b)
	each(false, false)
	l.scratch = l.bytes
	l.counters = l.scratch + aligned(p.scratch)
	l.bytes = l.counters + aligned(p.counters)
	return l
}

// writable reports whether what goes to the host is written by kernels of the program alone,
// not by copies, libraries or others, and read by nothing.
func (p *program) writable(b binding) bool {
	for i := range p.Buffers {
		buf := &p.Buffers[i]
		if !b.goes(buf) {
			continue
		}
		if v := p.Graph.Outputs[buf.Result]; buf.Updated || b.comes(buf) || p.IsView(v) || p.uses[v] > 1 {
			return false
		}
	}
	for _, s := range p.steps {
		for _, at := range s.args {
			if !s.waits() && at.Buffer >= 0 && b.goes(&p.Buffers[at.Buffer]) {
				return false
			}
		}
	}
	return true
}

// size is the bytes of a buffer; 0 for a constant.
func (p *program) size(b *planned.Buffer) int64 {
	switch {
	case b.Constant != nil:
		return 0
	case b.Input >= 0:
		return p.Graph.Inputs[b.Input].Spec.Bytes()
	case b.Slot >= 0:
		return p.Plan.Slots[b.Slot].Bytes
	case b.Output != nil:
		return b.Output.Spec.Bytes()
	}
	return b.Scratch
}
