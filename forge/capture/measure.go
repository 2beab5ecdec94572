package capture

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gofrs/uuid/v5"
	"golang.org/x/sys/unix"

	"forgekernel/display"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

// Limits of a capture.
const (
	MaxSamples    = 10_000 // of a series
	MaxWorkloads  = 1000
	MaxCandidates = 64
	MaxWarmup     = 10_000
	maxRuns       = 1 << 30 // in a sample
)

// Clock tells the time to an [Instrument].
type Clock struct {
	Date func() time.Time     // of the calendar
	Wall func() time.Duration // since some moment; never runs backwards
	CPU  func() time.Duration // that all threads of the process have used
	// Sleep waits until Wall has advanced by a time, or fails when ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error
}

// SystemClock is the clock of this machine.
func SystemClock() Clock {
	begin := time.Now()
	return Clock{Date: time.Now, Wall: func() time.Duration { return time.Since(begin) }, CPU: processTime, Sleep: sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// processTime is zero where the system does not tell.
func processTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// DefaultSettings are those of a short, trustworthy capture.
func DefaultSettings() Settings {
	return Settings{Samples: 25, Warmup: 5, Seed: 1, MinSample: 200 * time.Microsecond}
}

// check refuses settings that no capture can have.
func (s Settings) check() error {
	switch {
	case s.Samples < 1 || s.Samples > MaxSamples:
		return fmt.Errorf("%d samples; a series has 1 to %d", s.Samples, MaxSamples)
	case s.Warmup < 1 || s.Warmup > MaxWarmup:
		return fmt.Errorf("%d runs of warm-up; there are 1 to %d", s.Warmup, MaxWarmup)
	case s.MinSample < 0:
		return errors.New("the shortest sample is negative")
	case s.Budget < 0:
		return errors.New("the time for samples is negative")
	}
	return s.checkBlocks()
}

// Instrument takes captures. All fields but Keep must be set; [New] sets them.
type Instrument struct {
	Settings Settings
	Clock    Clock
	Describe func(context.Context) Environment
	Limits   func(context.Context) *Limits
	Random   io.Reader // of the ids
	// Keep is given the capture after each workload, so that what was measured
	// outlives a run that ends early: see [Instrument.Resume].
	Keep func(*Capture) error
}

// New returns the instrument of this machine.
func New(s Settings) *Instrument {
	return &Instrument{Settings: s, Clock: SystemClock(), Describe: Describe, Limits: MeasureLimits, Random: rand.Reader}
}

// Measure runs every candidate on every subject. A candidate that cannot run a
// program, or whose results are wrong, has an error in place of samples. Measure
// itself fails if there is nothing to measure, if the reference fails, or when
// ctx ends.
func (m *Instrument) Measure(ctx context.Context, subjects []*Subject, candidates []Candidate) (*Capture, error) {
	if err := m.check(subjects, candidates); err != nil {
		return nil, err
	}
	c := &Capture{Taken: m.Clock.Date().UTC().Truncate(time.Millisecond), Settings: m.Settings, Environment: m.Describe(ctx)}
	id, err := uuid.NewGenWithOptions(uuid.WithRandomReader(m.Random)).NewV7AtTime(c.Taken)
	if err != nil {
		return nil, fmt.Errorf("capture id: %w", err)
	}
	c.ID = id.String()
	c.Environment.Limits = m.Limits(ctx)
	if err := m.complete(ctx, c, subjects, candidates); err != nil {
		return nil, err
	}
	return c, nil
}

// complete measures the subjects that a capture lacks. Workloads stand in the order
// of the subjects.
func (m *Instrument) complete(ctx context.Context, c *Capture, subjects []*Subject, candidates []Candidate) error {
	for i, s := range subjects {
		if i < len(c.Workloads) && c.Workloads[i].Name == s.Name {
			continue
		}
		w, err := m.workload(ctx, s, candidates)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		c.Workloads = slices.Insert(c.Workloads, i, *w)
		c.Environment.LoadAfter = Load()
		for _, candidate := range candidates {
			if err := c.Environment.describePeer(candidate); err != nil {
				return err
			}
		}
		if m.Keep != nil {
			if err := m.Keep(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Instrument) check(subjects []*Subject, candidates []Candidate) error {
	if n := len(subjects); n < 1 || n > MaxWorkloads {
		return fmt.Errorf("%d programs to measure; a capture has 1 to %d", n, MaxWorkloads)
	}
	if n := len(candidates); n < 1 || n > MaxCandidates {
		return fmt.Errorf("%d candidates to measure; a capture has 1 to %d", n, MaxCandidates)
	}
	labels, names := make(map[Label]bool), make(map[string]bool)
	for _, c := range candidates {
		if labels[c.Label()] {
			return fmt.Errorf("two candidates are %v", c.Label())
		}
		labels[c.Label()] = true
	}
	for _, s := range subjects {
		if names[s.Name] {
			return fmt.Errorf("two programs are called %s", s.Name)
		}
		names[s.Name] = true
	}
	return m.Settings.check()
}

// workload measures one subject.
func (m *Instrument) workload(ctx context.Context, s *Subject, candidates []Candidate) (*Workload, error) {
	w, err := record(s)
	if err != nil {
		return nil, err
	}
	want, err := reference(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("the float64 reference: %w", err)
	}
	meter := display.Progress(ctx, "measuring "+s.Name, m.Settings.Samples)
	w.Load = Load()
	trials := make([]*trial, len(candidates))
	for i, candidate := range candidates {
		trials[i] = &trial{Series: Series{Label: candidate.Label(), Cache: NoCache}}
		if err := m.prepare(ctx, trials[i], candidate, s, want); err != nil {
			meter.Fail(err)
			return nil, err
		}
	}
	renew := func(i int) error { return m.renew(ctx, trials[i], candidates[i], s, want) }
	if err := m.rounds(ctx, trials, renew, meter); err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	for _, t := range trials {
		if err := t.release(); err != nil {
			return nil, err
		}
		w.Series = append(w.Series, t.finish())
	}
	return w, nil
}

// record notes what is measured.
func record(s *Subject) (*Workload, error) {
	w := &Workload{
		Name: s.Name, Written: s.Written.Hash(), Optimised: s.Optimised.Hash(),
		FLOPs: s.Written.Cost().FLOPs, Bytes: s.Plan.Graph.Cost().Bytes, Inputs: []Input{},
	}
	var err error
	if w.Outline, err = s.Written.Outline(); err != nil {
		return nil, err
	}
	if w.Program, err = s.Plan.Graph.Outline(); err != nil {
		return nil, err
	}
	if w.Plan, err = json.Marshal(s.Plan); err != nil {
		return nil, err
	}
	for i, t := range s.Inputs {
		sum := sha256.Sum256(t.Encode())
		w.Inputs = append(w.Inputs, Input{s.Written.Inputs[i].Name, t.DType().String(), t.Shape(), hex.EncodeToString(sum[:])})
	}
	return w, nil
}

// reference is what the program as written gives in float64.
func reference(ctx context.Context, s *Subject) ([]*tensor.Tensor, error) {
	exe, err := interp.Reference().Compile(ctx, s.Written)
	if err != nil {
		return nil, err
	}
	return exe.Run(ctx, s.Inputs...)
}

// trial is a series in the making.
type trial struct {
	Series
	run Runner // nil after a failure
}

// fail ends the trial, unless it is ctx that ended.
func (t *trial) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.Error, t.run = err.Error(), nil
	return nil
}

// prepare compiles a candidate, lets it through the gate and warms it up.
func (m *Instrument) prepare(ctx context.Context, t *trial, c Candidate, s *Subject, want []*tensor.Tensor) error {
	start := m.Clock.Wall()
	p, err := c.Prepare(ctx, s)
	t.Prepare = cmp.Or(p.Cost, m.Clock.Wall()-start).Seconds()
	if err != nil {
		return t.fail(ctx, err)
	}
	t.run, t.Cache = p.Runner, p.Cache
	if err := t.pass(ctx, s, want); err != nil || t.run == nil {
		return err
	}
	quickest := time.Duration(math.MaxInt64)
	for range m.Settings.Warmup {
		wall, _, err := m.time(ctx, t.run, 0, 1)
		if err != nil {
			return t.fail(ctx, err)
		}
		quickest = min(quickest, wall)
	}
	t.Runs = 1 + int(min(m.Settings.MinSample/max(quickest, time.Nanosecond), maxRuns-1))
	return nil
}

// pass lets a prepared trial through the gate, or fails it.
func (t *trial) pass(ctx context.Context, s *Subject, want []*tensor.Tensor) error {
	got, err := t.run.Run(ctx)
	if err == nil {
		t.Gate, err = NewGate(s.Written.Outputs, got, want)
	}
	if err == nil {
		err = t.Gate.Failure()
	}
	if err != nil {
		return t.fail(ctx, err)
	}
	return nil
}

// Failure words why a gate was not passed; nil if it was.
func (g *Gate) Failure() error {
	if g.Passed() {
		return nil
	}
	if g.NonFinite > 0 {
		return fmt.Errorf("the results have %d elements that are infinite or NaN", g.NonFinite)
	}
	return fmt.Errorf("the results are off by up to %.3g; that is %.3g times what is allowed", g.MaxAbs, g.Worst)
}

// sample times one sample of a trial that has not failed.
func (m *Instrument) sample(ctx context.Context, t *trial) error {
	if t.run == nil {
		return nil
	}
	wall, cpu, err := m.time(ctx, t.run, 1, t.Runs)
	if err != nil {
		return t.fail(ctx, err)
	}
	if wall <= 0 {
		return t.fail(ctx, fmt.Errorf("the clock did not advance during %d runs", t.Runs))
	}
	t.Wall = append(t.Wall, wall.Seconds()/float64(t.Runs))
	t.CPU = append(t.CPU, max(cpu, 0).Seconds()/float64(t.Runs))
	if d, ok := t.run.(deviceTimer); ok {
		took, err := d.DeviceTime(ctx)
		if err != nil {
			return t.fail(ctx, err)
		}
		t.Device = append(t.Device, took.Seconds())
	}
	return nil
}

// time times runs after lead runs that are not timed.
func (m *Instrument) time(ctx context.Context, r Runner, lead, runs int) (wall, cpu time.Duration, err error) {
	if t, ok := r.(Timer); ok {
		return t.Time(ctx, lead, runs)
	}
	run := func() error { _, err := r.Run(ctx); return err }
	if again, ok := r.(Repeater); ok {
		run = func() error { return again.Repeat(ctx) }
	}
	for range lead {
		if err := run(); err != nil {
			return 0, 0, err
		}
	}
	wall, cpu = m.Clock.Wall(), m.Clock.CPU()
	for range runs {
		if err := run(); err != nil {
			return 0, 0, err
		}
	}
	return m.Clock.Wall() - wall, m.Clock.CPU() - cpu, nil
}

// finish is the series. One that failed half-way has no samples: they would not
// be of as many rounds as the others'.
func (t *trial) finish() Series {
	if t.Error != "" {
		t.Wall, t.CPU, t.Device, t.Runs = nil, nil, nil, 0
		return t.Series
	}
	summary := Summarise(t.Wall)
	t.Summary = &summary
	return t.Series
}

// Failures lists the candidates without samples, each with its reason.
func (c *Capture) Failures() []error {
	var list []error
	for _, w := range c.Workloads {
		for _, s := range w.Series {
			if s.Error != "" {
				list = append(list, fmt.Errorf("%s on %v: %s", w.Name, s.Label, s.Error))
			}
		}
	}
	return list
}
