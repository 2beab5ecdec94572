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
	s.debugs = make(chan link.Frame, maxDebugs)
	go func() {
		for f := range s.debugs {
			answer(s, f, s.debug)
		}
	}()
}

// debug answers one request. An interrupt stops what it evaluates.
func (s *server) debug(request json.RawMessage) json.RawMessage {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s.mu.Lock()
	s.stopDebug = stop
	s.mu.Unlock()
	return s.debugger.Handle(ctx, request)
}
