package front

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// debugger passes on what a client and the session's debugger say to one
// another. Of its own it says only that the session has ended.
type debugger struct {
	jobs   worker
	parent atomic.Pointer[wire.Message] // the latest request, which events belong to
	asking atomic.Int32                 // requests that are not answered yet
	// state is what the next session is to know; nil while nobody debugs.
	state atomic.Pointer[link.Debugging]
}

// debugMessage is what the front says itself of a DAP response or event.
type debugMessage struct {
	Seq        int    `json:"seq"`
	Type       string `json:"type"`
	Command    string `json:"command,omitempty"`
	RequestSeq *int   `json:"request_seq,omitempty"`
	Success    *bool  `json:"success,omitempty"`
	Message    string `json:"message,omitempty"`
	Event      string `json:"event,omitempty"`
	Body       any    `json:"body,omitempty"`
}

func (f *front) debug(ctx context.Context, r *request) (any, error) {
	var content json.RawMessage
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	f.debugger.parent.Store(r.Message)
	answer, err := askBy[json.RawMessage](f, ctx, func(s *session, seq uint64) error {
		ask := func() error { return s.post(link.Debug, 0, seq, content) }
		err := f.interrupts.unless(r.interrupts, ask)
		if err != errInterrupted {
			return err
		}
		// The interrupt has found nothing to stop in the session. What evaluates nothing
		// is done all the same: it may be to go on, or to leave.
		if err = ask(); err == nil {
			err = s.post(link.Interrupt, 0, seq, nil)
		}
		return err
	})
	if err != nil {
		return refusal(content, err), nil
	}
	return answer, nil
}

// refusal answers a request that the session did not live to answer.
func refusal(content json.RawMessage, err error) debugMessage {
	var request debugMessage
	json.Unmarshal(content, &request) // the parts that are missing stay so
	return debugMessage{Type: "response", Command: request.Command, RequestSeq: &request.Seq, Success: new(bool), Message: err.Error()}
}

// debugEvent publishes an event of the debugger. Before the first request there
// are none.
func (f *front) debugEvent(frame link.Frame) error {
	event, err := link.Decode[json.RawMessage](frame)
	if err == nil {
		f.publishDebug(event)
	}
	return err
}

func (f *front) publishDebug(event any) {
	if parent := f.debugger.parent.Load(); parent != nil {
		f.iopub.now("debug_event", parent, event)
	}
}

func (d *debugger) keep(frame link.Frame) error {
	state, err := link.Decode[*link.Debugging](frame)
	if err == nil {
		d.state.Store(state)
	}
	return err
}

// debuggeeEnded tells a client that debugs of the end of the session: nothing is
// halted any more. The next session is debugged like it.
func (f *front) debuggeeEnded(c crash) {
	old := f.debugger.state.Load()
	if old == nil {
		return
	}
	state := *old
	say := func(event string, body wire.Object) {
		state.Seq++
		f.publishDebug(debugMessage{Seq: state.Seq, Type: "event", Event: event, Body: body})
	}
	if state.Halted != 0 {
		say("continued", wire.Object{"threadId": state.Halted, "allThreadsContinued": true})
		say("thread", wire.Object{"reason": "exited", "threadId": state.Halted})
		state.Halted = 0
	}
	say("exited", wire.Object{"exitCode": c.exitCode()})
	f.debugger.state.Store(&state)
}
