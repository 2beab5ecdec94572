package cpu

import (
	"sync"
	"unsafe"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
)

// executable is a program with its machine code. Runs share nothing but the
// frames in the pool, each of which serves one run at a time.
type executable struct {
	*program
	lib    *library // nil when there is no native step
	team   *team    // nil when no kernel is shared
	code   string
	calls  []call
	moving []int // buffers that lie elsewhere in each run
	frames sync.Pool
}

// call is a native function or the evaluation of a node.
type call struct {
	function uintptr
	node     *ir.Node
}

func newExecutable(p *program, lib *library, code string) (*executable, error) {
	x := &executable{program: p, lib: lib, code: code}
	for i, s := range p.steps {
		switch {
		case s.kernel == nil:
			x.calls = append(x.calls, call{node: s.node})
		case p.apart || i == 0 || p.steps[i-1].kernel == nil:
			f, err := lib.function(entryName(p.index, i))
			if err != nil {
				return nil, err
			}
			x.calls = append(x.calls, call{function: f})
		}
	}
	for i := range p.buffers {
		b := &p.buffers[i]
		if b.input >= 0 || b.output != nil {
			x.moving = append(x.moving, i)
		}
	}
	return x, nil
}

// aligned is a copy of s that begins at a multiple of [plan.Align] bytes.
func aligned[T any](s []T) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	room := make([]T, len(s)+plan.Align/size)
	shift := 0
	if over := int(uintptr(unsafe.Pointer(unsafe.SliceData(room))) % plan.Align); over > 0 {
		shift = (plan.Align - over) / size
	}
	out := room[shift : shift+len(s) : shift+len(s)]
	copy(out, s)
	return out
}

// Graph is the program in execution order.
func (x *executable) Graph() *ir.Graph { return x.graph }

// Kernels tells what runs each node.
func (x *executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Code is the generated C.
func (x *executable) Code() display.Source {
	return display.Source{Lang: "c", Code: x.code, Name: x.graph.Name + ".c"}
}

// Cached reports whether the machine code was found compiled.
func (x *executable) Cached() bool { return x.lib == nil || x.lib.cached }

// Forget removes the machine code from the cache, for one who found it wrong.
func (x *executable) Forget() {
	if x.lib != nil {
		x.lib.forget()
	}
}
