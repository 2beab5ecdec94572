package forge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/tuning"
	"forgekernel/forge/tune"
)

// Tuning is what measuring the schedules of a program's kernels showed: those that
// were chosen and those that were not, with all samples. It is kept, and programs
// with the same kernels are compiled with it from then on.
type Tuning = tune.Record

// TuneOptions say how long to measure. A zero field means its default.
type TuneOptions struct {
	Budget time.Duration // begin no kernel after; 30 s
}

// Tune is [Program.TuneContext] for a cell, with default options: it runs in the
// cell's context and panics with the error.
func (p *Program) Tune() *Tuning { return cell(p.TuneContext(callContext(), TuneOptions{})) }

// TuneContext measures how the kernels of the program run best, keeps the record
// and compiles the program anew with it; runs until then have the form that there
// was. The backend must be one that compiles machine code.
func (p *Program) TuneContext(ctx context.Context, o TuneOptions) (*Tuning, error) {
	b, c, err := p.tunable()
	if err != nil {
		return nil, err
	}
	r, err := tune.New(c, o.settings(), randomInputs).Tune(ctx, p.graph())
	if err != nil {
		return nil, err
	}
	if _, err := tune.Save(r); err != nil {
		return nil, err
	}
	n, err := p.on(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx, n.exe); err != nil {
		return nil, err
	}
	p.native.Store(n)
	return r, nil
}

// DeviceTuning is what measuring the kernels that a program's nodes can have on a GPU
// showed; it is kept and used as a [Tuning] is.
type DeviceTuning = tuning.Record

// TuneOnDevice measures the kernels that the nodes of the program can have on its GPU:
// generated ones, those of libraries and those of Triton. It keeps the record and
// compiles the program anew with it. The backend must be cuda.
func (p *Program) TuneOnDevice(ctx context.Context, o TuneOptions) (*DeviceTuning, error) {
	b, err := NewBackend(p.backend, p.threads)
	if err != nil {
		return nil, err
	}
	c, is := b.(*cuda.Backend)
	if !is {
		return nil, fmt.Errorf("the backend %s runs on no device; cuda does", p.backend)
	}
	s := tuning.DefaultSettings()
	if o.Budget > 0 {
		s.Budget = o.Budget
	}
	r, err := c.Tune(ctx, p.graph(), s, randomInputs)
	if err != nil {
		return nil, err
	}
	if _, err := tuning.Save(r); err != nil {
		return nil, err
	}
	return r, p.prepare(ctx, b)
}

// OnDevice reports whether the program runs on a GPU.
func (p *Program) OnDevice() bool { return strings.HasPrefix(p.backend, "cuda") }

// Retrial is what measuring the candidates of a [Tuning] again showed.
type Retrial = tune.Retrial

// Retry measures all candidates of a record of this program again, and compares
// its picks with the best.
func (p *Program) Retry(ctx context.Context, o TuneOptions, r *Tuning) (*Retrial, error) {
	_, c, err := p.tunable()
	if err != nil {
		return nil, err
	}
	return tune.New(c, o.settings(), randomInputs).Retry(ctx, p.graph(), r)
}

func (o TuneOptions) settings() tune.Settings {
	s := tune.DefaultSettings()
	if o.Budget > 0 {
		s.Budget = o.Budget
	}
	return s
}

// tunable is the backend of the program, and what of it has schedules to choose.
func (p *Program) tunable() (backend.Backend, *cpu.Backend, error) {
	b, err := NewBackend(p.backend, p.threads)
	if err != nil {
		return nil, nil, err
	}
	if c := compiler(b); c != nil {
		return b, c, nil
	}
	return nil, nil, fmt.Errorf("the backend %s has no schedules to tune; auto, tiered and cpu have, and cuda has kernels to choose", p.backend)
}

// compiler is what makes machine code in a backend, nil for none.
func compiler(b backend.Backend) *cpu.Backend {
	switch b := b.(type) {
	case *cpu.Backend:
		return b
	case interface{ Native() *cpu.Backend }:
		return b.Native()
	}
	return nil
}

// deviceChooser gives the record of a program on a device.
func (n *native) deviceChooser(m tuning.Machine, shapes []string) *tuning.Record {
	r, err := tuning.Lookup(m, shapes)
	if err != nil {
		n.found.Store(&lookup{problem: err})
	}
	return r
}

// lookup is what was found when a program asked for its record of tuning.
type lookup struct {
	tuning  *Tuning // nil for none
	problem error   // why a record was ignored
}

// Tuning is the record that the program's machine code was compiled with, nil when
// there is none or no such code yet; see [Program.Settle].
func (p *Program) Tuning() *Tuning { return p.native.Load().record().tuning }

func (n *native) record() *lookup {
	if found := n.found.Load(); found != nil {
		return found
	}
	return &lookup{}
}

// chooser gives the schedules of the program's record.
func (n *native) chooser(b cpu.Backend) func(context.Context, []string) cpu.Schedules {
	return func(ctx context.Context, program []string) cpu.Schedules {
		found := &lookup{}
		found.tuning, found.problem = tune.Lookup(ctx, &b, program)
		n.found.Store(found)
		if found.tuning == nil {
			return nil
		}
		return found.tuning.Schedules()
	}
}
