package engine

import (
	"context"
	"sync"
	"time"
)

// health is the state of an engine on rank 0. From the first failure on no step is
// taken. Unless it is conclusive, the cause is settled some time later, when other ranks
// have reported what they saw. Only then is all that is under way ended, so that whoever
// waits in vain has the time to say for whom.
type health struct {
	epoch    uint32
	grace    time.Duration
	tell     func(*Error)    // called once, when the cause is settled
	ctx      context.Context // of runs and calls of groups
	cancel   context.CancelCauseFunc
	refusing chan struct{} // closed when no new call is taken
	over     chan struct{} // closed when no more result comes

	mu      sync.Mutex
	groups  *groups // to abort
	state   Health
	reports []report
	cause   *Error // nil until it is settled
	closed  bool   // by the caller
	stop    func() // the grace
}

func newHealth(epoch uint32, grace time.Duration, tell func(*Error)) *health {
	h := &health{epoch: epoch, grace: grace, tell: tell, refusing: make(chan struct{}), over: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	return h
}

// joined gives the groups that a failure aborts.
func (h *health) joined(g *groups) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.groups = g
	if h.cause != nil {
		g.abort(h.cause)
	}
}

// fail takes the report of a failure.
func (h *health) fail(r report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != Healthy {
		return
	}
	h.reports = append(h.reports, r)
	if len(h.reports) == 1 {
		if !h.closed {
			close(h.refusing)
		}
		h.stop = later(h.grace, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.settle(best(h.reports).cause)
		})
	}
	if r.weight == conclusive {
		h.settle(r.cause)
	}
}

// settle makes e the cause, unless there is one.
func (h *health) settle(e *Error) {
	if h.state != Healthy {
		return
	}
	h.state, h.cause = Failed, e
	h.stop()
	h.cancel(e)
	if h.groups != nil {
		h.groups.abort(e)
	}
	h.tell(e)
	close(h.over)
}

// failing reports whether something has failed.
func (h *health) failing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.reports) > 0
}

// err is why the engine takes no more calls. It waits for the cause of a failure to be
// settled.
func (h *health) err() error {
	if h.failing() {
		<-h.over
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return h.cause
	}
	return ErrClosed
}

// close begins to close the engine. It reports false when that was begun before.
func (h *health) close() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.closed = true
	if len(h.reports) == 0 {
		close(h.refusing)
	}
	return true
}

// end is the end of all that was under way in an engine that was closed. The error is
// the cause if it has failed.
func (h *health) end() error {
	if h.failing() {
		<-h.over
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == Healthy {
		close(h.over)
	}
	h.state = Closed
	h.cancel(ErrClosed)
	if h.cause != nil {
		return h.cause
	}
	return nil
}

// read is the state and the cause of a failure.
func (h *health) read() (Health, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return h.state, h.cause
	}
	return h.state, nil
}
