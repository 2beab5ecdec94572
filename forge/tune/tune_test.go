package tune

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
)

var nothing = &ir.Graph{Name: "f"}

func tuned(t *testing.T, l *lab) *Record {
	t.Helper()
	r, err := l.tuner().Tune(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Encode(r); err != nil {
		t.Errorf("the record is refused: %v", err)
	}
	return r
}

// verdicts are those of the candidates of a kernel.
func verdicts(k Kernel) string {
	var list []string
	for _, c := range k.Candidates {
		list = append(list, string(c.Verdict))
	}
	return strings.Join(list, " ")
}

// TestVerdicts gives candidates that take known times.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []time.Duration
		wrong string
		want  string
	}{
		{"the quickest", micros(10, 12, 5, 11), "", "slower slower chosen slower"},
		{"the backend's own choice wins a tie", micros(10.2, 10, 30), "", "chosen tie slower"},
		{"and loses beyond", micros(10.4, 10, 30), "", "slower chosen slower"},
		{"the first of those that tie", micros(20, 10.2, 10, 10.1), "", "slower chosen tie tie"},
		{"a wrong one is not chosen", micros(10, 1), "k/1", "chosen rejected"},
		{"the backend's own choice may be wrong", micros(1, 10), "k/0", "rejected chosen"},
		{"one alone", micros(10), "", "chosen"},
		{"one alone that is not measured", micros(10), "k/0", "chosen"},
	} {
		l := &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": c.times}, wrong: map[string]bool{c.wrong: true}}
		r := tuned(t, l)
		if got := verdicts(r.Kernels[0]); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
		if l.timed[c.wrong] > 0 {
			t.Errorf("%s: the wrong candidate was timed %d times", c.name, l.timed[c.wrong])
		}
	}
}

// TestTurns looks at the order of the samples: each round begins with another
// candidate.
func TestTurns(t *testing.T) {
	l := &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(10, 11, 12)}}
	c := &contest{wall: func() time.Duration { return l.now }, settings: Settings{Rounds: 4, MaxRounds: 4, MinSample: time.Nanosecond}}
	c.entrants, _ = l.kernel(t.Context(), cpu.Step{Shape: "k"}, make([]cpu.Schedule, 3))
	if err := c.qualify(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.order = nil
	if err := c.rounds(t.Context(), c.standing(), 0, func(int, float64) {}); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("k/0 k/1 k/2  k/1 k/2 k/0  k/2 k/0 k/1  k/0 k/1 k/2")
	if !slices.Equal(l.order, want) {
		t.Errorf("samples were taken as %v", l.order)
	}
}

// TestDisturbed lets a good candidate read twelve times slower while it is first
// measured: it is measured again, and wins.
func TestDisturbed(t *testing.T) {
	l := &lab{
		shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(100, 101, 80, 102)}, costs: map[string][]float64{"k": {10, 10, 8, 10}},
		noise: func(_ string, candidate, n int) time.Duration {
			if candidate == 2 && n <= 4+5 {
				return 11 * 80 * time.Microsecond
			}
			return 0
		},
	}
	tuner := l.tuner()
	tuner.Settings.MaxRounds = tuner.Settings.Rounds
	r, err := tuner.Tune(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	k := r.Kernels[0]
	if got := verdicts(k); got != "slower slower chosen slower" {
		t.Errorf("the verdicts are %s", got)
	}
	for i, c := range k.Candidates {
		if again := len(c.Again) > 0; again != (i == 2) {
			t.Errorf("candidate %d was measured again: %v", i, again)
		}
	}
	if first := slices.Min(k.Candidates[2].Samples); first < 900e-6 {
		t.Errorf("the first samples are from %g s on: they are kept as they were", first)
	}
}

// TestFinal has a candidate whose one quick sample does not come again: the final
// decides against it.
func TestFinal(t *testing.T) {
	l := &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(100, 120)}, noise: func(_ string, candidate, n int) time.Duration {
		if candidate == 1 && n == 6 {
			return -40 * time.Microsecond
		}
		return 0
	}}
	k := tuned(t, l).Kernels[0]
	if got := verdicts(k); got != "chosen tie" { // by its quickest sample, which does not count
		t.Errorf("the verdicts are %s", got)
	}
	if least(k.Candidates[1].Samples) >= least(k.Candidates[0].Samples) {
		t.Error("the disturbed sample is not among the samples")
	}
}

// TestProgramCheck does not use what makes the whole program slower.
func TestProgramCheck(t *testing.T) {
	for _, c := range []struct {
		whole []time.Duration
		used  bool
	}{
		{micros(100, 90), true},
		{micros(100, 102), true}, // a tie
		{micros(100, 105), false},
	} {
		r := tuned(t, &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(10, 5)}, whole: c.whole})
		if r.Check == nil || r.Check.Used != c.used || (len(r.Schedules()) > 0) != c.used {
			t.Errorf("%v: the check is %+v, the schedules are %v", c.whole, r.Check, r.Schedules())
		}
	}
	r := tuned(t, &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(5, 10)}})
	if r.Check != nil || r.Schedules() != nil {
		t.Errorf("nothing was changed and yet checked: %+v", r.Check)
	}
}

// TestTrouble has kernels that do not compile, candidates that break while they are
// timed, and a budget that is spent.
func TestTrouble(t *testing.T) {
	l := &lab{
		shapes: []string{"big", "odd", "big", "late"},
		times:  map[string][]time.Duration{"big": micros(100, 50, 70), "odd": micros(10, 5), "late": micros(10, 5)},
		broken: map[string]error{"odd": errors.New("no")}, failing: map[string]bool{"big/1": true},
	}
	tuner := l.tuner()
	tuner.Settings.Budget = time.Millisecond
	r, err := tuner.Tune(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, k := range r.Kernels {
		notes = append(notes, k.Note)
	}
	// "big" runs twice and so has the most work: it spends the budget.
	if want := []string{"", "not measured: the budget of 1ms was spent", "not measured: the budget of 1ms was spent"}; !slices.Equal(notes, want) {
		t.Errorf("the notes are %q", notes)
	}
	big := r.Kernels[0]
	if got := verdicts(big); got != "slower rejected chosen" || big.Candidates[1].Error != "it broke" || len(big.Candidates[1].Samples) > 0 {
		t.Errorf("the verdicts are %s, the failure is %q with %d samples", got, big.Candidates[1].Error, len(big.Candidates[1].Samples))
	}
	if !slices.Equal(big.Values, []string{"%v0", "%v2"}) {
		t.Errorf("the kernel computes %v", big.Values)
	}
	for _, l := range []*lab{
		{shapes: l.shapes, times: l.times, broken: l.broken},
		{shapes: l.shapes, times: l.times, apart: map[string]string{"odd": "no"}},
	} {
		if k := tuned(t, l).Kernels[1]; k.Note != "not measured: no" || verdicts(k) != "chosen unmeasured" {
			t.Errorf("what cannot be measured is %s: %s", verdicts(k), k.Note)
		}
	}
}

// TestAllWrong has no candidate that passes the gate: the program stays as it is.
func TestAllWrong(t *testing.T) {
	l := &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(10, 5)}, wrong: map[string]bool{"k/0": true, "k/1": true}}
	r := tuned(t, l)
	if k := r.Kernels[0]; k.Note != "not measured: no candidate passed" || verdicts(k) != "rejected rejected" || r.Schedules() != nil {
		t.Errorf("got %s, %q and %v", verdicts(k), k.Note, r.Schedules())
	}
}

// TestInterrupted ends with the cause.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the test")
	l := &lab{shapes: []string{"k"}, times: map[string][]time.Duration{"k": micros(10, 5)}, noise: func(string, int, int) time.Duration {
		cancel(stopped)
		return 0
	}}
	if _, err := l.tuner().Tune(ctx, nothing); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

// TestRetry finds that a machine has become another.
func TestRetry(t *testing.T) {
	l := &lab{shapes: []string{"k", "same"}, times: map[string][]time.Duration{"k": micros(10, 8, 12), "same": micros(1, 2)}}
	r := tuned(t, l)
	l.times["k"] = micros(10, 8, 4)
	again, err := l.tuner().Retry(t.Context(), nothing, r)
	if err != nil {
		t.Fatal(err)
	}
	k := again.Kernels[0]
	if k.Chosen != r.Kernels[0].Candidates[1].Schedule || k.Best != r.Kernels[0].Candidates[2].Schedule || k.Excess() < 0.99 || k.Excess() > 1.01 {
		t.Errorf("got %+v, off by %g", k, k.Excess())
	}
	if k := again.Kernels[1]; k.Excess() != 0 || k.Best != k.Chosen {
		t.Errorf("got %+v", k)
	}
	l.wrong = map[string]bool{"k/1": true}
	if _, err := l.tuner().Retry(t.Context(), nothing, r); err == nil || !strings.Contains(err.Error(), "the pick, tile=2x1 width=4, failed") {
		t.Errorf("a pick that is wrong now: %v", err)
	}
	l.shapes = l.shapes[1:]
	if _, err := l.tuner().Retry(t.Context(), nothing, r); !errors.Is(err, errAnother) {
		t.Errorf("the record of another program: %v", err)
	}
}

// TestDeterministic measures the same twice.
func TestDeterministic(t *testing.T) {
	one := func() *Record {
		return tuned(t, &lab{shapes: []string{"k", "l"}, times: map[string][]time.Duration{"k": micros(10, 8, 12), "l": micros(1, 2, 0.5)}})
	}
	if a, b := one(), one(); !reflect.DeepEqual(a, b) {
		t.Error("equal measurements give different records")
	}
}
