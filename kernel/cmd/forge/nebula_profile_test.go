package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A profile has a trace of each rank and one of all, in which there is what the ranks
// did.
func TestNebulaProfile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	got := runForge(t, "nebula profile --model tiny --backend portable --threads 1 --tp 2 --pp 2 --batch 2 --prompt-tokens 20 --new-tokens 4 --json --output "+dir)
	var rows []bubbleRow
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil || got.status != 0 || len(rows) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, r := range rows {
		if r.Rank != i || r.Stage != i/2 || r.Window <= 0 || r.Busy <= 0 || r.Share < 0 || r.Share > 1 {
			t.Errorf("%+v", r)
		}
	}
	ranks := map[int]bool{}
	seen := map[string]bool{}
	for _, e := range events(t, filepath.Join(dir, "trace.json")) {
		if e.Phase == "X" {
			ranks[e.PID], seen[e.Cat] = true, true
		}
	}
	for _, want := range []string{"step", "attention", "projection", "ff", "kv append", "compute", "collective", "send", "recv", "wait"} {
		if !seen[want] {
			t.Errorf("no region of %q; there are %v", want, seen)
		}
	}
	if len(ranks) != 4 {
		t.Errorf("the merged trace has the ranks %v", ranks)
	}
	for _, e := range events(t, filepath.Join(dir, "rank-3.json")) {
		if e.PID != 3 {
			t.Fatalf("the trace of rank 3 has %+v", e)
		}
	}
	if svg, err := os.ReadFile(filepath.Join(dir, "timeline.svg")); err != nil || !strings.Contains(string(svg), "rank 3") {
		t.Errorf("timeline: %v", err)
	}
	for args, want := range map[string]int{tinyModel: exitUsage, "--output x --batch 0" + tinyModel: exitUsage} {
		if out, status := command(t, append([]string{"nebula", "profile"}, strings.Fields(args)...)...); status != want || out != "" {
			t.Errorf("profile %s: status %d: %s", args, status, out)
		}
	}
}

type chromeEvent struct {
	Cat   string
	Phase string `json:"ph"`
	PID   int
}

func events(t *testing.T, path string) []chromeEvent {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []chromeEvent }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.TraceEvents
}
