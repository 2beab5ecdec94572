package capture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// contest is a workload whose series have these samples; none for one that failed.
func contest(samples ...[]float64) *Workload {
	w := &Workload{Name: "contest"}
	for i, list := range samples {
		s := Series{Label: Label{Backend: string(rune('a' + i)), Variant: Optimised, Threads: 1}}
		if len(list) > 0 {
			summary := Summarise(list)
			s.Wall, s.CPU, s.Summary, s.Gate = list, list, &summary, new(Gate)
		}
		w.Series = append(w.Series, s)
	}
	return w
}

// constant samples have intervals of no width.
func constant(times ...float64) (list [][]float64) {
	for _, t := range times {
		var samples []float64
		for range 12 {
			if t > 0 {
				samples = append(samples, t)
			}
		}
		list = append(list, samples)
	}
	return list
}

func TestRank(t *testing.T) {
	for _, c := range []struct {
		times []float64
		want  string
	}{
		{[]float64{1.02, 1.5, 1, 1.04, 1.03}, "[0 2 4 3 1] 3"},
		{[]float64{2, 0, 1}, "[2 0] 1"},
		{[]float64{0}, "[] 0"},
	} {
		for _, blocks := range []int{0, 6} {
			if order, ties := contest(constant(c.times...)...).Rank(blocks); fmt.Sprint(order, ties) != c.want {
				t.Errorf("%v in %d blocks: %v with %d ties, want %s", c.times, blocks, order, ties, c.want)
			}
		}
	}
}

// TestRankFollowsIntervals has candidates of which quickest samples say one thing and
// medians with their intervals another: what is shown goes by the latter everywhere.
func TestRankFollowsIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	steady := noisy(rng, 60, 1e-3, 0.01)
	lucky := noisy(rng, 60, 1.2e-3, 0.01) // 20 % slower, but for a sample that took half the time
	lucky[17] = 0.5e-3
	wild := noisy(rng, 60, 1.1e-3, 1.8) // the median of such samples is known to some tens of per cent
	for _, c := range []struct {
		name    string
		samples [][]float64
		order   string
		words   []string
		verdict Verdict // of the second beside the first
	}{
		{"a lucky sample", [][]float64{steady, lucky}, "[0 1] 1", []string{"fastest", "2"}, Slower},
		{"the lucky one before", [][]float64{lucky, steady}, "[1 0] 1", []string{"2", "fastest"}, Faster},
		{"an interval that holds 1", [][]float64{wild, steady}, "[0 1] 2", []string{"first of a tie", "tie"}, Even},
	} {
		w := contest(c.samples...)
		order, ties := w.Rank(0)
		if fmt.Sprint(order, ties) != c.order {
			t.Errorf("%s: order %v with %d ties, want %s", c.name, order, ties, c.order)
		}
		table := w.times(0)
		column := len(table.Columns) - 1
		for i, want := range c.words {
			if got := table.Rows[i][column]; got != want {
				t.Errorf("%s: row %d is %q, want %q", c.name, i, got, want)
			}
		}
		if got := w.Series[1].Over(&w.Series[0], 0).verdict(); got != c.verdict {
			t.Errorf("%s: the verdict is %s, want %s", c.name, got, c.verdict)
		}
	}
	if slices.Min(lucky) >= slices.Min(steady) {
		t.Error("quickest samples and medians agree, and nothing was tested")
	}
}
