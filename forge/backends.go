package forge

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
)

// DefaultBackend is the reference interpreter in float32.
const DefaultBackend = "interp"

// backends lists what can run a program, the default first, each made for a number
// of threads.
var backends = []func(threads int) backend.Backend{
	func(threads int) backend.Backend { b := interp.New(); b.Workers = threads; return b },
	func(threads int) backend.Backend { b := interp.Reference(); b.Workers = threads; return b },
	func(threads int) backend.Backend { b := cpu.New(); b.Threads = threads; return b },
}

// MaxThreads bounds the threads of a program.
const MaxThreads = cpu.MaxThreads

// Backends names what can run a program.
func Backends() []string {
	names := make([]string, len(backends))
	for i, on := range backends {
		names[i] = on(1).Name()
	}
	return names
}

func backendNamed(name string, threads int) (backend.Backend, error) {
	if threads < 1 || threads > MaxThreads {
		return nil, fmt.Errorf("a program runs on 1 to %d threads, not on %d", MaxThreads, threads)
	}
	for _, on := range backends {
		if b := on(threads); b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("there is no backend %q; there are %s", name, strings.Join(Backends(), ", "))
}
