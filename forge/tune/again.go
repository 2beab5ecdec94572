package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"forgekernel/display"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
)

// Retrial is what measuring all candidates of a record again showed.
type Retrial struct {
	Kernels []RetrialKernel `json:"kernels"`
}

// RetrialKernel compares the pick of a record with the best of now.
type RetrialKernel struct {
	Shape       string       `json:"shape"`
	Chosen      cpu.Schedule `json:"chosen"`
	Best        cpu.Schedule `json:"best"`
	ChosenTimes []float64    `json:"chosen_s"`
	BestTimes   []float64    `json:"best_s"`
}

// Excess is how much longer the pick takes than the best, 0.05 for 5 %; 0 if it is
// the best.
func (k *RetrialKernel) Excess() float64 {
	return max(0, least(k.ChosenTimes)/least(k.BestTimes)-1)
}

// errAnother is a kernel of a record that the program does not have.
var errAnother = errors.New("the record is that of another program")

// Retry measures all candidates of a record again. The pick and the quickest then
// meet once more, as long as they seem apart but no more than a few times, and these
// samples count: a single quick sample among many candidates proves little.
func (t *Tuner) Retry(ctx context.Context, g *ir.Graph, r *Record) (*Retrial, error) {
	list, err := t.bench.steps(g)
	if err != nil {
		return nil, err
	}
	steps := make(map[string]cpu.Step)
	for _, s := range list {
		steps[s.Shape] = s
	}
	out := &Retrial{Kernels: []RetrialKernel{}}
	meter := display.Progress(ctx, "measuring "+g.Name+" again, kernels", len(r.Kernels))
	for i := range r.Kernels {
		if k := &r.Kernels[i]; k.Note == "" {
			again, err := &RetrialKernel{}, errAnother
			if s, ok := steps[k.Shape]; ok {
				again, err = t.retry(ctx, k, s)
			}
			if err != nil {
				meter.Fail(err)
				return nil, fmt.Errorf("%s again: %w", k.Shape, err)
			}
			out.Kernels = append(out.Kernels, *again)
		}
		meter.Add(1)
	}
	meter.Done()
	return out, nil
}

// retry measures the candidates of one kernel.
func (t *Tuner) retry(ctx context.Context, k *Kernel, s cpu.Step) (*RetrialKernel, error) {
	entrants, err := t.bench.kernel(ctx, s, k.schedules())
	if err != nil {
		return nil, err
	}
	c := &contest{wall: t.wall, settings: t.Settings, entrants: entrants}
	if err := c.qualify(ctx); err != nil {
		return nil, err
	}
	times := make([][]float64, len(entrants))
	keep := func(i int, seconds float64) { times[i] = append(times[i], seconds) }
	if err := c.rounds(ctx, c.standing(), t.wall(), keep); err != nil {
		return nil, err
	}
	pick, best := k.decide(), k.decide()
	if err := entrants[pick].err; err != nil {
		return nil, fmt.Errorf("the pick, %v, failed: %w", k.Candidates[pick].Schedule, err)
	}
	for i := range times {
		if t := least(times[i]); t > 0 && t < least(times[best]) {
			best = i
		}
	}
	if best != pick {
		times[pick], times[best] = nil, nil
	}
	for range checks {
		if best == pick || least(times[pick]) > 0 && least(times[pick]) <= least(times[best])*(1+capture.Tie) {
			break
		}
		if err := c.rounds(ctx, []int{pick, best}, t.wall()+t.Settings.Budget/20, keep); err != nil {
			return nil, err
		}
	}
	if len(times[pick]) == 0 || len(times[best]) == 0 {
		return nil, fmt.Errorf("a candidate failed: %w", cmp.Or(entrants[pick].err, entrants[best].err))
	}
	return &RetrialKernel{k.Shape, k.Candidates[pick].Schedule, k.Candidates[best].Schedule, times[pick], times[best]}, nil
}

// Display shows the kernels.
func (r *Retrial) Display() display.Bundle { return r.table().Display() }

// Text is the table of the kernels.
func (r *Retrial) Text() string { return r.table().Text() }

func (r *Retrial) table() display.Table {
	t := display.Table{Title: "Measured again", Columns: []display.Column{
		{Name: "kernel"}, {Name: "chosen"}, {Name: "", Unit: "µs"}, {Name: "best now"}, {Name: "", Unit: "µs"}, {Name: "off", Align: display.AlignRight},
	}}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		t.Rows = append(t.Rows, []any{k.Shape, k.Chosen.String(), least(k.ChosenTimes) * 1e6, k.Best.String(), least(k.BestTimes) * 1e6, fmt.Sprintf("%.1f %%", 100*k.Excess())})
	}
	return t
}
