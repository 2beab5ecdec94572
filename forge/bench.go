package forge

import (
	"cmp"
	"context"
	"errors"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/capture"
)

// BenchOptions say what to measure and how long. A zero field means its default.
type BenchOptions struct {
	Samples int           // of each candidate, at most; 50
	Budget  time.Duration // no round of a program begins after; 2 s
	Warmup  int           // runs before the first sample; 3
	// Blocks divide the samples into parts for which programs are prepared anew, and
	// which begin evenly over the time Spread. Intervals then hold from run to run:
	// see [capture.Estimate]. Samples are rounded up to a multiple. No blocks by default.
	Blocks int
	Spread time.Duration
	// Backends are what the programs run on, each as written and optimised: names as
	// of [NewBackend]. The default is the programs' own.
	Backends []string
	Threads  int // that may share the work of a run; the programs' own
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
	if o.Blocks > 0 {
		s.Blocks, s.Spread = o.Blocks, o.Spread
		s.Samples = (s.Samples + o.Blocks - 1) / o.Blocks * o.Blocks
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
// reading from memory, and moving data within each cache. That takes a C compiler and some tenths of a second, once in
// a process; without one, MachineLimits.Error says so.
func Roofs() *MachineLimits { return capture.MeasureLimits(callContext()) }

// Environment is what is known of this machine and this program, as every capture has it.
func Environment() *capture.Environment {
	e := capture.Describe(callContext())
	return &e
}

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

// Measure is [MeasureContext] for a cell: it runs in the cell's context and panics with
// the error.
func Measure(o BenchOptions, programs ...*Program) *Benchmark {
	return cell(MeasureContext(callContext(), o, programs...))
}

// MeasureContext measures several programs in one capture, on random inputs: each as
// written and optimised, on every backend of the options, compiled anew. On a GPU the
// inputs and results stay there. It fails if a backend cannot run a program, or if
// results are not within the tolerance of the float64 reference.
func MeasureContext(ctx context.Context, o BenchOptions, programs ...*Program) (*Benchmark, error) {
	if len(programs) == 0 {
		return nil, errors.New("there is no program to measure")
	}
	var subjects []*capture.Subject
	for _, p := range programs {
		inputs, err := p.RandomInputs(DefaultSeed)
		if err != nil {
			return nil, err
		}
		s, err := capture.CompiledSubject(p.Name(), p.traced, p.graph(), inputs)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	candidates, err := o.candidates(programs[0])
	if err != nil {
		return nil, err
	}
	c, err := capture.New(o.settings()).Measure(ctx, subjects, candidates)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.Failures()...); err != nil {
		return nil, err
	}
	return capture.NewReport(c, true)
}

// candidates are both variants of a program on each backend.
func (o BenchOptions) candidates(p *Program) ([]capture.Candidate, error) {
	names, threads := o.Backends, cmp.Or(o.Threads, p.threads)
	if len(names) == 0 {
		names = []string{p.backend}
	}
	var list []capture.Candidate
	for _, name := range names {
		b, err := NewBackend(name, threads)
		if err != nil {
			return nil, err
		}
		for _, v := range []capture.Variant{capture.Written, capture.Optimised} {
			if r, ok := b.(backend.Resident); ok {
				list = append(list, capture.OnDevice(r, v, 1))
			} else {
				list = append(list, capture.OnBackend(b, v, threads))
			}
		}
	}
	return list, nil
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
