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
	s := r.Schedule(2)
	steps := map[string]bool{}
	for _, x := range s.Spans {
		steps[strings.Fields(x.Tooltip)[3]] = true
	}
	if len(steps) != 2 {
		t.Errorf("steps %v are shown", steps)
	}
	b := r.Display()
	for _, part := range []string{"rank 3 ", "collective  ", "Bubbles", "stage"} {
		if !strings.Contains(b.Data["text/plain"].(string), part) {
			t.Errorf("no %q in:\n%s", part, b.Data["text/plain"])
		}
	}
	j2 := begin(t, Name("untraced"))
	if _, err := j2.Record(t.Context()); !errors.Is(err, errUntraced) {
		t.Errorf("%v", err)
	}
}
