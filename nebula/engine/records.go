package engine

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/tuning"
)

// tuned is a backend whose programs have the kernels that tuning found best on its device,
// whatever program it measured, and what is to be said of the records. A backend that
// chooses by itself already stays as it is.
func tuned(b backend.Backend) (backend.Backend, []string) {
	device, ok := b.(*cuda.Backend)
	if !ok || device.Choose != nil || device.Select != nil {
		return b, nil
	}
	known, errs := tuning.Known(device.Machine())
	var notes []string
	for _, err := range errs {
		notes = append(notes, err.Error())
	}
	if known == nil {
		return b, notes
	}
	own := *device // the process has one for each device
	own.Choose = func(tuning.Machine, []string) *tuning.Record { return known }
	return &own, append(notes, fmt.Sprintf("records of tuning have %d shapes of nodes for %s", len(known.Nodes), known.Machine.Device))
}

// fromRecords are the kernels of a program that records of tuning picked, one a line.
func (p ProgramDescription) fromRecords() string {
	var b strings.Builder
	for _, k := range p.Kernels {
		if strings.HasPrefix(k.Reason, tuning.ReasonPrefix) {
			fmt.Fprintf(&b, "  %s = %s; %s\n", k.Value, k.Kernel, k.Reason)
		}
	}
	return b.String()
}
