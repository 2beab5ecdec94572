package front

import (
	"context"
	"fmt"
	"sync"
	"time"

	"forgekernel/kernel/wire"
)

// maxQueued bounds executions that wait in one queue.
const maxQueued = 10_000

// abortWindow is how long a failed cell waits, before it answers, for requests
// that were sent together with it and may still be in the socket: they are
// aborted with it.
const abortWindow = 10 * time.Millisecond

// queue runs the cells of one shell or subshell, one after another. It has its
// own execution count, history session and abort state.
type queue struct {
	front   *front
	id      string // of the subshell; empty for the main shell
	session int    // in the history, once that is open

	mu      sync.Mutex
	pending []*queued
	wake    chan struct{} // capacity 1
	closed  bool

	count int // of stored executions; used by the queue's goroutine only
}

type queued struct {
	*request
	aborted error // why it will not run
}

func newQueue(f *front, id string) *queue {
	return &queue{front: f, id: id, wake: make(chan struct{}, 1)}
}

// put adds a request at the end. False means that the queue has closed, and that
// perhaps nobody takes requests from it any more.
func (q *queue) put(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	item := &queued{request: r}
	if len(q.pending) >= maxQueued {
		item.aborted = &failure{"Aborted", fmt.Sprintf("not run: %d cells wait already", maxQueued)}
	}
	q.pending = append(q.pending, item)
	q.signal()
	return true
}

// abort marks everything that waits as not to be run.
func (q *queue) abort(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abortLocked(reason)
}

func (q *queue) abortLocked(reason string) {
	for _, item := range q.pending {
		if item.aborted == nil {
			item.aborted = &failure{"Aborted", "not run: " + reason}
		}
	}
}

// close aborts what waits, and ends the queue after it has been answered.
func (q *queue) close(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abortLocked(reason)
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take returns the next request, or nil when the queue has closed.
func (q *queue) take(ctx context.Context) *queued {
	for {
		q.mu.Lock()
		if len(q.pending) > 0 {
			item := q.pending[0]
			q.pending[0] = nil
			q.pending = q.pending[1:]
			q.mu.Unlock()
			return item
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// loop runs cells until the queue or ctx ends.
func (q *queue) loop(ctx context.Context) {
	for item := q.take(ctx); item != nil; item = q.take(ctx) {
		q.front.handle(item.request, func() (any, error) {
			if item.aborted != nil {
				// Without a count, which front ends would write beside a cell
				// that has not run.
				return wire.ErrorReply{Status: wire.StatusError, Failure: failureOf(item.aborted)}, nil
			}
			reply, err := q.front.guarded(func() (any, error) {
				return q.execute(ctx, item.request)
			})
			if err != nil { // execute_reply has a count also then
				return q.errorReply(failureOf(err)), nil
			}
			return reply, nil
		})
	}
}

func (q *queue) errorReply(e wire.Failure) wire.ExecuteErrorReply {
	return wire.ExecuteErrorReply{Status: wire.StatusError, ExecutionCount: q.count, Failure: e}
}

// routeExecute queues an execute_request in the shell that it names.
func (f *front) routeExecute(r *request) {
	q, err := f.subshells.find(r.Header.SubshellID)
	if err == nil && !q.put(r) { // it was deleted just now
		err = noSubshell(r.Header.SubshellID)
	}
	if err != nil {
		f.handle(r, func() (any, error) {
			return wire.ExecuteErrorReply{Status: wire.StatusError, Failure: failureOf(err)}, nil
		})
	}
}
