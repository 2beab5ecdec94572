// Package doctor examines a host: what the ranks of a job will find there, what
// they will miss and what to do about that.
//
// Every [Check] looks at a [Host] and returns a [Finding]: ok, warn (something
// will be slower, smaller or left out) or fail (a job cannot run here as it is).
// What is neither good nor bad is ok. A finding that is not ok says what to do.
package doctor

import (
	"context"
	"sync"
	"time"
)

// State is the outcome of a check.
type State string

// States, from good to bad.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
)

// Finding is what one check found.
type Finding struct {
	What  string `json:"what"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // what to do about it, when it is not ok
}

// Check is a function that looks at one thing, under a name.
type Check struct {
	What string
	Look func(context.Context, *Host) Finding
}

// patience bounds one check, and with it a program that it runs: a wedged driver
// makes nvidia-smi hang.
const patience = 5 * time.Second

// checks are the table of a job's host, in the order of the report.
var checks = []Check{
	{"launcher", Launcher},
	{"meeting place", meeting},
	{"operating system", OperatingSystem},
	{"host", Kind},
	{"processor", Processor},
	{"cores", Cores},
	{"threads", threads},
	{"memory", Memory},
	{"C compiler", Compiler},
	{"shared memory", sharedMemory},
	{"kernel facilities", facilities},
	{"ports", ports},
	{"limits", limits},
	{"run folder", runFolder},
	{"earlier jobs", earlierJobs},
	{"GPU", GPU},
	{"driver library", driverLibrary},
	{"CUDA libraries", CUDALibraries},
	{"between GPUs", betweenGPUs},
	{"data types", dataTypes},
}

// Examine makes a report of what a job would find on a host.
func Examine(ctx context.Context, h *Host) Report {
	return Report{Schema: Schema, Findings: Run(ctx, h, checks)}
}

// Run makes checks, all at the same time, and returns what they found in their order.
func Run(ctx context.Context, h *Host, checks []Check) []Finding {
	found := make([]Finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			found[i] = c.Look(ctx, h)
			found[i].What = c.What
		})
	}
	wg.Wait()
	return found
}
