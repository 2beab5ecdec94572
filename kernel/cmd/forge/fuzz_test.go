package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFuzz(t *testing.T) {
	if out := succeed(t, "fuzz --count 20 --seed 7"); !strings.HasPrefix(out, "20 programs of ") || !strings.Contains(out, "from seed 7: no failures") {
		t.Errorf("fuzz prints %q", out)
	}
	var r struct {
		Format        string
		Version, Seed int
		Programs      int
		Failures      []any
	}
	if err := json.Unmarshal([]byte(succeed(t, "fuzz --count 3 --json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Format != "forge.fuzz" || r.Version != 1 || r.Seed != 1 || r.Programs != 3 || r.Failures == nil || len(r.Failures) != 0 {
		t.Errorf("the report is %+v", r)
	}
	for _, line := range []string{"fuzz --count 0", "fuzz --count x", "fuzz --seed -1", "fuzz file"} {
		if _, got := command(t, strings.Fields(line)...); got != exitUsage {
			t.Errorf("forge %s: exit status %d, want %d", line, got, exitUsage)
		}
	}
}
