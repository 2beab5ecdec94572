package nebula

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecording(t *testing.T) {
	j := begin(t, TP(2), PP(2), Trace(1<<12))
	if _, err := j.Run(t.Context(), "hello", MaxTokens(6)); err != nil {
		t.Fatal(err)
	}
	r := j.Recorded()
	if len(r.Ranks) != 4 || len(r.Bubbles().Rows) != 4 {
		t.Fatalf("%d ranks", len(r.Ranks))
	}
	var events struct {
		TraceEvents []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal(r.Chrome(), &events); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, e := range events.TraceEvents {
		seen[e.PID] = true
	}
	if len(seen) != 4 {
		t.Errorf("the trace has %d ranks", len(seen))
	}
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || !bytes.Equal(raw, r.Chrome()) {
		t.Errorf("the file has something else; %v", err)
	}
	steps := map[uint64]bool{}
	for _, rank := range r.Latest(2).Ranks {
		for _, g := range rank.Regions {
			steps[g.Step] = true
		}
	}
	if len(steps) != 2 {
		t.Errorf("of steps %v", steps)
	}
	b := r.Display()
	if text := b.Data["text/plain"].(string); !strings.Contains(text, "collective") || b.Data["image/png"] == nil {
		t.Error(text)
	}
	j2 := begin(t, Name("untraced"))
	if _, err := j2.Record(t.Context()); !errors.Is(err, errUntraced) {
		t.Errorf("%v", err)
	}
}
