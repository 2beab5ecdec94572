package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Context is a device in use by this process, through its primary context, which
// other libraries of CUDA share.
type Context struct {
	*Device
	handle uintptr
	pool   uintptr
	host   int64 // bytes of pinned memory
	work   chan *task
	quit   chan struct{} // closed to end the goroutine
	closed chan struct{} // closed when it has ended
	close  sync.Once
	err    error // of the end
}

// ErrClosed says that a context does no more work.
var ErrClosed = errors.New("the CUDA context is closed")

type task struct {
	do   func() error
	err  error
	done chan struct{}
}

// Open makes the device ready and starts the goroutine that owns all calls.
// [Context.Close] ends it.
func (d *Device) Open() (*Context, error) {
	if !d.Pools {
		return nil, fmt.Errorf("%s (device %d) has no pools of memory, which cuDeviceGetAttribute 115 tells", d.Name, d.Ordinal)
	}
	c := &Context{Device: d, work: make(chan *task), quit: make(chan struct{}), closed: make(chan struct{})}
	ready := make(chan error)
	go c.serve(ready)
	if err := <-ready; err != nil {
		<-c.closed
		return nil, err
	}
	return c, nil
}

// serve is the goroutine of the context. Its thread ends with it, and what libcuda
// keeps for the thread.
func (c *Context) serve(ready chan<- error) {
	runtime.LockOSThread()
	defer close(c.closed)
	if err := c.begin(); err != nil {
		ready <- err
		return
	}
	ready <- nil
	for {
		select {
		case t := <-c.work:
			t.err = t.do()
			close(t.done)
		case <-c.quit:
			c.err = c.end()
			return
		}
	}
}

func (c *Context) begin() error {
	detail := fmt.Sprintf("%s, device %d", c.Name, c.Ordinal)
	if err := c.lib.call(detail, "cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&c.handle)), uintptr(c.Device.handle)); err != nil {
		return err
	}
	err := c.lib.call(detail, "cuCtxSetCurrent", c.handle)
	if err == nil {
		err = c.newPool()
	}
	if err != nil {
		err = errors.Join(err, c.lib.call(detail, "cuDevicePrimaryCtxRelease_v2", uintptr(c.Device.handle)))
	}
	return err
}

// end waits for the device and gives back what the context holds.
func (c *Context) end() error {
	return errors.Join(
		c.call("at the end", "cuCtxSynchronize"),
		c.call("", "cuMemPoolDestroy", c.pool),
		c.call("", "cuDevicePrimaryCtxRelease_v2", uintptr(c.Device.handle)),
	)
}

// Do runs f on the thread of the context, after what others have sent, and returns
// its error. When ctx ends before f has begun, it does not run; when it ends during f,
// which is short and does not wait for the device, the error is that of f.
// It may be called by any goroutine but not within Do. The way to the thread and back
// takes some 16 µs (captures/h200.txt), so that what belongs together goes into one call.
func (c *Context) Do(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := &task{do: f, done: make(chan struct{})}
	select {
	case <-c.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	case c.work <- t:
	}
	select {
	case <-t.done:
		return t.err
	case <-c.closed: // f ended the goroutine
		return ErrClosed
	}
}

// Close waits for the work of the device, then gives its memory back; later calls of
// Do are told [ErrClosed]. It may be called more than once, outside of Do.
func (c *Context) Close() error {
	c.close.Do(func() { close(c.quit) })
	<-c.closed
	return c.err
}

// call is [Library.call] with the device in the error.
//
//go:uintptrescapes
func (c *Context) call(detail, name string, args ...uintptr) error {
	code := Result(c.lib.lib.Call(name, args...))
	if code == 0 {
		return nil
	}
	if detail != "" {
		detail += "; "
	}
	return c.lib.fail(code, name, detail+fmt.Sprintf("device %d", c.Ordinal))
}

// Wait blocks until the device is past an event, or ctx has ended, in which case the
// device goes on. It is called outside of Do, which stays free for others.
func (c *Context) Wait(ctx context.Context, e *Event) error {
	for pause := time.Duration(0); ; pause = min(pause+time.Microsecond, maxPause) {
		past := false
		err := c.Do(ctx, func() (err error) {
			past, err = e.Query()
			return err
		})
		if err != nil || past {
			return err
		}
		if pause > spin {
			time.Sleep(pause)
		}
	}
}

// While it waits, a goroutine asks without a pause at first, and then more and more
// rarely.
const (
	spin     = 20 * time.Microsecond
	maxPause = 200 * time.Microsecond
)
