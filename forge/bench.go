package forge

import (
	"context"
	"errors"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/capture"
)

// BenchOptions say how long to measure. A zero field means its default.
type BenchOptions struct {
	Samples int           // at most; 50
	Budget  time.Duration // no round begins after; 2 s
	Warmup  int           // runs before the first sample; 3
}

func (o BenchOptions) settings() capture.Settings {
	s := capture.DefaultSettings()
	s.Samples, s.Budget, s.Warmup = 50, 2*time.Second, 3
	if o.Samples > 0 {
		s.Samples = o.Samples
	}
	if o.Budget > 0 {
		s.Budget = o.Budget
	}
	if o.Warmup > 0 {
		s.Warmup = o.Warmup
	}
	return s
}

// Benchmark is a capture of one program: raw samples of it as written and
// optimised, taken in turn, their comparison with float64, the limits of this
// machine, and all that is known of the environment. It shows as tables and figures.
type Benchmark = capture.Report

// MachineLimits are what one core of a machine does at most.
type MachineLimits = capture.Limits

// Roofs measures what one core of this machine does at most: multiply-adds of float32,
// and reading from memory. That takes a C compiler and some tenths of a second, once in
// a process; without one, MachineLimits.Error says so.
func Roofs() *MachineLimits { return capture.MeasureLimits(callContext()) }

// Bench is [Program.BenchContext] for a cell, with default options: it runs in
// the cell's context and panics with the error.
func (p *Program) Bench(args ...*Tensor) *Benchmark {
	return cell(p.BenchContext(callContext(), BenchOptions{}, args...))
}

// BenchContext measures runs of the program in its final form, and of the program before the passes on
// the same backend. Without arguments it takes random ones. It fails if the program
// does, or if its results are not within the tolerance of the float64 reference.
func (p *Program) BenchContext(ctx context.Context, o BenchOptions, args ...*Tensor) (*Benchmark, error) {
	args, err := p.orRandom(args)
	if err != nil {
		return nil, err
	}
	// Arguments that do not fit, or on which it fails, are the caller's affair.
	if _, err := p.run(ctx, args); err != nil {
		return nil, err
	}
	_ = p.Settle(ctx) // a form that cannot be had is no reason not to time the other
	b, err := NewBackend(p.backend, p.threads)
	if err != nil {
		return nil, err
	}
	subject, err := capture.CompiledSubject(p.Name(), p.traced, p.graph(), args)
	if err != nil {
		return nil, err
	}
	c, err := capture.New(o.settings()).Measure(ctx, []*capture.Subject{subject}, []capture.Candidate{
		capture.OnBackend(b, capture.Written, p.threads),
		&benched{p, capture.Label{Backend: p.backend, Variant: capture.Optimised, Threads: p.threads}},
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.Failures()...); err != nil {
		return nil, err
	}
	return capture.NewReport(c, true)
}

// benched is the program itself as a candidate: it is compiled already.
type benched struct {
	program *Program
	label   capture.Label
}

func (b *benched) Label() capture.Label { return b.label }

func (b *benched) Prepare(_ context.Context, s *capture.Subject) (capture.Prepared, error) {
	return capture.Prepared{Runner: capture.Executing(backend.Current(b.program.exe()), s.Inputs), Cache: capture.Hit}, nil
}
