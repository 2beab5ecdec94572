package nccl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"forgekernel/forge/backend/cuda/driver"
)

// Comm is a group of ranks, seen from one of them. It is safe for concurrent use.
type Comm struct {
	Rank, Size int
	lib        *Library
	detail     string // in errors
	mu         sync.Mutex
	handle     uintptr
	over       error         // why no call is made any more
	ended      chan struct{} // closed when the library has given the communicator up
	failure    error         // of that
}

// MaxRanks bounds the size of a group.
const MaxRanks = 1 << 16

// ErrClosed says that a communicator was closed.
var ErrClosed = errors.New("the communicator is closed")

// Waits end when ctx does, and in any case after this.
const (
	joinLimit = 2 * time.Minute // for all ranks to join
	callLimit = time.Minute     // to put an operation into a stream, which may connect ranks first
	endLimit  = 5 * time.Second // for the library to give a communicator up
)

// Join waits for all ranks of a group, on a device of which no other rank of the group
// is. It is called outside of Do.
func (l *Library) Join(ctx context.Context, device *driver.Context, id ID, rank, size int) (*Comm, error) {
	if size < 1 || size > MaxRanks || rank < 0 || rank >= size {
		return nil, fmt.Errorf("rank %d of %d ranks cannot join a group", rank, size)
	}
	c := &Comm{Rank: rank, Size: size, lib: l, ended: make(chan struct{}), detail: fmt.Sprintf("rank %d of %d on device %d", rank, size, device.Ordinal)}
	ctx, cancel := context.WithTimeoutCause(ctx, joinLimit, fmt.Errorf("not all ranks joined within %v", joinLimit))
	defer cancel()
	name, err := initScalable, device.Do(ctx, func() error {
		if l.initConfig == nil {
			return c.call(initScalable, uintptr(unsafe.Pointer(&c.handle)), uintptr(size), uintptr(rank), 1, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(newConfig())))
		}
		return c.accept(initByValue, Result(l.initConfig(&c.handle, int32(size), struct{ ID }{id}, int32(rank), newConfig())))
	})
	if err == nil {
		err = c.settle(ctx, name)
	}
	if err != nil {
		c.Abort(err)
		return nil, errors.Join(err, c.gone(context.Background()))
	}
	return c, nil
}

// call calls a function that may go on in the background.
//
//go:uintptrescapes
func (c *Comm) call(name string, args ...uintptr) error {
	return c.accept(name, Result(c.lib.lib.Call(name, args...)))
}

func (c *Comm) accept(name string, code Result) error {
	if code == 0 || code == inProgress {
		return nil
	}
	return c.lib.fail(code, name, c.detail)
}

// While the library works in the background, it is asked without a pause for as long as
// spin, and then more and more rarely.
const (
	spin     = 2 * time.Millisecond
	minPause = 20 * time.Microsecond
	maxPause = time.Millisecond
)

// settle waits until what a call has begun is done.
func (c *Comm) settle(ctx context.Context, name string) error {
	begun := time.Now()
	for pause := minPause; ; {
		switch state, err := c.state(name); {
		case err != nil:
			return err
		case state == 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s (%s) does not end: %w", name, c.detail, context.Cause(ctx))
		}
		if time.Since(begun) > spin {
			time.Sleep(pause)
			pause = min(2*pause, maxPause)
		}
	}
}

// state asks how the communicator is: 0, or inProgress.
func (c *Comm) state(name string) (Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return 0, c.over
	}
	var state Result
	if err := c.lib.call(c.detail, "ncclCommGetAsyncError", c.handle, uintptr(unsafe.Pointer(&state))); err != nil {
		return 0, err
	}
	if state != 0 && state != inProgress {
		return 0, c.lib.fail(state, name, c.detail)
	}
	return state, nil
}

// Check is an error that NCCL found after a call had returned, such as the loss of a
// rank. It does not wait.
func (c *Comm) Check() error {
	_, err := c.state("an operation in the background")
	return err
}

// put calls a function that puts an operation into a stream, within Do, and waits until
// it is there.
func (c *Comm) put(ctx context.Context, name string, args ...uintptr) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, fmt.Errorf("it takes longer than %v", callLimit))
	defer cancel()
	if err := c.begin(name, args); err != nil {
		return err
	}
	return c.settle(ctx, name)
}

// begin puts the handle where functions of operations have it: before the stream.
func (c *Comm) begin(name string, args []uintptr) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return c.over
	}
	n := len(args) - 1
	return c.call(name, append(append(args[:n:n], c.handle), args[n])...)
}

// Abort ends what the device of this rank waits for. It does not wait; later calls
// return cause. The library gives up what it holds once all graphs are closed that
// operations of the communicator were captured in, which [Comm.Close] waits for.
func (c *Comm) Abort(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	c.over = fmt.Errorf("the communicator (%s) was aborted: %w", c.detail, cause)
	c.end("ncclCommAbort")
}

// end begins a call that destroys the communicator, on a thread of its own since it
// blocks. The caller has the lock.
func (c *Comm) end(name string) {
	handle := c.handle
	c.handle = 0
	if handle == 0 {
		close(c.ended)
		return
	}
	go func() {
		runtime.LockOSThread() // NCCL changes the thread's device; the thread ends with the goroutine
		c.failure = c.call(name, handle)
		close(c.ended)
	}()
}

// Close waits for the operations of this rank, or for the end of an abort, until ctx
// ends, and gives up what the communicator holds. Graphs with operations of it must have
// been closed. It is called outside of Do. An error tells that only the end of the
// process gives the device free.
func (c *Comm) Close(ctx context.Context) error {
	err := c.finalize()
	if err == nil {
		err = c.settle(ctx, "ncclCommFinalize")
	}
	c.mu.Lock()
	switch {
	case c.over != nil: // closed or aborted before
		err = nil
	case err != nil:
		c.over = fmt.Errorf("the communicator (%s) was aborted: %w", c.detail, err)
		c.end("ncclCommAbort")
	default:
		c.over = ErrClosed
		c.end("ncclCommDestroy")
	}
	c.mu.Unlock()
	return errors.Join(err, c.gone(ctx))
}

// gone waits until the library has given up the communicator.
func (c *Comm) gone(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, endLimit, fmt.Errorf("it takes longer than %v", endLimit))
	defer cancel()
	select {
	case <-c.ended:
		return c.failure
	case <-ctx.Done():
		return fmt.Errorf("the communicator (%s) does not end: %w", c.detail, context.Cause(ctx))
	}
}

func (c *Comm) finalize() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return c.over
	}
	return c.call("ncclCommFinalize", c.handle)
}
