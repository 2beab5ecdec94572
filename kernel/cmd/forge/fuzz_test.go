package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFuzz(t *testing.T) {
	if out := succeed(t, "fuzz --count 20 --seed 7 --backend cpu --backend portable"); !strings.HasPrefix(out, "20 programs of ") || !strings.Contains(out, "from seed 7 on cpu, portable: no failures") {
		t.Errorf("fuzz prints %q", out)
	}
	if out := succeed(t, "fuzz --count 20 --seed 7 --backend portable"); !strings.Contains(out, "from seed 7 on portable: no failures") {
		t.Errorf("fuzz on portable prints %q", out)
	}
	if out := succeed(t, "fuzz --count 3 --backend interp"); !strings.Contains(out, "from seed 1: no failures") {
		t.Errorf("fuzz without other backends prints %q", out)
	}
	var r struct {
		Format        string
		Version, Seed int
		Programs      int
		Backends      []string
		Failures      []any
	}
	if err := json.Unmarshal([]byte(succeed(t, "fuzz --count 3 --json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Format != "forge.fuzz" || r.Version != 1 || r.Seed != 1 || r.Programs != 3 || r.Failures == nil || len(r.Failures) != 0 || !slices.Equal(r.Backends, []string{"cpu", "portable"}) {
		t.Errorf("the report is %+v", r)
	}
	for _, line := range []string{"fuzz --count 0", "fuzz --count x", "fuzz --seed -1", "fuzz file", "fuzz --backend gpu"} {
		if _, got := command(t, strings.Fields(line)...); got != exitUsage {
			t.Errorf("forge %s: exit status %d, want %d", line, got, exitUsage)
		}
	}
}

// Without a compiler for the machine the backends that need none are left, and fuzz
// says so; one that was asked for is an error.
func TestFuzzWithoutCompiler(t *testing.T) {
	t.Setenv("FORGE_CC", filepath.Join(t.TempDir(), "cc"))
	var out, said bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	cmd.SetArgs([]string{"fuzz", "--count", "2"})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(said.String(), "not on cpu: ") || !strings.Contains(out.String(), "from seed 1 on portable: no failures") {
		t.Errorf("%v: %s%s", err, &said, &out)
	}
	cmd.SetArgs([]string{"fuzz", "--count", "2", "--backend", "cpu"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "FORGE_CC") {
		t.Errorf("without a compiler --backend cpu gives %v", err)
	}
}
