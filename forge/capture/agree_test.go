package capture

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// drifting makes samples of a machine that others use: noise of each sample, a level
// that wanders from block to block, and now and then a block that something disturbs.
func drifting(rng *rand.Rand, blocks, perBlock int) []float64 {
	var samples []float64
	level := 0.03 * rng.NormFloat64()
	for range blocks {
		level = 0.8*level + 0.018*rng.NormFloat64()
		disturbed := 1.0
		if rng.Float64() < 0.1 {
			disturbed = 1 + rng.Float64()
		}
		for range perBlock {
			samples = append(samples, 1e-3*disturbed*math.Exp(level+0.05*math.Abs(rng.NormFloat64())))
		}
	}
	return samples
}

// Two runs state intervals that overlap, where those of a bootstrap of samples do not.
func TestRunsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const pairs, bootstrapped, blocks, perBlock = 1000, 30, 10, 20
	overlap, momentary := 0, 0
	for i := range pairs {
		a, b := drifting(rng, blocks, perBlock), drifting(rng, blocks, perBlock)
		if estimate(a, blocks).Agrees(estimate(b, blocks)) {
			overlap++
		}
		if i < bootstrapped && estimate(a, 0).Agrees(estimate(b, 0)) {
			momentary++
		}
	}
	if overlap < pairs*97/100 {
		t.Errorf("%d of %d pairs of runs agree", overlap, pairs)
	}
	if momentary > bootstrapped*3/4 {
		t.Errorf("%d of %d pairs agree without blocks; the samples do not drift", momentary, bootstrapped)
	}
}

// What drifts for both sides cancels from a ratio.
func TestRatioOfBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	base := drifting(rng, 8, 10)
	half := make([]float64, len(base))
	for i, x := range base {
		half[i] = x / 2
	}
	a, b := &Series{Wall: base}, &Series{Wall: half}
	if e := b.Over(a, 8); !near(e.Value, 0.5) || !near(e.Interval.Low, 0.5) || !near(e.Interval.High, 0.5) {
		t.Errorf("ratio %+v", e)
	}
	if e := a.Estimate(8); e.Interval.High/e.Interval.Low < 1.02 || e.Value < e.Interval.Low || e.Value > e.Interval.High {
		t.Errorf("time %+v", e)
	}
}

// repeated is a capture with blocks, whose candidate b takes the given time.
func repeated(t *testing.T, times ...int) *Capture {
	t.Helper()
	clock := new(fakeClock)
	a := &fake{label: Label{"a", Written, 1}, clock: clock, times: microseconds(100, 100, 103, 103)}
	b := &fake{label: Label{"b", Optimised, 1}, clock: clock, times: microseconds(times...)}
	c, err := instrument(clock, Settings{Samples: 12, Warmup: 1, Seed: 7, Blocks: 6, Spread: time.Second}).
		Measure(t.Context(), []*Subject{subject(t, "layer")}, []Candidate{a, b})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAgree(t *testing.T) {
	first := repeated(t, 50, 50, 52)
	same, err := Agree(first, repeated(t, 51, 51, 51))
	if err != nil {
		t.Fatal(err)
	}
	if len(same.Rows) != 3 || len(same.Disagreeing()) != 0 || same.Elsewhere != "" {
		t.Errorf("%+v", same)
	}
	other, err := Agree(first, repeated(t, 70))
	if err != nil {
		t.Fatal(err)
	}
	var apart []string
	for _, r := range other.Disagreeing() {
		apart = append(apart, r.Quantity)
	}
	if got := strings.Join(apart, ", "); got != "time, ratio" {
		t.Errorf("apart are %s: %+v", got, other.Rows)
	}
	if text := other.Table().Text(); !strings.Contains(text, "70.00 µs (70.00 – 70.00 µs)") || !strings.Contains(text, "are apart") {
		t.Errorf("table\n%s", text)
	}
	moved := repeated(t, 70)
	moved.Environment.CPU = "Other 1"
	if a, err := Agree(first, moved); err != nil || !strings.Contains(a.Elsewhere, "the processor differs") || len(a.Rows) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	failed := repeated(t, 50)
	s := &failed.Workloads[0].Series[1]
	s.Error, s.Summary, s.Wall, s.CPU = "it broke", nil, nil, nil
	if _, err := Agree(first, failed); err == nil || !strings.Contains(err.Error(), "failed in one of the captures: it broke") {
		t.Errorf("error %v", err)
	}
	for want, change := range map[string]func(*Capture){
		"the number of blocks":   func(c *Capture) { c.Settings.Blocks = 12 },
		"the program as written": func(c *Capture) { c.Workloads[0].Written = "00" },
		"the input x differs":    func(c *Capture) { c.Workloads[0].Inputs[0].SHA256 = "00" },
	} {
		c := repeated(t, 50)
		change(c)
		if _, err := Agree(first, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
