package capture

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Resume goes on with a capture that ended early: it measures the subjects that c
// lacks, and those again on which a candidate failed. It refuses a capture of
// another machine, commit or program, or of other settings or candidates, and
// names what differs.
func (m *Instrument) Resume(ctx context.Context, c *Capture, subjects []*Subject, candidates []Candidate) (*Capture, error) {
	if err := m.check(subjects, candidates); err != nil {
		return nil, err
	}
	now := m.Describe(ctx)
	if err := cmp.Or(
		c.Environment.matched(&now),
		differ("the commit", c.Environment.Commit, now.Commit),
		differ("the state of the working tree", c.Environment.Tree, now.Tree),
		differ("the settings", c.Settings, m.Settings),
	); err != nil {
		return nil, err
	}
	next := *c
	next.Environment.Peers = maps.Clone(c.Environment.Peers)
	next.Workloads = slices.DeleteFunc(slices.Clone(c.Workloads), func(w Workload) bool { return !w.complete() })
	for i := range next.Workloads {
		if err := next.Workloads[i].fits(subjects, candidates); err != nil {
			return nil, err
		}
	}
	place := func(w Workload) int {
		return slices.IndexFunc(subjects, func(s *Subject) bool { return s.Name == w.Name })
	}
	slices.SortFunc(next.Workloads, func(a, b Workload) int { return place(a) - place(b) })
	if err := m.complete(ctx, &next, subjects, candidates); err != nil {
		return nil, err
	}
	return &next, nil
}

// complete reports whether every candidate was timed.
func (w *Workload) complete() bool {
	return !slices.ContainsFunc(w.Series, func(s Series) bool { return s.Error != "" })
}

// fits checks that a workload is what measuring one of the subjects would give.
func (w *Workload) fits(subjects []*Subject, candidates []Candidate) error {
	i := slices.IndexFunc(subjects, func(s *Subject) bool { return s.Name == w.Name })
	if i < 0 {
		return fmt.Errorf("the capture has a workload %s, which is not to be measured", w.Name)
	}
	var had, want []string
	for _, s := range w.Series {
		had = append(had, s.Label.String())
	}
	for _, c := range candidates {
		want = append(want, c.Label().String())
	}
	return cmp.Or(
		differ(w.Name+": the program as written", w.Written, subjects[i].Written.Hash()),
		differ(w.Name+": the optimised program", w.Optimised, subjects[i].Optimised.Hash()),
		differ(w.Name+": the candidates", strings.Join(had, "; "), strings.Join(want, "; ")),
	)
}
