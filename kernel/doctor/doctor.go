// Package doctor examines the host of the kernel: what the workbench will find
// there, what it misses and what to do about that. What a job's ranks care for
// too is examined by nebula/launch/doctor, which this package only adds to.
package doctor

import (
	"context"

	host "forgekernel/nebula/launch/doctor"
)

// checks are the table of the workbench's host, in the order of the report.
var checks = []host.Check{
	{What: "kernel", Look: kernel},
	{What: "operating system", Look: host.OperatingSystem},
	{What: "processor", Look: host.Processor},
	{What: "cores", Look: host.Cores},
	{What: "memory", Look: host.Memory},
	{What: "C compiler", Look: host.Compiler},
	{What: "Go toolchain", Look: host.Program("only building the workbench itself needs it", "version", "go")},
	{What: "GPU", Look: host.GPU},
	{What: "CUDA libraries", Look: host.CUDALibraries},
	{What: "CUDA compiler", Look: host.Optional(host.Program("", "--version", "nvcc"))},
	{What: "Python", Look: host.Program("only Jupyter and the comparisons with other runtimes need it", "--version", "python3", "python")},
	{What: "Jupyter", Look: jupyter},
	{What: "cache", Look: cache},
	{What: "launcher", Look: host.Launcher},
	{What: "host", Look: host.Kind},
}

// Examine makes a report of the host that the process runs on.
func Examine(ctx context.Context) host.Report {
	return host.Report{Schema: host.Schema, Findings: host.Run(ctx, host.This(), checks)}
}
