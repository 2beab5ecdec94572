package capture

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gofrs/uuid/v5"

	"forgekernel/forge/ir"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// Verify derives again whatever follows from other parts of a capture: the time
// in its id, the summaries of the samples, the work of the programs, whether
// series passed their gates, and the memory plan, which has to prove itself with
// its slots, aliases and overlaps.
func Verify(c *Capture) error {
	if err := CheckID(c.ID, c.Taken); err != nil {
		return err
	}
	if err := c.Settings.check(); err != nil {
		return err
	}
	switch c.Environment.Tree {
	case Clean, Dirty, UnknownTree:
	default:
		return fmt.Errorf("the working tree cannot be %q", c.Environment.Tree)
	}
	if err := c.Environment.Limits.check(); err != nil {
		return err
	}
	if n := len(c.Workloads); n < 1 || n > MaxWorkloads {
		return fmt.Errorf("there are %d workloads; a capture has 1 to %d", n, MaxWorkloads)
	}
	names := make(map[string]bool)
	for i := range c.Workloads {
		w := &c.Workloads[i]
		if names[w.Name] {
			return fmt.Errorf("two workloads are called %q", w.Name)
		}
		names[w.Name] = true
		if err := w.verify(c.Settings); err != nil {
			return fmt.Errorf("workload %q: %w", w.Name, err)
		}
	}
	return nil
}

// plausible reports whether a core may have a limit, for each second. Zero is
// unknown.
func plausible(limit float64) bool { return limit == 0 || 1 <= limit && limit <= 1e18 }

// maxCaches bounds the levels that a machine may have.
const maxCaches = 8

func (l *Limits) check() error {
	if l == nil {
		return nil
	}
	if !plausible(l.FLOPs) || !plausible(l.Bytes) {
		return fmt.Errorf("the limits of a core cannot be %v FLOP/s and %v B/s", l.FLOPs, l.Bytes)
	}
	if len(l.Caches) > maxCaches {
		return fmt.Errorf("a core cannot have %d caches", len(l.Caches))
	}
	for i, c := range l.Caches {
		if c.Bytes == 0 || !plausible(c.Bytes) || c.Size < 1 || c.Name == "" || i > 0 && c.Size < l.Caches[i-1].Size {
			return fmt.Errorf("a core cannot have a cache %q of %d bytes with %v B/s", c.Name, c.Size, c.Bytes)
		}
	}
	return nil
}

// CheckID holds the id of a capture to the time at which it was taken.
func CheckID(text string, taken time.Time) error {
	id, err := uuid.FromString(text)
	if err != nil || id.Version() != uuid.V7 || id.String() != text {
		return fmt.Errorf("%q is no UUID of version 7", text)
	}
	stamp, err := uuid.TimestampFromV7(id)
	if err != nil {
		return err
	}
	made, err := stamp.Time()
	if err != nil {
		return err
	}
	if !made.Truncate(time.Millisecond).Equal(taken) {
		return fmt.Errorf("the id is of %s, the capture of %s", made.UTC().Format(time.RFC3339Nano), taken.Format(time.RFC3339Nano))
	}
	return nil
}

func (w *Workload) verify(s Settings) error {
	if w.Name == "" {
		return errors.New("it has no name")
	}
	for _, sum := range []string{w.Written, w.Optimised} {
		if !isSHA256(sum) {
			return fmt.Errorf("%q is no hash of a program", sum)
		}
	}
	written, err := outline(w.Outline)
	if err != nil {
		return err
	}
	p, err := w.MemoryPlan()
	if err != nil {
		return err
	}
	if flops := written.Cost().FLOPs; flops != w.FLOPs {
		return fmt.Errorf("the program takes %d FLOPs, not %d", flops, w.FLOPs)
	}
	if bytes := p.Graph.Cost().Bytes; bytes != w.Bytes {
		return fmt.Errorf("the optimised program moves %d bytes, not %d", bytes, w.Bytes)
	}
	if err := w.checkInputs(written, p.Graph); err != nil {
		return err
	}
	return w.checkSeries(s, written)
}

// isSHA256 reports whether s is the hexadecimal form of a hash.
func isSHA256(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32
}

// MemoryPlan is the recorded plan of the optimised program, proved right.
func (w *Workload) MemoryPlan() (*plan.Plan, error) {
	g, err := outline(w.Program)
	if err != nil {
		return nil, err
	}
	p, err := plan.Parse(g, w.Plan)
	if err != nil {
		return nil, err
	}
	return p, plan.Verify(p)
}

// checkInputs compares the inputs with both programs, which must have the same
// interface.
func (w *Workload) checkInputs(written, optimised *ir.Graph) error {
	specs := func(values []*ir.Value) []string {
		list := make([]string, len(values))
		for i, v := range values {
			list[i] = v.Spec.String()
		}
		return list
	}
	if !slices.Equal(specs(written.Inputs), specs(optimised.Inputs)) || !slices.Equal(specs(written.Outputs), specs(optimised.Outputs)) {
		return errors.New("the optimised program has other inputs or outputs than the one written")
	}
	if len(w.Inputs) != len(written.Inputs) {
		return fmt.Errorf("there are %d inputs of %d", len(w.Inputs), len(written.Inputs))
	}
	for i, in := range w.Inputs {
		v := written.Inputs[i]
		if in.Name != v.Name || in.DType != v.Spec.DType.String() || !tensor.ShapeEqual(in.Shape, v.Spec.Shape) || !isSHA256(in.SHA256) {
			return fmt.Errorf("input %d is not that of %v", i, v)
		}
	}
	return nil
}

func (w *Workload) checkSeries(s Settings, written *ir.Graph) error {
	if n := len(w.Series); n < 1 || n > MaxCandidates {
		return fmt.Errorf("there are %d series; a workload has 1 to %d", n, MaxCandidates)
	}
	labels := make(map[Label]bool)
	rounds := w.rounds(s)
	for i := range w.Series {
		series := &w.Series[i]
		if labels[series.Label] {
			return fmt.Errorf("two series are of %v", series.Label)
		}
		labels[series.Label] = true
		if err := series.verify(rounds, written); err != nil {
			return fmt.Errorf("%v: %w", series.Label, err)
		}
	}
	return nil
}

// rounds is the number of samples that every series without an error has: all that
// were asked for, or fewer where their time was limited.
func (w *Workload) rounds(s Settings) int {
	for _, series := range w.Series {
		if n := len(series.Wall); n >= 1 && n <= s.Samples && n%max(s.Blocks, 1) == 0 && s.Budget > 0 {
			return n
		}
	}
	return s.Samples
}

func (s *Series) verify(rounds int, written *ir.Graph) error {
	switch {
	case s.Backend == "" || s.Threads < 1 || !s.Variant.known():
		return errors.New("that is no candidate")
	case s.Cache != NoCache && s.Cache != Hit && s.Cache != Miss:
		return fmt.Errorf("a cache cannot be in the state %q", s.Cache)
	case s.Prepare < 0:
		return errors.New("preparing took negative time")
	}
	if s.Gate != nil {
		if err := s.Gate.verify(written); err != nil {
			return err
		}
	}
	if s.Error != "" {
		if len(s.Wall) > 0 || len(s.CPU) > 0 || len(s.Device) > 0 || s.Summary != nil || s.Runs != 0 {
			return errors.New("it failed, and has samples")
		}
		return nil
	}
	switch {
	case s.Gate == nil || !s.Gate.Passed():
		return errors.New("it was timed, but did not pass the gate")
	case len(s.Wall) != rounds || len(s.CPU) != rounds:
		return fmt.Errorf("there are %d samples of the clock and %d of CPU time, not %d", len(s.Wall), len(s.CPU), rounds)
	case len(s.Device) != 0 && len(s.Device) != rounds:
		return fmt.Errorf("there are %d samples of the device's clock, not %d", len(s.Device), rounds)
	case s.Runs < 1 || s.Runs > maxRuns:
		return fmt.Errorf("a sample cannot have %d runs", s.Runs)
	case s.Summary == nil:
		return errors.New("the summary is missing")
	}
	for i := range s.Wall {
		if s.Wall[i] < minSeconds || s.CPU[i] < 0 || s.Wall[i] > maxSeconds || s.CPU[i] > maxSeconds {
			return fmt.Errorf("sample %d took %v s, %v s of CPU time", i, s.Wall[i], s.CPU[i])
		}
	}
	for i, took := range s.Device {
		if took < minSeconds || took > maxSeconds {
			return fmt.Errorf("sample %d took the device %v s", i, took)
		}
	}
	if want := Summarise(s.Wall); *s.Summary != want {
		return fmt.Errorf("the samples have the minimum, median, 95 %% quantile and mean %v, not %v", want, *s.Summary)
	}
	return nil
}

// Bounds of the time of a run, which is longer and shorter than them: sums and rates
// stay finite.
const minSeconds, maxSeconds = 1e-15, 1e9

func (g *Gate) verify(written *ir.Graph) error {
	var want Gate
	for _, v := range written.Outputs {
		t := tolerances[v.Spec.DType]
		want.Relative, want.Absolute = max(want.Relative, t.relative), max(want.Absolute, t.absolute)
	}
	switch {
	case g.Relative != want.Relative || g.Absolute != want.Absolute:
		return fmt.Errorf("the tolerances are %v and %v, not %v and %v", want.Relative, want.Absolute, g.Relative, g.Absolute)
	case g.NonFinite < 0 || g.MaxAbs < 0 || g.MaxRel < 0 || g.Worst < 0 || math.IsNaN(g.Worst):
		return errors.New("an error cannot be negative")
	case (g.Worst == 0) != (g.MaxAbs == 0):
		return fmt.Errorf("the largest error is %v, but %v times what is allowed", g.MaxAbs, g.Worst)
	}
	return nil
}
