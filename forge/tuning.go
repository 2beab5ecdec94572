package forge

import (
	"context"
	"fmt"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
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
// and compiles the program anew with it; runs under way end as they began. The
// backend must be cpu.
func (p *Program) TuneContext(ctx context.Context, o TuneOptions) (*Tuning, error) {
	b, err := p.tunable()
	if err != nil {
		return nil, err
	}
	r, err := tune.New(b, o.settings(), randomInputs).Tune(ctx, p.graph())
	if err != nil {
		return nil, err
	}
	if _, err := tune.Save(r); err != nil {
		return nil, err
	}
	return r, p.prepare(ctx, b)
}

// Retry measures all candidates of a record of this program again, and compares
// its picks with the best.
func (p *Program) Retry(ctx context.Context, o TuneOptions, r *Tuning) (*tune.Retrial, error) {
	b, err := p.tunable()
	if err != nil {
		return nil, err
	}
	return tune.New(b, o.settings(), randomInputs).Retry(ctx, p.graph(), r)
}

func (o TuneOptions) settings() tune.Settings {
	s := tune.DefaultSettings()
	if o.Budget > 0 {
		s.Budget = o.Budget
	}
	return s
}

// tunable is the backend of the program, if it has schedules to choose.
func (p *Program) tunable() (*cpu.Backend, error) {
	b, err := backendNamed(p.backend, p.threads)
	if err != nil {
		return nil, err
	}
	if c, ok := b.(*cpu.Backend); ok {
		return c, nil
	}
	return nil, fmt.Errorf("the backend %s has no schedules to tune; cpu has", p.backend)
}

// Tuning is the record that the program was compiled with, nil when there was none.
func (p *Program) Tuning() *Tuning { return p.native.Load().tuning }

// tuned is the backend with the schedules of the program's record.
func (n *native) tuned(ctx context.Context, b *cpu.Backend) backend.Backend {
	with := *b
	with.Choose = func(program []string) cpu.Schedules {
		if n.tuning, n.problem = tune.Lookup(ctx, b, program); n.tuning == nil {
			return nil
		}
		return n.tuning.Schedules()
	}
	return &with
}
