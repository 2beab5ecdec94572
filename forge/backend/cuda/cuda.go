// Package cuda compiles graphs to machine code for NVIDIA GPUs.
//
// Each node is lowered to kernels by package loop, which are printed as CUDA C. The
// operations in it are the text that backend cpu compiles, so that elementwise results
// are equal to the interpreter's bit by bit; elementary functions of f64 are those of
// CUDA's library. Templates make better kernels of some nodes than loops are: products
// from package gemm, attention from package attention. What a decoder does with new
// tokens before attention, rotary positions and the writing to caches, is one kernel for
// all of its nodes. Package nvrtc makes machine code of the program for one architecture,
// and package driver runs it.
//
// A thread of a loop nest takes as many neighbours as fill 16 bytes. A row that is folded,
// as of a norm or a softmax, stays in the registers of a warp or a block, and long lines
// are folded in two passes.
//
// The memory of a run is one piece of the device, with all values where package plan
// puts them, and pinned memory of the host for inputs and outputs. The copies and
// kernels of a run are captured once as a graph, so that a run is one launch. A kernel
// gets ready while the one before it ends, and asks for weights ahead of time; it touches
// what others read or write only when all before are done ([Backend.Overlap]). Copies and
// calls of libraries begin when what is before them is done, and so does what follows them.
//
// Ranks exchange tensors by NCCL, whose calls are captured with the rest (package nccl). A
// small sum over ranks is one kernel instead, where devices reach one another: they write
// to one another's memory (package peer), and the kernel goes on with the residual and the
// norm that a decoder has behind it. The groups of the context in which a program is
// compiled decide.
//
// Constants are on the device once, for all programs that have them. Inputs and outputs
// can stay there, too, which a program is then bound to ([Executable.Bind]): a run copies
// only the others.
//
// Nothing runs elsewhere: a graph with a node that has no kernel yet does not compile,
// and the error, [*Unsupported], names each of them. A kernel that finds an error of the
// run, such as an index out of range, touches nothing out of bounds; the interpreter
// then tells the error, which so reads the same on every backend.
//
// Sums run in an order that depends on the program and the device alone, and errors are
// within those that package bound allows, also in f64. A bias is added to the rounded sum
// of a product, and is where the sums of loops begin.
package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/backend/cuda/tuning"
	"forgekernel/forge/backend/triton/compile"
	"forgekernel/forge/ir"
)

// DefaultMaxBytes is the default of [Backend.MaxBytes].
const DefaultMaxBytes = 8 << 30

// Backend compiles for one device.
type Backend struct {
	Context  *driver.Context
	Compiler *nvrtc.Compiler
	// MaxBytes bounds the memory that intermediate values of one run may need.
	MaxBytes int64
	// Select picks among the kernels that nodes can have; nil takes the first of each.
	Select Selector
	// Overlap lets a kernel get ready while the one before it runs, where the device can:
	// from capability 9.0 on. [Open] sets it.
	Overlap bool
	// Choose gives the record of tuning for a program that is described by the shapes of
	// its nodes, nil for none; it is not asked when there is a selector.
	Choose func(m tuning.Machine, shapes []string) *tuning.Record
	// Triton compiles what a selector may pick besides. It is asked when there is a
	// selector; nil offers no such kernels.
	Triton func() (*compile.Compiler, error)
	memory *memory
}

var _ backend.Backend = (*Backend)(nil)

// opened are the devices that the process uses.
var opened struct {
	sync.Mutex
	backends map[int]*Backend
}

// New is [Open] for the first device.
func New() (*Backend, error) { return Open(0) }

// Open returns the backend for a device, by its number among those that the process may
// use, and once for the process. The error says what the host lacks.
func Open(device int) (*Backend, error) {
	opened.Lock()
	defer opened.Unlock()
	if b := opened.backends[device]; b != nil {
		return b, nil
	}
	b, err := open(device)
	if err != nil {
		return nil, err
	}
	if opened.backends == nil {
		opened.backends = make(map[int]*Backend)
	}
	opened.backends[device] = b
	return b, nil
}

func open(device int) (*Backend, error) {
	lib, err := driver.Open()
	if err != nil {
		return nil, err
	}
	list, err := lib.Devices()
	if err != nil {
		return nil, err
	}
	if device >= len(list) {
		return nil, fmt.Errorf("device %d is not there: the driver %s tells of %d GPUs that this process may use", device, lib.Path, len(list))
	}
	compiler, err := nvrtc.Open()
	if err != nil {
		return nil, err
	}
	c, err := list[device].Open()
	if err != nil {
		return nil, err
	}
	m, err := newMemory(c)
	if err != nil {
		return nil, err
	}
	return &Backend{Context: c, Compiler: compiler, MaxBytes: DefaultMaxBytes, Overlap: true, Triton: openTriton, memory: m}, nil
}

// Name is "cuda".
func (b *Backend) Name() string { return "cuda" }

// Compile prints a graph, compiles it and loads it.
func (b *Backend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	u := b.unit()
	u.mailed = func(group string, size int) string { return mailed(ctx, group, size) }
	choose, err := b.selector(u, g)
	if err != nil {
		return nil, err
	}
	p, err := newProgram(u, g, b.MaxBytes, choose)
	if err != nil {
		return nil, err
	}
	if errs, err := u.compileTriton(ctx, p); err != nil || errs[0] != nil {
		return nil, errors.Join(err, errors.Join(errs...))
	}
	cubin, err := b.Compiler.Cubin(ctx, u.source())
	if err != nil {
		return nil, err
	}
	return newExecutable(ctx, b.memory, p, cubin)
}

// unit is an empty file for the device.
func (b *Backend) unit() *unit {
	u := newUnit(targetOf(b.Context.Device))
	u.target.overlap = b.Overlap
	if b.Select != nil {
		u.offer(byLibrary(b.Context))
		u.offerTriton(b.Triton)
	}
	return u
}

// CompileAll compiles several graphs at once, as many as there are processors. The
// error is the first in their order.
func (b *Backend) CompileAll(ctx context.Context, graphs ...*ir.Graph) ([]backend.Executable, error) {
	list, errs := make([]backend.Executable, len(graphs)), make([]error, len(graphs))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, g := range graphs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			list[i], errs[i] = b.Compile(ctx, g)
		})
	}
	all.Wait()
	return list, cmp.Or(errs...)
}

// Source is the CUDA C of a graph for an architecture, which needs no device.
func Source(g *ir.Graph, arch string) (nvrtc.Source, error) {
	t, err := parseTarget(arch)
	if err != nil {
		return nvrtc.Source{}, err
	}
	p, err := newProgram(newUnit(t), g, DefaultMaxBytes, nil)
	if err != nil {
		return nvrtc.Source{}, err
	}
	return p.unit.source(), nil
}

// Unsupported is the error of a graph with nodes that have no kernel.
type Unsupported struct {
	Graph   string
	Reasons []string // "%3 = conv2d: it has no CUDA kernel yet"
}

func (u *Unsupported) Error() string {
	return fmt.Sprintf("%s cannot run on a CUDA device: %s", u.Graph, strings.Join(u.Reasons, "; "))
}
