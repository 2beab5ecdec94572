package driver

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"forgekernel/display"
)

// Module is machine code on the device.
type Module struct {
	c      *Context
	handle uintptr
}

// Load gives the device machine code: a cubin for its architecture, as package nvrtc
// makes.
func (c *Context) Load(cubin []byte) (*Module, error) {
	if len(cubin) < 4 || string(cubin[:4]) != "\x7fELF" {
		return nil, errors.New("machine code for a device is an ELF file, and this is none")
	}
	m := &Module{c: c}
	detail := fmt.Sprintf("%s for %s", display.FormatBytes(int64(len(cubin))), c.Capability.Arch())
	if err := c.call(detail, "cuModuleLoadData", uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&cubin[0]))); err != nil {
		return nil, err
	}
	return m, nil
}

// Close removes the code; nothing may run it any more.
func (m *Module) Close() error { return m.c.call("", "cuModuleUnload", m.handle) }

// Function is a kernel of a module.
type Function struct {
	Name   string
	c      *Context
	handle uintptr
}

// Function finds a kernel by its name.
func (m *Module) Function(name string) (*Function, error) {
	text := append([]byte(name), 0)
	f := &Function{Name: name, c: m.c}
	if err := m.c.call(name, "cuModuleGetFunction", uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(&text[0]))); err != nil {
		return nil, err
	}
	return f, nil
}

// Resources is what one kernel needs.
type Resources struct {
	Registers, Local, Shared int // registers and bytes of local memory of a thread; bytes of shared memory of a block
	Threads                  int // the most that a block may have
}

// Of CUfunction_attribute.
const (
	funcMaxThreads = 0
	funcShared     = 1
	funcLocal      = 3
	funcRegisters  = 4
	funcMaxDynamic = 8
)

// Resources asks the driver.
func (f *Function) Resources() (Resources, error) {
	var r [4]int32
	for i, a := range []uintptr{funcRegisters, funcLocal, funcShared, funcMaxThreads} {
		if err := f.c.call(f.Name, "cuFuncGetAttribute", uintptr(unsafe.Pointer(&r[i])), a, f.handle); err != nil {
			return Resources{}, err
		}
	}
	return Resources{int(r[0]), int(r[1]), int(r[2]), int(r[3])}, nil
}

// AllowShared lets launches ask for more than the 48 KiB of shared memory that a block
// may have by default.
func (f *Function) AllowShared(bytes int) error {
	return f.c.call(fmt.Sprintf("%s, %d bytes of shared memory of at most %d", f.Name, bytes, f.c.SharedPerBlock), "cuFuncSetAttribute", f.handle, funcMaxDynamic, uintptr(bytes))
}

// Grid is how a kernel is launched.
type Grid struct {
	Blocks, Threads [3]uint32 // each at least 1
	Shared          uint32    // bytes of dynamic shared memory of a block
	// Early lets the kernel begin before the kernel that is put into the stream before
	// it has ended. It must wait by itself, with griddepcontrol.wait, before it reads or
	// writes memory that others write or read. From capability 9.0 on.
	Early bool
}

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	blocks, threads [3]uint32
	shared          uint32
	stream          uintptr
	attributes      *launchAttribute
	count           uint32
}

// launchAttribute is CUlaunchAttribute.
type launchAttribute struct {
	id    int32
	_     [4]byte
	value [64]byte
}

// attributeEarly is CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
const attributeEarly = 6

// early is the attribute of [Grid.Early].
var early = launchAttribute{id: attributeEarly, value: [64]byte{1}}

// Arguments are the values of a kernel's parameters, in a form that can be launched
// many times and that holds its own memory. The zero value is of none.
type Arguments struct {
	words    []uint64
	pointers []unsafe.Pointer
}

// NewArguments holds values of parameters of up to 8 bytes each: addresses of the
// device, or integers.
func NewArguments(words ...uint64) *Arguments {
	a := &Arguments{words: append([]uint64{}, words...), pointers: make([]unsafe.Pointer, len(words))}
	for i := range a.words {
		a.pointers[i] = unsafe.Pointer(&a.words[i])
	}
	return a
}

// Work is a launch that is ready to be put into its stream, many times and without an
// allocation.
type Work struct {
	s     *Stream
	f     *Function
	grid  Grid
	name  string // of the driver's function
	words []uintptr
	keep  []any // memory that the words point to
}

// Prepare makes a launch ready. The driver copies the arguments at each.
func (s *Stream) Prepare(f *Function, g Grid, a *Arguments) *Work {
	w := &Work{s: s, f: f, grid: g, keep: []any{a}}
	args := uintptr(unsafe.Pointer(unsafe.SliceData(a.pointers)))
	if g.Early && s.c.lib.lib.Has("cuLaunchKernelEx") {
		c := &launchConfig{g.Blocks, g.Threads, g.Shared, s.handle, &early, 1}
		w.name, w.words, w.keep = "cuLaunchKernelEx", []uintptr{uintptr(unsafe.Pointer(c)), f.handle, args, 0}, append(w.keep, c)
		return w
	}
	w.name = "cuLaunchKernel"
	w.words = []uintptr{
		f.handle, uintptr(g.Blocks[0]), uintptr(g.Blocks[1]), uintptr(g.Blocks[2]), uintptr(g.Threads[0]), uintptr(g.Threads[1]), uintptr(g.Threads[2]),
		uintptr(g.Shared), s.handle, args, 0,
	}
	return w
}

// Start puts the kernel into the stream.
func (w *Work) Start() error {
	code := Result(w.s.c.lib.lib.CallWords(w.name, w.words))
	runtime.KeepAlive(w)
	if code != 0 {
		return w.s.c.lib.fail(code, w.name, fmt.Sprintf("%s in %v blocks of %v threads with %d bytes of shared memory; device %d", w.f.Name, w.grid.Blocks, w.grid.Threads, w.grid.Shared, w.s.c.Ordinal))
	}
	return nil
}

// Launch puts a kernel into the stream. The driver copies the arguments.
func (s *Stream) Launch(f *Function, g Grid, a *Arguments) error { return s.Prepare(f, g, a).Start() }
