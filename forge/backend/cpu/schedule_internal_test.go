package cpu

import (
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
)

func suiteGraph(t *testing.T, name string) *ir.Graph {
	t.Helper()
	g, err := suite.Build(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pass.Run(g, pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Graph
}

// TestCompleteSchedules decides every proposal for every kernel of the suite again:
// a complete schedule must stand for itself, and the first for no schedule at all.
func TestCompleteSchedules(t *testing.T) {
	for _, target := range []Target{avx512, avx2, base} {
		b := New()
		b.Target = target
		for _, name := range suite.Names() {
			p, err := b.prepare(suiteGraph(t, name), func([]string) Schedules { return nil })
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.steps {
				if s.kernel == nil {
					continue
				}
				for i, proposal := range target.proposals(s.kernel, s.constant, s.schedule) {
					schedule, cut := target.decide(s.kernel, s.constant, proposal.Schedule)
					if schedule != proposal.Schedule {
						t.Errorf("%s on %s: %v becomes %v", s.shape, target.Name, proposal.Schedule, schedule)
					}
					if c := s.kernel.Convolution; c != nil && i == 0 {
						w := target.windowingFor(c, schedule)
						if w.finite, w.exact = s.window.finite, s.window.exact; w != s.window {
							t.Errorf("%s on %s: the backend cuts it %+v, and %+v when it is asked for %v", s.shape, target.Name, s.window, w, schedule)
						}
					}
					if i == 0 && (schedule != s.schedule || cut != s.cut) {
						t.Errorf("%s on %s: the backend cuts it %+v, and %+v when it is asked for %v", s.shape, target.Name, s.cut, cut, schedule)
					}
				}
			}
		}
	}
}
