package eval

import "slices"

// divert encodes a block in what exec takes for the end of a call: trace goes on
// there. It is its own inverse.
func divert(block int) int { return -2 - block }

// attend does what a poll is for: it ends an interrupted goroutine, waits while
// everything is held, and leaves the frame to the debugger.
func (fr *frame) attend(block int) int {
	fr.th.poll()
	fr.th.hold()
	if !fr.traced && fr.th.run.isTraced() {
		return divert(block)
	}
	return block
}

func (r *run) isTraced() bool { return !r.unseen && r.engine.debug.attached.Load() }

// trace is exec for a debugger, until that is detached.
func (fr *frame) trace(b int) {
	th, d := fr.th, fr.th.run.engine.debug
	if th.tracee == nil {
		d.adopt(th)
	}
	fr.traced, fr.line = true, fr.line[:0]
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
		if b = next(fr); b >= 0 && !d.attached.Load() {
			fr.traced, fr.block = false, b
			fr.exec()
			return
		}
	}
}

// begin halts before a statement if there is a reason to. Where a line has several
// statements, the first one is halted before for all of them, until a loop comes
// to one again.
func (fr *frame) begin(s *stop) {
	d := fr.th.run.engine.debug
	if len(fr.line) > 0 && fr.line[0].line == s.line && !slices.Contains(fr.line, s) {
		fr.line = append(fr.line, s)
		if !d.pausing.Load() && !d.halting.Load() {
			return
		}
	} else {
		fr.line = append(fr.line[:0], s)
	}
	if !d.attached.Load() || fr.th.tracee == nil {
		return
	}
	if _, here := (*d.breakpoints.Load())[fr.fn.source.File][s.line]; here && len(fr.line) == 1 {
		fr.halted = s
		stays := d.halt(fr, Halt{Reason: "breakpoint"})
		fr.halted = nil
		fr.th.poll()
		if stays {
			return
		}
	}
	reason := ""
	switch step := fr.th.tracee.step.Load(); {
	case d.pausing.Load():
		reason = "pause"
	case step != nil && len(fr.line) == 1 && step.ends(fr):
		reason = "step"
	}
	if reason != "" || d.halting.Load() {
		fr.halted = s
		d.halt(fr, Halt{Reason: reason})
		fr.halted = nil
		fr.th.poll()
	}
}

// ends reports whether a step has come to its end at a statement of the innermost call.
func (s *stepping) ends(fr *frame) bool {
	t := fr.th.tracee
	switch s.kind {
	case StepOver:
		deferred := fr.deferOf != nil && t.depth()-fr.depth+fr.deferOf.depth <= s.depth
		return deferred || t.level() <= s.depth
	case StepOut:
		return t.level() < s.depth
	}
	return true
}

// returned halts after a call that a step was to end with.
func (fr *frame) returned() {
	t := fr.th.tracee
	if t == nil || fr.fn.source == nil {
		return
	}
	if step := t.step.Load(); step != nil && t.depth() < step.depth {
		fr.th.run.engine.debug.halt(fr, Halt{Reason: "step"})
		fr.th.poll()
	}
}

// halt parks the goroutine until the debugger lets it go on or an interrupt is to
// end it, for which the caller polls. Without a reason it halts because another has.
// It reports whether it did: a breakpoint may have a condition, which is looked at
// with everything halted as it is when somebody looks.
func (d *Debugger) halt(fr *frame, why Halt) bool {
	t, r := fr.th.tracee, fr.th.run
	for {
		d.mu.Lock()
		first := d.halted == nil
		if first && !d.wants(t, why.Reason) {
			why.Reason = ""
		}
		if !d.attached.Load() || r.stop.Load() || first && why.Reason == "" {
			d.mu.Unlock()
			return false
		}
		if first {
			d.halted, d.resume = t, make(chan struct{})
			d.halting.Store(true)
		}
		t.parked = true
		t.halts++
		resume := d.resume
		why.Thread = t.id
		d.mu.Unlock()
		if first && !d.stays(r, t, why) {
			d.unpark(t, r, false)
			return false
		}
		select {
		case <-resume:
		case <-r.ctx.Done():
		}
		d.unpark(t, r, true)
		if first || r.stop.Load() {
			return true
		}
		if why.Reason == "step" || why.Reason == "pause" { // that was what the other halted for, too
			why.Reason = ""
		}
	}
}

// wants reports whether a reason to halt that was seen without d.mu, which is held
// now, is one yet: another goroutine may have halted for it and gone on meanwhile.
func (d *Debugger) wants(t *tracee, reason string) bool {
	switch reason {
	case "pause":
		return d.pausing.Load()
	case "step":
		return t.step.Load() != nil
	}
	return true
}

// unpark lets a goroutine go on. The one that halted first lets the others go on,
// too, and the steps that were begun, when it does not stay halted, and when it was
// interrupted. Who was told of its halt is told so before another can halt, and may
// ask for a pause then. Nobody looks at it meanwhile.
func (d *Debugger) unpark(t *tracee, r *run, told bool) {
	d.gate.RLock()
	defer d.gate.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.halted == t && told && r.stop.Load() {
		notify := d.notify
		d.settled = false
		d.mu.Unlock()
		notify(Halt{Thread: t.id, Reason: Resumed})
		d.mu.Lock()
	}
	t.parked = false
	if d.halted == t {
		d.release()
	}
}

// stays asks whether the goroutine that halted first is to stay so, and if so tells
// of it.
func (d *Debugger) stays(r *run, t *tracee, why Halt) bool {
	d.mu.Lock()
	decide := d.decide
	d.mu.Unlock()
	yes := why.Reason != "breakpoint" || decide == nil || decide(r.ctx, t.id)
	d.mu.Lock()
	if d.halted != t { // the debugger was detached meanwhile
		d.mu.Unlock()
		return true
	}
	if !yes || r.stop.Load() {
		d.mu.Unlock()
		return false
	}
	d.settled = true
	d.pausing.Store(false)
	for _, other := range d.tracees {
		other.step.Store(nil)
	}
	notify := d.notify
	d.mu.Unlock()
	notify(why)
	return true
}

// panicked halts before a panic unwinds the calls it came from. It reports whether
// the goroutine was interrupted there.
func (d *Debugger) panicked(th *thread, value any) bool {
	_, exit := value.(Exit)
	if !d.attached.Load() || th.tracee == nil || th.depth == 0 || exit {
		return false
	}
	if !d.onPanic.Load() && !(d.onUncaught.Load() && (isFatal(value) || !th.tracee.recovers())) {
		return false
	}
	d.halt(th.frames[th.depth-1], Halt{Reason: "exception", Text: "panic: " + panicText(value)})
	return th.run.stop.Load()
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
