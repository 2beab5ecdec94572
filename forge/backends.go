package forge

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/auto"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
)

// DefaultBackend picks what runs a program, by the rules of package auto.
const DefaultBackend = "auto"

// backends lists what can run a program, each made for a number of threads.
var backends = []func(threads int) backend.Backend{
	func(threads int) backend.Backend { b := interp.New(); b.Workers = threads; return b },
	func(threads int) backend.Backend { b := interp.Reference(); b.Workers = threads; return b },
	func(threads int) backend.Backend { b := cpu.New(); b.Threads = threads; return b },
	func(threads int) backend.Backend { b := portable.New(); b.Workers = threads; return b },
	func(threads int) backend.Backend { return tiered.New(threads) },
	func(threads int) backend.Backend { return auto.New(threads) },
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

// NewBackend makes the backend of a name, one of [Backends], for a number of threads.
func NewBackend(name string, threads int) (backend.Backend, error) {
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

// Close ends compilations in the background and waits until they have cleared up.
// Programs go on in the form that they have. A process calls it before it ends.
func Close() { tiered.Process.Stop() }
