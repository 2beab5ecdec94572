package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/capture"
)

// A program is measured, and what was measured is verified, shown, compared,
// reported and stored.
func TestBenchAndCapture(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	const quick = "bench mlp.fs mlp_8_64_128 --samples 3 --warmup 1 --backend interp,reference "
	shown := succeed(t, quick+"-o a.json --store all.db")
	for _, want := range []string{"mlp_8_64_128", "interp written, 1 thread", "reference optimised, 1 thread", "GFLOP/s", "Memory plans, proved again"} {
		if !strings.Contains(shown, want) {
			t.Errorf("bench does not show %q:\n%s", want, shown)
		}
	}
	c, err := capture.Read("a.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Workloads) != 2 || len(c.Workloads[0].Series) != 4 || len(c.Workloads[0].Series[0].Wall) != 3 {
		t.Errorf("the capture has %d workloads", len(c.Workloads))
	}
	if out := succeed(t, "capture show a.json"); strings.TrimSpace(out) != strings.TrimSpace(shown) {
		t.Errorf("show prints\n%s\nand bench\n%s", out, shown)
	}
	printed := succeed(t, quick+"--json")
	if err := os.WriteFile("b.json", []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := succeed(t, "capture verify a.json b.json"); strings.Count(out, "is as it was written") != 2 {
		t.Errorf("verify prints %s", out)
	}
	var rows capture.Comparison
	if err := json.Unmarshal([]byte(succeed(t, "capture compare a.json b.json --json")), &rows); err != nil || len(rows.Rows) != 8 || rows.Old != c.ID {
		t.Errorf("%v, comparison %+v", err, rows)
	}
	if out := succeed(t, "capture compare a.json --old interp:written --new interp:optimised"); !strings.Contains(out, "interp written, 1 thread → interp optimised, 1 thread") {
		t.Errorf("compare prints\n%s", out)
	}
	testReport(t)
	testStore(t, c.ID)
}

// testReport reports a.json, whose program is not that of a clean commit.
func testReport(t *testing.T) {
	t.Helper()
	if out, status := command(t, "capture", "report", "a.json"); status != exitFailure || out != "" {
		t.Errorf("a capture of an unknown tree is reported, status %d:\n%s", status, out)
	}
	if out := succeed(t, "capture report a.json --allow-dirty"); !strings.HasPrefix(out, "# Capture ") {
		t.Errorf("report prints\n%s", out)
	}
	succeed(t, "capture report a.json --allow-dirty --output-dir out")
	files, err := filepath.Glob("out/*")
	if err != nil || len(files) != 2+4*2 || !slices.Contains(files, "out/02-mlp_8_64_128-distribution.svg") {
		t.Errorf("%v, the report has the files %v", err, files)
	}
}

// testStore reads a.json, whose capture has the given id, from a store.
func testStore(t *testing.T, id string) {
	t.Helper()
	succeed(t, "capture add all.db a.json b.json")
	if out := succeed(t, "capture list all.db"); strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, id) {
		t.Errorf("the store lists\n%s", out)
	}
	succeed(t, "capture get all.db "+id+" -o c.json")
	a, errA := os.ReadFile("a.json")
	c, errC := os.ReadFile("c.json")
	if errA != nil || errC != nil || !bytes.Equal(a, c) {
		t.Errorf("a capture changed in the store (%v, %v)", errA, errC)
	}
	if err := os.WriteFile("a.json", bytes.Replace(a, []byte(`"cores": `), []byte(`"cores": 1`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"verify a.json", "show a.json", "compare a.json b.json", "report a.json --allow-dirty", "add all.db a.json"} {
		if out, status := command(t, strings.Fields("capture "+line)...); status != exitFailure || out != "" {
			t.Errorf("capture %s of a file that was changed: status %d\n%s", line, status, out)
		}
	}
	out, status := command(t, "capture", "verify", "a.json", "b.json", "--json")
	var list []verification
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != exitFailure || len(list) != 2 || list[0].Error == "" || list[1].Error != "" {
		t.Errorf("%v, status %d, verify prints %s", err, status, out)
	}
}

// TestBenchThreads measures for two numbers of threads, and finds both in the
// capture.
func TestBenchThreads(t *testing.T) {
	inFolder(t, nil)
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	out := succeed(t, "bench mlp_32_128_256 --backend cpu --variant optimised --threads 1,2 --samples 3 --json")
	c, err := capture.Decode([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	var threads []int
	for _, m := range c.Workloads[0].Series {
		threads = append(threads, m.Threads)
	}
	if !slices.Equal(threads, []int{1, 2}) {
		t.Errorf("the capture has candidates on %v threads", threads)
	}
}

func TestBenchStatus(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	for line, want := range map[string]int{
		"bench absent.fs":                            exitFailure,
		"bench mlp.fs --backend cuda":                exitUsage,
		"bench mlp.fs --threads 0":                   exitUsage,
		"bench mlp.fs --variant best":                exitUsage,
		"bench mlp.fs --samples x":                   exitUsage,
		"bench mlp.fs --samples 1000000":             exitFailure,
		"bench mlp.fs mlp.fs":                        exitFailure,
		"bench mlp.fs --shapes 1x":                   exitUsage,
		"capture frob":                               exitUsage,
		"capture verify":                             exitUsage,
		"capture verify absent":                      exitFailure,
		"capture compare a":                          exitUsage,
		"capture compare a b --old x":                exitUsage,
		"capture compare a b c":                      exitUsage,
		"capture compare a b":                        exitFailure,
		"capture report a b":                         exitUsage,
		"capture list absent.db":                     exitFailure,
		"capture get absent.db x":                    exitFailure,
		"bench mlp.fs --samples 0 -o no/such/folder": exitFailure,
	} {
		if _, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d", line, got, want)
		}
	}
	for name, want := range map[string]int{"all": 10, "mlp": 3, "neural": 8, "llm": 2, "llama_block": 1, "mlp.fs": 0} {
		if list := models(name); len(list) != want {
			t.Errorf("%s means %v, want %d models", name, list, want)
		}
	}
}
