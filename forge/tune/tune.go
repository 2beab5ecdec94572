// Package tune finds the schedules of a program's kernels by measuring them.
//
// Kernels of one shape have one schedule, so each shape is tuned once and by
// itself: all its candidates are compiled in one C file, every one is compared with
// the float64 reference, and those that pass are timed in turn, one short sample
// each per round, every round beginning with another one. What decides is the
// quickest sample, the one least disturbed. Candidates within [capture.Tie] of the
// quickest are ties, which go to the first in a fixed order: the backend's own
// choice, then less code before more.
//
// Two things guard against a disturbed machine. A candidate whose time is more than
// [Outlier] times off what its predicted cost lets expect, compared with the others,
// is measured again. And the first three of the ranking meet the backend's choice in
// a final, whose samples alone decide. At last the whole tuned program is measured
// against the untuned one; if it is slower, the record says so and is not used.
//
// A [Record] holds every sample, and the choices follow from them: [Decode] derives
// them again. Records are kept in files, see [Lookup].
package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Outlier is the factor between a candidate's time and the expected one from which
// it is measured again.
const Outlier = 2

// Settings say how long to measure.
type Settings struct {
	Rounds    int           `json:"rounds"`     // samples of each candidate, at least
	MaxRounds int           `json:"max_rounds"` // and at most, as the budget allows
	MinSample time.Duration `json:"min_sample_ns"`
	// Budget is the time after which no further kernel is begun.
	Budget time.Duration `json:"budget_ns"`
	Seed   uint64        `json:"seed"` // of the inputs
}

// DefaultSettings are those of a trustworthy record.
func DefaultSettings() Settings {
	return Settings{Rounds: 20, MaxRounds: 60, MinSample: 50 * time.Microsecond, Budget: 30 * time.Second, Seed: 1}
}

// Tuner measures kernels on this machine.
type Tuner struct {
	Settings Settings
	backend  *cpu.Backend
	bench    bench
	wall     func() time.Duration // since some moment
	date     func() time.Time
	machine  func(context.Context, *cpu.Backend) (Machine, error)
}

// New returns a tuner for what b compiles. Programs and their kernels are measured
// on what inputs gives for them and the seed of the settings.
func New(b *cpu.Backend, s Settings, inputs func(g *ir.Graph, seed uint64) ([]*tensor.Tensor, error)) *Tuner {
	plain := *b
	plain.Choose = nil
	begin := time.Now()
	return &Tuner{
		Settings: s, backend: &plain, bench: &native{backend: &plain, inputs: func(g *ir.Graph) ([]*tensor.Tensor, error) { return inputs(g, s.Seed) }},
		wall: func() time.Duration { return time.Since(begin) }, date: time.Now, machine: thisMachine,
	}
}

// Tune measures the kernels of an optimised program. It fails when the program
// cannot be compiled or when ctx ends; a kernel that cannot be measured keeps the
// backend's own schedule, and the record says why.
func (t *Tuner) Tune(ctx context.Context, g *ir.Graph) (*Record, error) {
	steps, err := t.bench.steps(g)
	if err != nil {
		return nil, err
	}
	r := &Record{Program: g.Name, Taken: t.date().UTC().Truncate(time.Millisecond), Settings: t.Settings, Kernels: kernelsOf(steps)}
	if r.Machine, err = t.machine(ctx, t.backend); err != nil {
		return nil, err
	}
	r.Key = r.Machine.key(shapesOf(steps))
	if r.Peak, err = t.bench.peak(ctx); err != nil {
		return nil, err
	}
	meter := display.Progress(ctx, "tuning "+g.Name+", kernels", len(r.Kernels))
	if err := t.kernels(ctx, r, steps, meter); err != nil {
		meter.Fail(err)
		return nil, err
	}
	if r.Check, err = t.check(ctx, g, r.chosen()); err != nil {
		meter.Fail(err)
		return nil, fmt.Errorf("%s as tuned: %w", g.Name, err)
	}
	meter.Done()
	return r, nil
}

// shapesOf describe a program.
func shapesOf(steps []cpu.Step) []string {
	list := make([]string, len(steps))
	for i, s := range steps {
		list[i] = s.Shape
	}
	return list
}

// kernelsOf lists the shapes of a program in the order in which they first run.
func kernelsOf(steps []cpu.Step) []Kernel {
	list := []Kernel{}
	for _, s := range steps {
		i := slices.IndexFunc(list, func(k Kernel) bool { return k.Shape == s.Shape })
		if i < 0 {
			i = len(list)
			k := Kernel{Shape: s.Shape, FLOPs: s.FLOPs, Bytes: s.Bytes}
			for _, p := range s.Proposals {
				k.Candidates = append(k.Candidates, Candidate{Schedule: p.Schedule, Cost: p.Cost})
			}
			list = append(list, k)
		}
		list[i].Values = append(list[i].Values, s.Value)
	}
	return list
}

// kernels measures those with a choice, the ones with most work first.
func (t *Tuner) kernels(ctx context.Context, r *Record, steps []cpu.Step, meter *display.Meter) error {
	order := make([]int, len(r.Kernels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Kernels[b].work(), r.Kernels[a].work()) })
	end := t.wall() + t.Settings.Budget
	for done, i := range order {
		k := &r.Kernels[i]
		at := slices.IndexFunc(steps, func(s cpu.Step) bool { return s.Shape == k.Shape })
		left := end - t.wall()
		switch {
		case len(k.Candidates) == 1:
			k.Note = "nothing to choose"
		case steps[at].Reason != "":
			k.Note = "not measured: " + steps[at].Reason
		case left <= 0:
			k.Note = fmt.Sprintf("not measured: the budget of %v was spent", t.Settings.Budget)
		default:
			share := t.wall() + left/time.Duration(len(order)-done)
			if err := t.kernel(ctx, k, steps[at], share); err != nil {
				return err
			}
		}
		k.settle()
		meter.Add(1)
	}
	return nil
}

// kernel measures the candidates of one shape until a moment, and longer if it has
// to.
func (t *Tuner) kernel(ctx context.Context, k *Kernel, s cpu.Step, until time.Duration) error {
	entrants, err := t.bench.kernel(ctx, s, k.schedules())
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		k.Note = "not measured: " + err.Error()
		return nil
	}
	c := &contest{wall: t.wall, settings: t.Settings, entrants: entrants}
	if err := c.qualify(ctx); err != nil {
		return err
	}
	keep := func(samples func(*Candidate) *[]float64) func(int, float64) {
		return func(i int, seconds float64) {
			list := samples(&k.Candidates[i])
			*list = append(*list, seconds)
		}
	}
	if err := c.rounds(ctx, c.standing(), until, keep(func(c *Candidate) *[]float64 { return &c.Samples })); err != nil {
		return err
	}
	c.report(k)
	if again := k.outliers(); len(again) > 0 {
		if err := c.rounds(ctx, again, until, keep(func(c *Candidate) *[]float64 { return &c.Again })); err != nil {
			return err
		}
	}
	if err := c.rounds(ctx, k.finalists(), until, keep(func(c *Candidate) *[]float64 { return &c.Final })); err != nil {
		return err
	}
	c.report(k)
	if k.Chosen().Best() == 0 {
		k.Note = "not measured: no candidate passed"
	}
	return nil
}

// checks is how often a whole program is measured as long as it seems slower, and two
// candidates as long as they seem apart: disturbances only ever add time.
const checks = 3

// check times the tuned program against the untuned one.
func (t *Tuner) check(ctx context.Context, g *ir.Graph, chosen cpu.Schedules) (*Check, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	entrants, err := t.bench.program(ctx, g, chosen)
	if err != nil {
		return nil, err
	}
	c := &contest{wall: t.wall, settings: t.Settings, entrants: entrants}
	if err := c.qualify(ctx); err != nil {
		return nil, err
	}
	check := &Check{}
	for range checks {
		err := c.rounds(ctx, c.standing(), t.wall()+t.Settings.Budget/20, func(i int, seconds float64) {
			if i == 0 {
				check.Default = append(check.Default, seconds)
			} else {
				check.Tuned = append(check.Tuned, seconds)
			}
		})
		if err != nil {
			return nil, err
		}
		for _, e := range entrants {
			if e.err != nil {
				return nil, e.err
			}
		}
		if check.Used = check.notSlower(); check.Used {
			break
		}
	}
	return check, nil
}
