package cpu

import (
	"sync"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
)

// executable is a program with its machine code. Runs share nothing but the
// frames in the pool, each of which serves one run at a time.
type executable struct {
	*program
	lib    *library // nil when there is no native step
	team   *team    // nil when no kernel is shared
	code   string
	calls  []call
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
	return x, nil
}

// Graph is the program in execution order.
func (x *executable) Graph() *ir.Graph { return x.Program.Graph }

// Kernels tells what runs each node.
func (x *executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Code is the generated C.
func (x *executable) Code() display.Source {
	return display.Source{Lang: "c", Code: x.code, Name: x.Program.Graph.Name + ".c"}
}

// Cached reports whether the machine code was found compiled.
func (x *executable) Cached() bool { return x.lib == nil || x.lib.cached }

// Forget removes the machine code from the cache, for one who found it wrong.
func (x *executable) Forget() {
	if x.lib != nil {
		x.lib.forget()
	}
}
