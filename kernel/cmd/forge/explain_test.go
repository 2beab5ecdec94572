package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const mlpSource = `def mlp(x: f32[4,8], w: f32[8,6]) -> (f32[4,6], f32):
    h = relu(x @ w + 1)
    return h, sum(h)
`

// inFolder writes files into a new working folder.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// succeed runs a command line that must succeed.
func succeed(t *testing.T, line string) string {
	t.Helper()
	out, status := command(t, strings.Fields(line)...)
	if status != 0 {
		t.Fatalf("forge %s: exit status %d", line, status)
	}
	return out
}

func TestExplain(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	for flags, wants := range map[string][]string{
		"":          {"mlp  on auto, from mlp.fs", "Backend portable was picked", "Decisions", "planned", "Optimisation"},
		"--text":    {"fuse-elementwise", "critical path"},
		"--json":    {`"format": "forge.explain"`, `"planned_bytes"`},
		"--mermaid": {"flowchart", "matmul"},
		"--html":    {"<!doctype html>", "mlp explained", "data:image/svg+xml"},
	} {
		out := succeed(t, "explain mlp.fs "+flags)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("explain %s lacks %q:\n%.600s", flags, want, out)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("explain %s writes colours where there is no terminal", flags)
		}
	}
	if out := succeed(t, "explain mlp.fs --html -o mlp.html"); out != "" {
		t.Errorf("explain -o prints %q", out)
	}
	page, err := os.ReadFile("mlp.html")
	if err != nil || string(page) != succeed(t, "explain mlp.fs --html") {
		t.Errorf("the file is not what is printed: %v", err)
	}
	if left, _ := filepath.Glob(".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	other := succeed(t, "explain mlp.fs --shapes 2x8,8x3")
	if !strings.Contains(other, "f32[2,3]") {
		t.Errorf("the shapes are not heeded:\n%s", other)
	}
}

// Whatever stage a program is resumed from, it ends as the same program with the
// same results.
func TestDumpAndResume(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	type report struct {
		Snapshots []struct{ Pass, IR string }
		Run       struct {
			Results []struct {
				Name   string
				Values []float64
			}
		}
	}
	run := func(line string) report {
		t.Helper()
		var r report
		if err := json.Unmarshal([]byte(succeed(t, line)), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := run("run mlp.fs --json")
	if len(want.Run.Results) != 2 || want.Run.Results[0].Name != "h" {
		t.Fatalf("the results are %+v", want.Run.Results)
	}
	for i, pass := range stages() {
		text := succeed(t, "dump mlp.fs --after "+pass)
		if !strings.HasPrefix(text, "# after "+pass+"\ngraph mlp(") {
			t.Errorf("the dump after %s starts %.40q", pass, text)
		}
		if err := os.WriteFile("mlp.ir", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run("run --from mlp.ir --json")
		if got.Snapshots[0].Pass != pass || len(got.Snapshots) != len(want.Snapshots)-i {
			t.Errorf("from %s: %d snapshots, the first %s", pass, len(got.Snapshots), got.Snapshots[0].Pass)
		}
		if last := len(got.Snapshots) - 1; got.Snapshots[last].IR != want.Snapshots[len(want.Snapshots)-1].IR {
			t.Errorf("from %s it ends as\n%s", pass, got.Snapshots[last].IR)
		}
		for j, r := range got.Run.Results {
			for k, v := range r.Values {
				if v != want.Run.Results[j].Values[k] {
					t.Fatalf("from %s: element %d of %s is %g, not %g", pass, k, r.Name, v, want.Run.Results[j].Values[k])
				}
			}
		}
	}
	if out := succeed(t, "compile --from mlp.ir --after trace --show passes"); !strings.Contains(out, "trace") || !strings.Contains(out, "dead-code") {
		t.Errorf("--after does not overrule the first line:\n%s", out)
	}
	if out := succeed(t, "explain --from mlp.ir --json"); !strings.Contains(out, `"source": "mlp.ir"`) {
		t.Errorf("explain --from: %.300s", out)
	}
	if text := succeed(t, "dump mlp.fs --after dead-code -o out.ir"); text != "" {
		t.Errorf("dump -o prints %q", text)
	}
	if out := succeed(t, "run --from out.ir"); !strings.Contains(out, "h = f32[4,6]") {
		t.Errorf("run of a tuple prints\n%s", out)
	}
}

func TestExplainStatus(t *testing.T) {
	inFolder(t, map[string]string{
		"mlp.fs":       mlpSource,
		"shapeless.fs": "def f(x): return x\n",
		"wrong.ir":     "graph f(%x: f32[2]) {\n  %y: f32[3] = relu %x\n  return %y\n}\n",
		"stage.ir":     "# after sorcery\ngraph f(%x: f32[2]) {\n  return %x\n}\n",
		"right.ir":     "graph f(%x: f32[2]) {\n  return %x\n}\n",
	})
	for line, want := range map[string]int{
		"explain mlp.fs":                              0,
		"explain":                                     exitUsage,
		"explain mlp.fs --threads 0":                  exitUsage,
		"explain mlp.fs other.fs":                     exitUsage,
		"explain mlp.fs --json --html":                exitUsage,
		"explain mlp.fs --shapes 2y3":                 exitUsage,
		"explain mlp.fs --entry g":                    exitUsage,
		"explain mlp.fs --after dead-code":            exitUsage,
		"explain mlp.fs --from right.ir":              exitUsage,
		"explain --from right.ir --shapes 2":          exitUsage,
		"explain --from right.ir --after sorcery":     exitUsage,
		"explain --from right.ir --after dead-code":   0,
		"explain absent.fs":                           exitFailure,
		"explain shapeless.fs":                        exitFailure,
		"explain mlp.fs --backend abacus":             exitUsage,
		"explain mlp.fs -o absent/mlp.txt":            exitFailure,
		"explain --from wrong.ir":                     exitFailure,
		"explain --from stage.ir":                     exitFailure,
		"explain --from absent.ir":                    exitFailure,
		"dump mlp.fs":                                 exitUsage,
		"dump --after dead-code":                      exitUsage,
		"dump mlp.fs --after sorcery":                 exitUsage,
		"dump absent.fs --after trace":                exitFailure,
		"compile --from wrong.ir":                     exitFailure,
		"compile":                                     exitUsage,
		"run --from right.ir --seed 1 --inputs x.npz": exitUsage,
		"run --from right.ir --inputs absent.npz":     exitFailure,
		"run --from right.ir":                         0,
		"run mlp.fs --after trace":                    exitUsage,
	} {
		if _, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d", line, got, want)
		}
	}
}
