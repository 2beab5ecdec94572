package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Context is a device in use by this process, through its primary context, which
// other libraries of CUDA share.
type Context struct {
	*Device
	handle uintptr
	pool   uintptr
	host   atomic.Int64 // bytes of pinned memory
	life   sync.RWMutex // read within Do, written at the end
	over   bool
	err    error // of the end
}

// ErrClosed says that a context does no more work.
var ErrClosed = errors.New("the CUDA context is closed")

// Open makes the device ready. [Context.Close] ends it.
func (d *Device) Open() (*Context, error) {
	if !d.Pools {
		return nil, fmt.Errorf("%s (device %d) has no pools of memory, which cuDeviceGetAttribute 115 tells", d.Name, d.Ordinal)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &Context{Device: d}
	if err := c.begin(); err != nil {
		return nil, err
	}
	return c, nil
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

// Do runs f, in which the device is the current one of the caller's thread, and returns
// its error. When ctx has ended f does not run. It may be called by many goroutines at
// once, but not within Do. It allocates nothing.
func (c *Context) Do(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.life.RLock()
	defer c.life.RUnlock()
	if c.over {
		return ErrClosed
	}
	runtime.LockOSThread() // libcuda keeps the current context for a thread
	defer runtime.UnlockOSThread()
	if err := c.pair("", "cuCtxSetCurrent", c.handle, 0); err != nil {
		return err
	}
	return f()
}

// Close waits for calls of Do and for the work of the device, then gives its memory
// back; later calls of Do are told [ErrClosed]. It may be called more than once,
// outside of Do.
func (c *Context) Close() error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.over {
		return c.err
	}
	c.over = true
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.err = c.call("", "cuCtxSetCurrent", c.handle); c.err == nil {
		c.err = c.end()
	}
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
	return c.fail(code, name, detail)
}

// pair is call for two arguments that are no pointers of Go; it allocates nothing.
func (c *Context) pair(detail, name string, a, b uintptr) error {
	if code := Result(c.lib.lib.CallPair(name, a, b)); code != 0 {
		return c.fail(code, name, detail)
	}
	return nil
}

// fail is [Library.fail] with the device in the error.
func (c *Context) fail(code Result, name, detail string) *Error {
	if detail != "" {
		detail += "; "
	}
	return c.lib.fail(code, name, detail+fmt.Sprintf("device %d", c.Ordinal))
}
