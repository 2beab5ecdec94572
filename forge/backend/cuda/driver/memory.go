package driver

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"forgekernel/display"
)

// Memory is a piece of the device's memory.
type Memory struct {
	Address uint64
	Bytes   int64
	c       *Context
}

// poolProps is CUmemPoolProps.
type poolProps struct {
	allocType, handleTypes, locationType, locationID int32
	security                                         uintptr
	maxSize                                          uint64
	usage                                            uint16
	reserved                                         [54]byte
}

const (
	allocPinned    = 1 // CU_MEM_ALLOCATION_TYPE_PINNED
	locationDevice = 1 // CU_MEM_LOCATION_TYPE_DEVICE
)

// Attributes of a pool, of CUmemPool_attribute.
const (
	poolReleaseThreshold = 4
	poolReserved         = 5
	poolReservedHigh     = 6
	poolUsed             = 7
	poolUsedHigh         = 8
)

// newPool makes the pool of the context. It keeps what is freed until [Context.Trim].
func (c *Context) newPool() error {
	props := poolProps{allocType: allocPinned, locationType: locationDevice, locationID: c.Device.handle}
	if err := c.call("", "cuMemPoolCreate", uintptr(unsafe.Pointer(&c.pool)), uintptr(unsafe.Pointer(&props))); err != nil {
		return err
	}
	keep := uint64(math.MaxUint64)
	return c.call("release threshold", "cuMemPoolSetAttribute", c.pool, poolReleaseThreshold, uintptr(unsafe.Pointer(&keep)))
}

// Statistics are about the memory of a context and of its device, in bytes.
type Statistics struct {
	Used, UsedHigh         int64 // by allocations, and the most that it was
	Reserved, ReservedHigh int64 // held from the driver
	Pinned                 int64 // memory of the host
	Free, Total            int64 // of the device, for all processes
}

// Statistics asks the driver.
func (c *Context) Statistics() (Statistics, error) {
	s := Statistics{Pinned: c.host.Load()}
	err := c.call("", "cuMemGetInfo_v2", uintptr(unsafe.Pointer(&s.Free)), uintptr(unsafe.Pointer(&s.Total)))
	for _, q := range []struct {
		attribute uintptr
		value     *int64
	}{{poolUsed, &s.Used}, {poolUsedHigh, &s.UsedHigh}, {poolReserved, &s.Reserved}, {poolReservedHigh, &s.ReservedHigh}} {
		err = errors.Join(err, c.call(fmt.Sprintf("attribute %d", q.attribute), "cuMemPoolGetAttribute", c.pool, q.attribute, uintptr(unsafe.Pointer(q.value))))
	}
	return s, err
}

// Alloc takes memory for work that follows in the stream. Its content is undefined.
// When there is not enough, the error is [OutOfMemory] and has the numbers.
func (s *Stream) Alloc(bytes int64) (*Memory, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("an allocation of %d bytes of a device", bytes)
	}
	m := &Memory{Bytes: bytes, c: s.c}
	err := s.c.call(display.FormatBytes(bytes), "cuMemAllocFromPoolAsync", uintptr(unsafe.Pointer(&m.Address)), uintptr(bytes), s.c.pool, s.handle)
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == OutOfMemory {
		return nil, s.c.explain(e, bytes)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// explain adds numbers to an error of too little memory.
func (c *Context) explain(e *Error, bytes int64) error {
	st, err := c.Statistics()
	if err != nil {
		return errors.Join(e, err)
	}
	e.Detail = fmt.Sprintf("%s on device %d; %s of %s are free, and this context uses %s of the %s that it holds",
		display.FormatBytes(bytes), c.Ordinal, display.FormatBytes(st.Free), display.FormatBytes(st.Total), display.FormatBytes(st.Used), display.FormatBytes(st.Reserved))
	return e
}

// Free gives memory back once the work in the stream so far is done.
func (s *Stream) Free(m *Memory) error {
	return s.c.call(display.FormatBytes(m.Bytes), "cuMemFreeAsync", uintptr(m.Address), s.handle)
}

// Trim gives the driver what the context holds and does not use.
func (c *Context) Trim() error { return c.call("", "cuMemPoolTrimTo", c.pool, 0) }

// Host is pinned memory of the host, which copies reach without a detour, kernels at
// its address, and the processor without Do.
type Host struct {
	Bytes []byte
	c     *Context
}

// hostPortable makes pinned memory that of all contexts.
const hostPortable = 1

// NewHost takes pinned memory. Its content is undefined.
func (c *Context) NewHost(bytes int) (*Host, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("an allocation of %d bytes of pinned memory", bytes)
	}
	var at *byte
	if err := c.call(display.FormatBytes(int64(bytes))+" pinned", "cuMemHostAlloc", uintptr(unsafe.Pointer(&at)), uintptr(bytes), hostPortable); err != nil {
		return nil, err
	}
	c.host.Add(int64(bytes))
	return &Host{unsafe.Slice(at, bytes), c}, nil
}

// Address is where the device finds the memory, which is where the host does.
func (h *Host) Address() uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(h.Bytes)))) }

// Free gives the memory back; nothing may use it any more.
func (h *Host) Free() error {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(h.Bytes)))
	h.c.host.Add(-int64(len(h.Bytes)))
	h.Bytes = nil
	return h.c.call("", "cuMemFreeHost", at)
}

// span checks that a copy stays within memory, and is its address.
func (m *Memory) span(offset int64, bytes int) (uintptr, error) {
	if offset < 0 || int64(bytes) > m.Bytes-offset {
		return 0, fmt.Errorf("%d bytes from %d are beyond the %d bytes of an allocation", bytes, offset, m.Bytes)
	}
	return uintptr(m.Address) + uintptr(offset), nil
}

// Upload copies to the device. Memory of the host that is not pinned has been read
// when it returns.
func (s *Stream) Upload(to *Memory, offset int64, from []byte) error {
	at, err := to.span(offset, len(from))
	if err != nil || len(from) == 0 {
		return err
	}
	return s.c.call(display.FormatBytes(int64(len(from))), "cuMemcpyHtoDAsync_v2", at, uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(len(from)), s.handle)
}

// Download copies from the device. Memory of the host that is pinned is written when
// the stream comes to it; to other memory it waits for that.
func (s *Stream) Download(to []byte, from *Memory, offset int64) error {
	at, err := from.span(offset, len(to))
	if err != nil || len(to) == 0 {
		return err
	}
	return s.c.call(display.FormatBytes(int64(len(to))), "cuMemcpyDtoHAsync_v2", uintptr(unsafe.Pointer(unsafe.SliceData(to))), at, uintptr(len(to)), s.handle)
}

// Copy copies within the device.
func (s *Stream) Copy(to *Memory, toOffset int64, from *Memory, fromOffset int64, bytes int) error {
	a, err := to.span(toOffset, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	b, err := from.span(fromOffset, bytes)
	if err != nil {
		return err
	}
	return s.c.call(display.FormatBytes(int64(bytes)), "cuMemcpyDtoDAsync_v2", a, b, uintptr(bytes), s.handle)
}

// Fill sets bytes of memory.
func (s *Stream) Fill(m *Memory, offset, bytes int64, value byte) error {
	at, err := m.span(offset, int(bytes))
	if err != nil || bytes == 0 {
		return err
	}
	return s.c.call(display.FormatBytes(bytes), "cuMemsetD8Async", at, uintptr(value), uintptr(bytes), s.handle)
}
