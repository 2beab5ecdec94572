// Package doctor examines the host: what the workbench will find there, what it
// misses and what to do about that. Each [Finding] comes from a probe that
// looked at the host itself.
package doctor

import (
	"context"
	"sync"
	"time"
)

// State is the outcome of a probe.
type State string

// States of findings.
const (
	OK      State = "ok"
	Missing State = "missing" // something cannot be used for want of it
	Info    State = "info"    // neither good nor bad
)

// Finding is what one probe found.
type Finding struct {
	What   string
	State  State
	Found  string
	Advice string // what to do when it is missing; may be empty
}

// patience bounds one program that a probe runs: a wedged driver makes
// nvidia-smi hang.
const patience = 5 * time.Second

// probe looks at one thing. The table keeps the order of the report.
type probe struct {
	what string
	look func(ctx context.Context) Finding
}

var probes = []probe{
	{"kernel", kernel},
	{"operating system", operatingSystem},
	{"processor", processor},
	{"cores", cores},
	{"memory", memory},
	{"C compiler", program("a C compiler makes the cpu backend fast: install gcc or clang", "--version", "cc", "gcc", "clang")},
	{"Go toolchain", program("only building the workbench itself needs it", "version", "go")},
	{"GPU", gpu},
	{"CUDA compiler", optional("nvcc", "--version")},
	{"Python", program("only Jupyter and the comparisons with other runtimes need it", "--version", "python3", "python")},
	{"Jupyter", jupyter},
	{"cache", cache},
	{"launcher", launcher},
	{"host", host},
}

// Examine runs every probe, at the same time, and returns the findings in
// their fixed order.
func Examine(ctx context.Context) []Finding {
	found := make([]Finding, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			found[i] = p.look(ctx)
			found[i].What = p.what
		})
	}
	wg.Wait()
	return found
}
