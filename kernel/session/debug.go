package session

import (
	"context"
	"encoding/json"

	"forgekernel/kernel/dap"
	"forgekernel/kernel/link"
)

// maxDebugs bounds the requests of a debugger that wait; the front sends the
// next one when it has the answer to the one before.
const maxDebugs = 64

// startDebugger serves a debugger's requests beside the cells, one at a time.
func (s *server) startDebugger() {
	s.debugger = dap.New(dap.Options{
		Session: s.interp.Go(),
		Lines:   s.interp.StopLines,
		Event:   func(event json.RawMessage) { s.conn.SendBody(link.DebugEvent, 0, 0, event) },
		State:   func(state *link.Debugging) { s.conn.SendBody(link.DebugState, 0, 0, state) },
	})
	s.debugs = make(chan debugging, maxDebugs)
	s.evaluating, s.stopEvaluating = context.WithCancel(context.Background())
	go func() {
		for d := range s.debugs {
			answer(s, d.frame, func(request json.RawMessage) json.RawMessage { return s.debugger.Handle(d.ctx, request) })
		}
	}()
}

// debugging is a request of the debugger. An interrupt that comes after it stops what
// it evaluates, also before that has begun.
type debugging struct {
	frame link.Frame
	ctx   context.Context
}

func (s *server) debugging(f link.Frame) debugging {
	s.mu.Lock()
	defer s.mu.Unlock()
	return debugging{f, s.evaluating}
}

// stopDebugger stops what the debugger has been asked to evaluate.
func (s *server) stopDebugger() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopEvaluating()
	s.evaluating, s.stopEvaluating = context.WithCancel(context.Background())
}
