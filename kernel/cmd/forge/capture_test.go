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
	const quick = "bench --suite mlp_8_64_128,mlp_32_128_256 --repeats 3 --warmup 1 --backend interp,reference "
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
	if err := json.Unmarshal([]byte(succeed(t, "bench compare a.json b.json --json")), &rows); err != nil || len(rows.Rows) != 8 || rows.Old != c.ID {
		t.Errorf("%v, comparison %+v", err, rows)
	}
	if out := succeed(t, "bench compare a.json --old interp:written --new interp:optimised"); !strings.Contains(out, "interp written, 1 thread → interp optimised, 1 thread") {
		t.Errorf("compare prints\n%s", out)
	}
	testReport(t)
	testStore(t, c.ID)
}

// testReport reports a.json, whose program is not that of a clean commit.
func testReport(t *testing.T) {
	t.Helper()
	if out, status := command(t, "bench", "report", "a.json"); status != exitFailure || out != "" {
		t.Errorf("a capture of an unknown tree is reported, status %d:\n%s", status, out)
	}
	if out := succeed(t, "bench report a.json --allow-dirty"); !strings.HasPrefix(out, "# Capture ") {
		t.Errorf("report prints\n%s", out)
	}
	succeed(t, "bench report a.json --allow-dirty --output-dir out")
	files, err := filepath.Glob("out/*")
	if err != nil || len(files) != 2+4*2+2 || !slices.Contains(files, "out/02-mlp_32_128_256-distribution.svg") {
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
	for _, line := range []string{"capture verify a.json", "capture show a.json", "bench compare a.json b.json", "bench report a.json --allow-dirty", "capture add all.db a.json"} {
		if out, status := command(t, strings.Fields(line)...); status != exitFailure || out != "" {
			t.Errorf("%s of a file that was changed: status %d\n%s", line, status, out)
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
	out := succeed(t, "bench --suite mlp_32_128_256 --backend cpu --variant optimised --threads 1,2 --repeats 3 --json")
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

// A file is measured on the inputs of a seed, and its C is printed first.
func TestBenchFile(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	out := succeed(t, "bench mlp.fs --iters 0 --warmup 1 --emit-source -o c.json")
	for _, want := range []string{"forge_run_0_0", "cpu written, 1 thread", "cpu optimised, 1 thread", "median", "interval", "minimum", "GFLOP/s", ", miss"} {
		if !strings.Contains(out, want) {
			t.Errorf("bench does not show %q:\n%s", want, out)
		}
	}
	c, err := capture.Read("c.json")
	if err != nil || c.Settings.Samples != 1 || c.Environment.Limits == nil || c.Environment.Limits.FLOPs <= 0 {
		t.Errorf("%v, capture %+v", err, c)
	}
	if out := succeed(t, "bench mlp.fs --iters 1 --warmup 1"); !strings.Contains(out, ", hit") {
		t.Errorf("the second time nothing was found compiled:\n%s", out)
	}
	if out := succeed(t, "run mlp.fs --backend cpu --emit-source"); !strings.Contains(out, "forge_run_0_0") || !strings.Contains(out, "f32[") {
		t.Errorf("run prints\n%s", out)
	}
}

// A capture that ended early is completed, by nothing but the same program.
func TestBenchResume(t *testing.T) {
	inFolder(t, nil)
	const quick = " --repeats 2 --warmup 1 --backend interp -o c.json --resume"
	succeed(t, "bench --suite mlp_8_64_128"+quick)
	begun, err := capture.Read("c.json")
	if err != nil {
		t.Fatal(err)
	}
	succeed(t, "bench --suite residual_8_64_128,mlp_8_64_128"+quick)
	c, err := capture.Read("c.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Workloads) != 2 || c.Workloads[0].Name != "residual_8_64_128" || !slices.Equal(c.Workloads[1].Series[0].Wall, begun.Workloads[0].Series[0].Wall) || c.ID != begun.ID {
		t.Errorf("the capture has %d workloads", len(c.Workloads))
	}
	for _, other := range []string{"--suite mlp" + quick + " --seed 9", "--suite llama_block" + quick} {
		if out, status := command(t, strings.Fields("bench "+other)...); status != exitFailure {
			t.Errorf("bench %s: status %d\n%s", other, status, out)
		}
	}
}

// The table of a page is replaced, and nothing around it.
func TestBenchUpdate(t *testing.T) {
	inFolder(t, map[string]string{
		"page.md":  "# Page\n\n" + capture.SummaryBegin + "\nold\n" + capture.SummaryEnd + "\n\nrest\n",
		"plain.md": "# Page\n",
	})
	succeed(t, "bench --suite mlp_8_64_128 --repeats 2 --warmup 1 --backend interp -o c.json")
	succeed(t, "bench report c.json --allow-dirty --update page.md")
	page, err := os.ReadFile("page.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if !strings.HasPrefix(text, "# Page\n\n"+capture.SummaryBegin+"\n| workload | interp optimised, 1 thread |") || !strings.HasSuffix(text, capture.SummaryEnd+"\n\nrest\n") || strings.Contains(text, "old") {
		t.Errorf("the page is\n%s", text)
	}
	if _, status := command(t, strings.Fields("bench report c.json --allow-dirty --update plain.md")...); status != exitFailure {
		t.Errorf("a page without a place for the table: status %d", status)
	}
}

func TestBenchStatus(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	for line, want := range map[string]int{
		"bench absent.fs":                                           exitFailure,
		"bench mlp.fs --backend cuda":                               exitUsage,
		"bench mlp.fs --threads 0":                                  exitUsage,
		"bench mlp.fs --variant best":                               exitUsage,
		"bench":                                                     exitUsage,
		"bench mlp.fs --iters x":                                    exitUsage,
		"bench mlp.fs --iters -1":                                   exitUsage,
		"bench mlp.fs --iters 1000000":                              exitFailure,
		"bench mlp.fs mlp.fs":                                       exitUsage,
		"bench mlp.fs --suite mlp":                                  exitUsage,
		"bench mlp.fs --repeats 3":                                  exitUsage,
		"bench --suite mlp --iters 3":                               exitUsage,
		"bench --suite resnet":                                      exitUsage,
		"bench mlp.fs --device cuda":                                exitUsage,
		"bench mlp.fs --resume":                                     exitUsage,
		"bench mlp.fs --emit-source --json":                         exitUsage,
		"bench mlp.fs --emit-source --backend interp":               exitFailure,
		"bench mlp.fs --peers jax":                                  exitUsage,
		"bench mlp.fs --peers all --peer-python no/python":          exitFailure,
		"bench report a --update b --output-dir c":                  exitUsage,
		"run mlp.fs --emit-source":                                  exitFailure,
		"run mlp.fs --emit-source --json":                           exitUsage,
		"bench mlp.fs --shapes 1x":                                  exitUsage,
		"capture frob":                                              exitUsage,
		"capture verify":                                            exitUsage,
		"capture verify absent":                                     exitFailure,
		"bench compare a":                                           exitUsage,
		"bench compare a b --old x":                                 exitUsage,
		"bench compare a b c":                                       exitUsage,
		"bench compare a b":                                         exitFailure,
		"bench report a b":                                          exitUsage,
		"capture list absent.db":                                    exitFailure,
		"capture get absent.db x":                                   exitFailure,
		"bench mlp.fs --iters 0 --backend interp -o no/such/folder": exitFailure,
	} {
		if _, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d", line, got, want)
		}
	}
	for name, want := range map[string]int{"all": 10, "mlp": 3, "neural": 8, "llm": 2, "llama_block": 1, "resnet": 0} {
		if list, err := models(name); len(list) != want || (err == nil) != (want > 0) {
			t.Errorf("%s means %v, %v; want %d models", name, list, err, want)
		}
	}
}
