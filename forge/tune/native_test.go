package tune

import (
	"context"
	"os"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/suite"
)

// TestMain keeps what the tests compile out of the user's cache.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "forge-tune-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("FORGE_CACHE_DIR", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const twoLayers = `graph f(%x: f32[6,20], %w: f32[20,24], %v: f32[24,7]) {
 %h: f32[6,24] = linear %x, %w {act = "relu"}
 %y: f32[6,7] = matmul %h, %v
 return %y
}`

// TestNative tunes a program on this machine. What is the quickest is not for a test
// to say, but that all pass the gate is.
func TestNative(t *testing.T) {
	g, err := ir.Parse(op.Registry, twoLayers)
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	s.MaxRounds, s.Budget = s.Rounds, time.Hour // which a slow machine does not spend
	tuner := New(cpu.New(), s, suite.Inputs)
	r, err := tuner.Tune(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kernels) != 2 || r.Peak <= 0 {
		t.Fatalf("%d kernels, the peak is %g", len(r.Kernels), r.Peak)
	}
	for _, k := range r.Kernels {
		for _, c := range k.Candidates {
			if c.Verdict == Rejected || c.Gate == nil || !c.Gate.Passed() || len(c.Samples) != s.Rounds {
				t.Errorf("%s: %v is %s with %d samples: %s", k.Shape, c.Schedule, c.Verdict, len(c.Samples), c.Error)
			}
		}
	}
	if _, err := Save(r); err != nil {
		t.Error(err)
	}
	if found, err := Lookup(t.Context(), cpu.New(), []string{r.Kernels[0].Shape, r.Kernels[1].Shape}); err != nil || found == nil {
		t.Errorf("the record is not found: %v", err)
	}
}

// TestCooler drives out what the program is given besides what a kernel reads.
func TestCooler(t *testing.T) {
	g, err := ir.Parse(op.Registry, twoLayers)
	if err != nil {
		t.Fatal(err)
	}
	n := New(cpu.New(), DefaultSettings(), suite.Inputs).bench.(*native)
	steps, err := n.steps(g)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		inputs, err := n.inputs(s.Graph)
		if err != nil {
			t.Fatal(err)
		}
		cool := n.cooler(s.Graph, inputs)
		if cool == nil {
			t.Errorf("kernel %d has the caches to itself", i)
			continue
		}
		cool()
	}
	all, err := n.inputs(g)
	if err != nil {
		t.Fatal(err)
	}
	if n.cooler(g, all) != nil {
		t.Error("there is something besides the whole program")
	}
}

// TestCold looks at when caches are cooled: before samples of one run alone.
func TestCold(t *testing.T) {
	now, cooled := time.Duration(0), 0
	takes := func(d time.Duration) *entrant {
		return &entrant{cool: func() { cooled++; now += time.Hour }, run: func(_ context.Context, n int) error { now += d * time.Duration(n); return nil }}
	}
	c := &contest{wall: func() time.Duration { return now }, settings: Settings{Rounds: 3, MaxRounds: 3, MinSample: 50 * time.Microsecond}}
	c.entrants = []*entrant{takes(time.Millisecond), takes(time.Microsecond)}
	if err := c.qualify(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := c.rounds(t.Context(), c.standing(), 0, func(i int, seconds float64) {
		if want := []float64{1e-3, 1e-6}[i]; seconds < 0.999*want || seconds > 1.001*want {
			t.Errorf("candidate %d took %g s, not %g: cooling is not to be timed", i, seconds, want)
		}
	})
	if err != nil || cooled != 3 {
		t.Errorf("the caches were cooled %d times in 3 rounds, %v", cooled, err)
	}
}
