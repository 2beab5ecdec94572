package front

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// debugger passes on what a client and the session's debugger say to one
// another. The front looks at none of it.
type debugger struct {
	jobs   worker
	parent atomic.Pointer[wire.Message] // the latest request, which events belong to
}

func (f *front) debug(ctx context.Context, r *request) (any, error) {
	var content json.RawMessage
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	f.debugger.parent.Store(r.Message)
	answer, err := ask[json.RawMessage](f, ctx, link.Debug, content)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// debugEvent publishes an event of the debugger. Before the first request there
// are none.
func (f *front) debugEvent(frame link.Frame) error {
	event, err := link.Decode[json.RawMessage](frame)
	if parent := f.debugger.parent.Load(); err == nil && parent != nil {
		f.iopub.now("debug_event", parent, event)
	}
	return err
}
