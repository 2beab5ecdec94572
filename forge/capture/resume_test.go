package capture

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A capture that ended early is completed: what it has stays, what failed is
// measured again, and another machine, commit or program is refused.
func TestResume(t *testing.T) {
	clock := new(fakeClock)
	a := &fake{label: Label{"a", Written, 1}, clock: clock, times: microseconds(10)}
	b := &fake{label: Label{"b", Written, 1}, clock: clock, times: microseconds(20)}
	s := Settings{Samples: 3, Warmup: 1, Seed: 7}
	subjects := []*Subject{subject(t, "one"), subject(t, "two"), subject(t, "three")}
	m := instrument(clock, s)
	kept := 0
	var begun *Capture
	m.Keep = func(c *Capture) error {
		kept++
		copied := *c
		begun = &copied
		return Verify(c)
	}
	b.err, b.at = errors.New("it broke"), 0
	if _, err := m.Measure(t.Context(), subjects[1:2], []Candidate{a, b}); err != nil || kept != 1 {
		t.Fatal(err, kept)
	}
	b.err = nil
	a.times = microseconds(11)
	if c, err := m.Resume(t.Context(), begun, subjects[1:], []Candidate{a, b}); err != nil || len(c.Failures()) > 0 || len(c.Workloads) != 2 {
		t.Fatal(err, c)
	}
	a.times = microseconds(12)
	c, err := m.Resume(t.Context(), begun, subjects, []Candidate{a, b})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{12e-6, 11e-6, 11e-6} {
		if w := c.Workloads[i]; w.Name != subjects[i].Name || !near(w.Series[0].Wall[0], want) {
			t.Errorf("workload %d is %s, a run takes %v s; want %s, %v", i, w.Name, w.Series[0].Wall[0], subjects[i].Name, want)
		}
	}
	if err := Verify(c); err != nil || c.ID != begun.ID || kept != 4 {
		t.Errorf("%v, id %s, kept %d times", err, c.ID, kept)
	}
	for want, change := range map[string]func(*Instrument, *Capture){
		"the commit differs":           func(_ *Instrument, c *Capture) { c.Environment.Commit = "beef" },
		"the processor differs":        func(_ *Instrument, c *Capture) { c.Environment.CPU = "Other" },
		"the settings differs":         func(m *Instrument, _ *Capture) { m.Settings.Samples = 9 },
		"one: the program as written":  func(_ *Instrument, c *Capture) { c.Workloads[0].Written = "00" },
		"one: the candidates differs":  func(_ *Instrument, c *Capture) { c.Workloads[0].Series = nil },
		"workload other, which is not": func(_ *Instrument, c *Capture) { c.Workloads[0].Name = "other" },
		"a was v=1 and is now v=2": func(_ *Instrument, c *Capture) {
			c.Environment.Peers = map[string]map[string]string{"a": {"v": "1"}}
			c.Workloads = nil
		},
		"the state of the working tree": func(_ *Instrument, c *Capture) { c.Environment.Tree = Dirty },
	} {
		other := *c
		other.Workloads = append([]Workload{}, c.Workloads...)
		changed := instrument(clock, s)
		change(changed, &other)
		if _, err := changed.Resume(t.Context(), &other, subjects, []Candidate{&described{a, map[string]string{"v": "2"}}, b}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// described is a candidate that knows what runs it.
type described struct {
	*fake
	facts map[string]string
}

func (d *described) Describe() map[string]string { return d.facts }

// The rounds of slow programs end with the budget, those of all candidates alike.
func TestBudget(t *testing.T) {
	clock := new(fakeClock)
	candidates := []Candidate{
		&described{&fake{label: Label{"a", Peer, 1}, clock: clock, times: microseconds(400)}, map[string]string{"v": "2"}},
		&fake{label: Label{"b", Written, 1}, clock: clock, times: microseconds(100)},
	}
	for _, x := range []struct {
		budget time.Duration
		want   int
	}{{0, 9}, {time.Microsecond, 1}, {3500 * time.Microsecond, 4}, {time.Hour, 9}} {
		c, err := instrument(clock, Settings{Samples: 9, Warmup: 1, Budget: x.budget}).Measure(t.Context(), []*Subject{subject(t, "s")}, candidates)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Workloads[0].Series {
			if len(s.Wall) != x.want {
				t.Errorf("within %v %v has %d samples, want %d", x.budget, s.Label, len(s.Wall), x.want)
			}
		}
		if err := Verify(c); err != nil {
			t.Error(err)
		}
		if c.Environment.Peers["a"]["v"] != "2" {
			t.Errorf("peers %v", c.Environment.Peers)
		}
	}
}
