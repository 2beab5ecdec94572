package front

import (
	"context"
	"sync"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// interrupts orders interrupts against the starts of cells.
type interrupts struct {
	mu sync.Mutex
	n  uint64
	// stopped ends waits for a session that does not come; replaced at each
	// interrupt.
	stopped chan struct{}
}

func (i *interrupts) count() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.n
}

var errInterrupted = &failure{"Interrupt", "interrupted before it ran"}

// unless calls start if there was no interrupt since n were counted.
func (i *interrupts) unless(n uint64, start func() error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.n != n {
		return errInterrupted
	}
	return start()
}

func (i *interrupts) wait() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}

// interrupt stops every cell that runs or waits, in all shells, what the debugger
// evaluates, and questions to the person. An idle kernel does nothing. What the session holds stays.
func (f *front) interrupt() {
	for _, q := range f.subshells.all() {
		q.abort("execution was interrupted")
	}
	f.interrupts.mu.Lock()
	defer f.interrupts.mu.Unlock()
	f.interrupts.n++
	close(f.interrupts.stopped)
	f.interrupts.stopped = make(chan struct{})
	f.outputs.hurry()
	if s := f.supervisor.now(); s != nil && (s.running() > 0 || f.debugger.asking.Load() > 0) {
		s.process.resume()
		s.post(link.Interrupt, 0, 0, nil)
	}
	f.inputs.cancel("interrupted")
}

func (f *front) answerInterrupt(context.Context, *request) (any, error) {
	f.interrupt()
	return wire.StatusReply{Status: wire.StatusOK}, nil
}

// acquire returns the session for a cell, or fails when an interrupt comes
// first.
func (f *front) acquire(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := f.interrupts.wait()
	go func() {
		select {
		case <-stopped:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	s, err := f.supervisor.acquire(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s, err
}
