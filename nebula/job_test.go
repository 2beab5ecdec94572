package nebula

import (
	"slices"
	"testing"
)

// TestLayouts compares the ways to run a job.
func TestLayouts(t *testing.T) {
	one := begin(t)
	want, err := one.Run(t.Context(), "hello", MaxTokens(10))
	if err != nil || len(want.Tokens) != 10 || want.Reason != Length {
		t.Fatalf("%+v, %v", want, err)
	}
	for name, opts := range map[string][]Option{
		"processes": {TP(2)}, "stages": {TP(2), PP(2)}, "goroutines": {TP(3), InProcess()}, "replicas": {Replicas(2)}, "replicas of processes": {TP(2), Replicas(2)},
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t, append(opts, Name(name))...)
			got, err := j.Run(t.Context(), "hello", MaxTokens(10))
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) || got.Text != want.Text {
				t.Errorf("%v %q, not %v %q; %v", got.Tokens, got.Text, want.Tokens, want.Text, err)
			}
			s := j.Status()
			if s.State != "healthy" || len(s.Ranks) != j.Ranks() || s.Generated != 10 {
				t.Errorf("%+v", s)
			}
			for i, r := range s.Ranks {
				if r.Rank != i || r.KVPlanned != r.KVHeld || r.KVPlanned == 0 || r.State == "gone" {
					t.Errorf("%+v", r)
				}
				if d := j.Rank(i); d.Rank != i || d.Stage != r.Stage {
					t.Errorf("rank %d says that it is %d on stage %d", i, d.Rank, d.Stage)
				}
			}
		})
	}
}
