package forge

import (
	"fmt"
	"strconv"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/auto"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
	"forgekernel/forge/backend/wgsl"
)

// DefaultBackend picks what runs a program, by the rules of package auto.
const DefaultBackend = "auto"

// maker makes a backend for a number of threads.
type maker struct {
	name string
	make func(threads int) (backend.Backend, error)
}

// onHost makes a backend that every host has.
func onHost(name string, f func(threads int) backend.Backend) maker {
	return maker{name, func(threads int) (backend.Backend, error) { return f(threads), nil }}
}

// backends lists what can run a program.
var backends = []maker{
	onHost("interp", func(threads int) backend.Backend { b := interp.New(); b.Workers = threads; return b }),
	onHost("reference", func(threads int) backend.Backend { b := interp.Reference(); b.Workers = threads; return b }),
	onHost("cpu", func(threads int) backend.Backend { b := cpu.New(); b.Threads = threads; return b }),
	onHost("portable", func(threads int) backend.Backend { b := portable.New(); b.Workers = threads; return b }),
	onHost("tiered", func(threads int) backend.Backend { return tiered.New(threads) }),
	onHost("auto", func(threads int) backend.Backend { return auto.New(threads) }),
	onHost("gpu", func(int) backend.Backend { return &wgsl.Backend{Device: wgsl.NewSimulator()} }),
	{"cuda", func(int) (backend.Backend, error) { return device(0) }},
}

// MaxThreads bounds the threads of a program.
const MaxThreads = cpu.MaxThreads

// Backends names what can run a program on this host: "gpu" is a simulation of one that
// runs WebGPU's shaders, and "cuda" is among them where there
// is a driver for NVIDIA's GPUs. It opens no device.
func Backends() []string {
	var names []string
	for _, m := range backends {
		if m.name != "cuda" || cuda.Present() {
			names = append(names, m.name)
		}
	}
	return names
}

// NewBackend makes the backend of a name, one of [Backends], for a number of threads.
// "cuda" is the first GPU that the process may use, "cuda:1" the second. The error says
// what the host lacks.
func NewBackend(name string, threads int) (backend.Backend, error) {
	if threads < 1 || threads > MaxThreads {
		return nil, fmt.Errorf("a program runs on 1 to %d threads, not on %d", MaxThreads, threads)
	}
	if number, ok := strings.CutPrefix(name, "cuda:"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("a device is written cuda:0, not %q", name)
		}
		return device(n)
	}
	for _, m := range backends {
		if m.name == name {
			return m.make(threads)
		}
	}
	return nil, fmt.Errorf("there is no backend %q; there are %s", name, strings.Join(Backends(), ", "))
}

// device is the backend of a GPU, by number.
func device(n int) (backend.Backend, error) {
	b, err := cuda.Open(n)
	if err != nil {
		return nil, fmt.Errorf("backend cuda cannot be had: %w", err)
	}
	return b, nil
}

// Devices are the GPUs of this host that programs can run on, with their driver and
// compiler, or what is missing. It opens the driver.
func Devices() cuda.Survey { return cuda.Look() }

// Close ends compilations in the background and waits until they have cleared up.
// Programs go on in the form that they have. A process calls it before it ends.
func Close() { tiered.Process.Stop() }
