package front

import (
	"fmt"

	"forgekernel/kernel/link"
)

// unasked takes frames that no running cell waits for. What may have to wait
// for clients, output of cells that are done, goes to its own goroutine.
func (f *front) unasked(s *session, frame link.Frame) {
	var err error
	switch frame.Kind {
	case link.Comm:
		err = f.commFromSession(frame)
	case link.Config:
		err = f.configure(s, frame)
	case link.DebugEvent:
		err = f.debugEvent(frame)
	case link.DebugState:
		err = f.debugger.keep(frame)
	case link.Stream, link.Display, link.Clear:
		s.late.put(frame)
	case link.InputRequest:
		err = s.post(link.Input, frame.Cell, frame.Seq, link.InputValue{Error: "the cell that asks is over"})
	default:
		err = fmt.Errorf("unexpected")
	}
	if err != nil && f.badInput.allow() {
		f.log.Warn("session", "frame", frame.Kind, "error", err)
	}
}

// serveLate shows what goroutines show after their cell.
func (f *front) serveLate(s *session) {
	for frame, ok := s.late.get(); ok; frame, ok = s.late.get() {
		t := f.outputs.of(frame.Cell)
		if t == nil {
			continue
		}
		if err := f.outputs.show(s, t, frame); err != nil && f.badInput.allow() {
			f.log.Warn("session", "frame", frame.Kind, "error", err)
		}
	}
	f.closeComms()
}

// configure changes limits at the wish of a person, whose cell waits for the
// answer.
func (f *front) configure(s *session, frame link.Frame) error {
	settings, err := link.Decode[link.Settings](frame)
	if err == nil {
		err = f.change(s, settings)
	}
	if err != nil {
		return s.post(link.Ack, frame.Cell, frame.Seq, link.Refusal{Error: err.Error()})
	}
	return s.post(link.Ack, frame.Cell, frame.Seq, nil)
}

// change puts settings into effect, or none of them.
func (f *front) change(s *session, settings link.Settings) error {
	if limit := settings.MemoryLimit; limit != nil {
		if err := s.process.limitMemory(*limit); err != nil {
			return fmt.Errorf("the memory limit stays as it was: %w", err)
		}
		f.memory.Store(*limit)
	}
	if limit := settings.OutputLimit; limit != nil {
		f.outputs.limit.Store(*limit)
	}
	return nil
}
