package eval

import "slices"

// divert encodes a block in what exec takes for the end of a call: trace goes on
// there. It is its own inverse.
func divert(block int) int { return -2 - block }

// attend does what a poll is for: it ends an interrupted goroutine, and leaves
// the frame to the debugger.
func (fr *frame) attend(block int) int {
	fr.th.poll()
	if !fr.traced && fr.th.run.isTraced() {
		return divert(block)
	}
	return block
}

func (r *run) isTraced() bool { return !r.unseen && r.engine.debug.attached.Load() }

// trace is exec for a debugger.
func (fr *frame) trace(b int) {
	th, d := fr.th, fr.th.run.engine.debug
	if th.tracee == nil {
		d.adopt(th)
	}
	fr.traced, fr.line = true, 0
	blocks := fr.fn.blocks
	for b >= 0 {
		blk := &blocks[b]
		fr.block = b
		stops := blk.stops
		for i, in := range blk.code {
			fr.ip = i
			for len(stops) > 0 && stops[0].ip <= i {
				fr.begin(&stops[0])
				stops = stops[1:]
			}
			in(fr)
			fr.returned()
		}
		fr.ip = len(blk.code)
		for i := range stops {
			fr.begin(&stops[i])
		}
		next := blk.next
		if blk.walk != nil {
			next = blk.walk
		}
		to := next(fr)
		if to <= b {
			fr.line = 0 // another round of a loop arrives at the same line again
		}
		b = to
	}
}

// begin halts before a statement if there is a reason to.
func (fr *frame) begin(s *stop) {
	if fr.line == s.line {
		return
	}
	fr.line = s.line
	d := fr.th.run.engine.debug
	if !d.attached.Load() || fr.th.tracee == nil {
		return
	}
	t := fr.th.tracee
	if slices.Contains((*d.breakpoints.Load())[fr.fn.source.File], s.line) {
		fr.halted = s
		stays := d.halt(fr, Halt{Reason: "breakpoint"})
		fr.halted = nil
		if stays {
			return
		}
	}
	reason := ""
	switch step := t.step.Load(); {
	case d.pausing.Load():
		reason = "pause"
	case step != nil && (step.kind == StepIn || step.kind == StepOver && t.depth() <= step.depth || t.depth() < step.depth):
		reason = "step"
	}
	if reason != "" || d.halting.Load() {
		fr.halted = s
		d.halt(fr, Halt{Reason: reason})
		fr.halted = nil
	}
}

// returned halts after a call that a step was to end with.
func (fr *frame) returned() {
	t := fr.th.tracee
	if t == nil {
		return
	}
	if step := t.step.Load(); step != nil && t.depth() < step.depth {
		fr.th.run.engine.debug.halt(fr, Halt{Reason: "step"})
	}
}

// halt parks the goroutine until the debugger lets it go on or an interrupt
// ends it. Without a reason it halts because another has. It reports whether it
// did: a breakpoint may have a condition, which is looked at with everything
// halted as it is when somebody looks.
func (d *Debugger) halt(fr *frame, why Halt) bool {
	t, r := fr.th.tracee, fr.th.run
	for {
		d.mu.Lock()
		first := d.halted == nil
		if !d.attached.Load() || first && why.Reason == "" {
			d.mu.Unlock()
			return false
		}
		if first {
			d.halted, d.resume = t, make(chan struct{})
			d.halting.Store(true)
		}
		t.parked = true
		resume := d.resume
		why.Thread = t.id
		d.mu.Unlock()
		if first && !d.stays(t, why) {
			return false
		}
		select {
		case <-resume:
		case <-r.ctx.Done():
		}
		d.mu.Lock()
		t.parked = false
		interrupted := r.stop.Load() && d.halted == t
		if interrupted {
			d.release()
		}
		notify := d.notify
		d.mu.Unlock()
		if interrupted {
			notify(Halt{Thread: t.id, Reason: Resumed})
		}
		fr.th.poll()
		if first {
			return true
		}
	}
}

// stays asks whether the goroutine that halted first is to stay so, and tells of
// it. Else everything goes on, and with it the steps that were begun.
func (d *Debugger) stays(t *tracee, why Halt) bool {
	d.mu.Lock()
	decide, notify := d.decide, d.notify
	d.mu.Unlock()
	yes := why.Reason != "breakpoint" || decide == nil || decide(t.id)
	d.mu.Lock()
	if !yes {
		t.parked = false
		if d.halted == t {
			d.release()
		}
		d.mu.Unlock()
		return false
	}
	d.pausing.Store(false)
	for _, other := range d.tracees {
		other.step.Store(nil)
	}
	d.mu.Unlock()
	notify(why)
	return true
}

// panicked halts before a panic unwinds the calls it came from.
func (d *Debugger) panicked(th *thread, value any) {
	if !d.attached.Load() || th.tracee == nil || th.depth == 0 || isFatal(value) {
		return
	}
	if d.onPanic.Load() || d.onUncaught.Load() && !th.tracee.recovers() {
		d.halt(th.frames[th.depth-1], Halt{Reason: "exception", Text: "panic: " + panicText(value)})
	}
}

// recovers reports whether a deferred call which waits on the goroutine's stack is
// of a function that can recover a panic.
func (t *tracee) recovers() bool {
	for _, th := range t.threads {
		for _, fr := range th.frames[:th.depth] {
			if !fr.fn.hasDefer {
				continue
			}
			for _, call := range fr.defers {
				if call.target.recovers() {
					return true
				}
			}
		}
	}
	return false
}

func (t target) recovers() bool {
	for t.clo != nil {
		t = t.clo.target
	}
	fn := t.fn
	if t.code != nil {
		fn = t.code.fn.Load()
	}
	return fn != nil && fn.recovers || t.name == "recover"
}
