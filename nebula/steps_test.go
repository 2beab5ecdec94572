package nebula

import (
	"errors"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	j := begin(t, TP(2))
	if _, err := j.Run(t.Context(), "hello", MaxTokens(4)); err != nil {
		t.Fatal(err)
	}
	before := j.Status().Steps
	if err := j.Batch(t.Context(), []string{"one", "two, which is longer"}, MaxTokens(3)).Err(); err != nil {
		t.Fatal(err)
	}
	all := j.Steps()
	if all.List[0].Number != 1 || all.List[0].Parts[0].Tokens != len("hello") || !all.List[0].Parts[0].Next || all.List[0].Took <= 0 {
		t.Errorf("the first step is %+v", all.List[0])
	}
	latest := all.Since(before)
	requests := map[uint64]int{}
	for _, s := range latest.List {
		for _, p := range s.Parts {
			requests[p.Request] += p.Tokens
		}
	}
	// The last token of a request is given out and not computed.
	if len(requests) != 2 || requests[2] != len("one")+2 || requests[3] != len("two, which is longer")+2 {
		t.Errorf("since step %d there are %v", before, requests)
	}
	c := latest.Chart()
	if len(c.Panels) != 2 || len(c.Panels[0].Y.Ticks) != 2 || c.Panels[0].Y.Ticks[0].Label != "request 2" || len(c.Panels[0].Layers[0].Data) == 0 {
		t.Errorf("the picture is of %+v", c)
	}
	b := latest.Display()
	if b.Data["image/png"] == nil || !strings.Contains(b.Data["text/plain"].(string), "next tokens") {
		t.Error(b.Data["text/plain"])
	}
	if (&Steps{}).Display().Data["text/plain"] == "" {
		t.Error("no steps show as nothing")
	}
	j.Close()
	if _, err := j.StepLog(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed job: %v", err)
	}
}

// The steps of replicas stand beside one another.
func TestStepsOfReplicas(t *testing.T) {
	j := begin(t, Replicas(2))
	if err := j.Batch(t.Context(), []string{"one", "two"}, MaxTokens(3)).Err(); err != nil {
		t.Fatal(err)
	}
	s := j.Steps()
	if ticks := s.Chart().Panels[0].Y.Ticks; len(ticks) != 2 || ticks[0].Label != "replica 0, request 1" || ticks[1].Label != "replica 1, request 1" {
		t.Errorf("lanes are %+v", ticks)
	}
	if table := s.Table(); table.Columns[0].Name != "replica" || len(table.Rows[0]) != len(table.Columns) {
		t.Errorf("the table is %+v", table)
	}
}

// Without sharing, a prompt that was there is computed whole; with it, what its full
// blocks do not hold.
func TestNoSharing(t *testing.T) {
	long := strings.Repeat("x", 40)
	for _, c := range []struct {
		option Option
		cached int
	}{{NoSharing(), 0}, {BlockSize(16), 32}} {
		j := begin(t, c.option)
		for i := range 2 {
			a, err := j.Run(t.Context(), long, MaxTokens(1))
			if want := i * c.cached; err != nil || a.Usage.Cached != want {
				t.Errorf("time %d: %d tokens were cached, want %d; %v", i, a.Usage.Cached, want, err)
			}
		}
	}
}

// A long prompt comes in chunks of the chosen size where several steps are in flight.
func TestChunk(t *testing.T) {
	j := begin(t, PP(2), Chunk(4))
	if _, err := j.Run(t.Context(), strings.Repeat("b", 20), MaxTokens(1)); err != nil {
		t.Fatal(err)
	}
	list := j.Steps().List
	if len(list) != 5 {
		t.Errorf("the prompt took %d steps, want 5", len(list))
	}
	for i, s := range list {
		if p := s.Parts[0]; p.Tokens != 4 || p.Pos != 4*i {
			t.Errorf("step %d computes %+v", i+1, p)
		}
	}
}
