package driver

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/display"
)

// Handle names shared memory of a device for other processes of the host.
type Handle [64]byte

// openHandle is cuIpcOpenMemHandle_v2 as purego passes its arguments: a handle is a
// structure that goes by value.
type openHandle func(at *uint64, handle struct{ Handle }, flags uint32) int32

// openShared finds the function once for a library.
var openShared = sync.OnceValue(func() openHandle {
	l, err := Open()
	if err != nil {
		return nil
	}
	var f openHandle
	purego.RegisterFunc(&f, l.lib.Address("cuIpcOpenMemHandle_v2"))
	return f
})

// lazyPeerAccess lets contexts reach the memory of others when it is opened.
const lazyPeerAccess = 1

// peerAccessAlready is CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED.
const peerAccessAlready Result = 704

// Shared is memory of a device that others reach over the bus between them: those of this
// process after [Context.Reach], those of others by a handle. It is no memory of the pool.
type Shared struct {
	Memory
	opened bool // by a handle
}

// NewShared takes memory that is filled with zeros.
func (c *Context) NewShared(bytes int64) (*Shared, error) {
	m := &Shared{Memory: Memory{Bytes: bytes, c: c}}
	if err := c.call(display.FormatBytes(bytes)+" shared", "cuMemAlloc_v2", uintptr(unsafe.Pointer(&m.Address)), uintptr(bytes)); err != nil {
		return nil, err
	}
	if err := errors.Join(c.call("", "cuMemsetD8_v2", uintptr(m.Address), 0, uintptr(bytes)), c.call("", "cuCtxSynchronize")); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Handle is the name of the memory.
func (m *Shared) Handle() (Handle, error) {
	var h Handle
	return h, m.c.call("", "cuIpcGetMemHandle", uintptr(unsafe.Pointer(&h)), uintptr(m.Address))
}

// OpenShared finds memory that another process has shared, which keeps it until this one
// has closed it.
func (c *Context) OpenShared(h Handle, bytes int64) (*Shared, error) {
	m := &Shared{Memory: Memory{Bytes: bytes, c: c}, opened: true}
	if code := Result(openShared()(&m.Address, struct{ Handle }{h}, lazyPeerAccess)); code != 0 {
		return nil, c.fail(code, "cuIpcOpenMemHandle_v2", "memory of another process")
	}
	return m, nil
}

// Reach lets kernels of this device read and write memory of another one of the process.
func (c *Context) Reach(other *Context) error {
	err := c.call("", "cuCtxEnablePeerAccess", other.handle, 0)
	if errors.Is(err, peerAccessAlready) {
		return nil
	}
	return err
}

// Close gives the memory back, or lets go of that of another process.
func (m *Shared) Close() error {
	if m.opened {
		return m.c.call("", "cuIpcCloseMemHandle", uintptr(m.Address))
	}
	return m.c.call(display.FormatBytes(m.Bytes), "cuMemFree_v2", uintptr(m.Address))
}
