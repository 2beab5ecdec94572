package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/tune"
)

func TestTuneCommand(t *testing.T) {
	inFolder(t, map[string]string{"product.fs": "def f(x: f32[5, 9], w: f32[9, 11]): return x @ w\n"})
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	for line, want := range map[string]int{
		"tune":                                            exitUsage,
		"tune product.fs --suite mlp":                     exitUsage,
		"tune --suite nothing":                            exitUsage,
		"tune product.fs --backend interp":                exitUsage,
		"tune product.fs --backend cuda --assert 5":       exitUsage,
		"tune product.fs --backend cuda:0 --figure s.png": exitUsage,
		"tune --suite mlp --shapes 2x2":                   exitUsage,
		"tune --suite mlp --dim batch=2":                  exitUsage,
		"tune product.fs --assert -1":                     exitUsage,
		"tune product.fs --budget 0s":                     exitUsage,
		"tune product.fs --figure samples.gif":            exitUsage,
		"tune absent.fs":                                  exitFailure,
		"tune product.fs --shapes 5x9,8x11":               exitFailure,
		"tune product.fs more.fs":                         exitUsage,
		"tune product.fs --assert 5 --nonsense":           exitUsage,
		"tune product.fs --assert NaN":                    exitUsage,
		"tune product.fs --entry g --budget 1s":           exitUsage,
	} {
		if out, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d\n%s", line, got, want, out)
		}
	}
	// Whatever this machine is busy with, no pick is a thousand times off.
	out, status := command(t, "tune", "product.fs", "--budget", "1ms", "--assert", "100000", "--json", "--figure", "samples.png")
	if status != 0 {
		t.Fatalf("exit status %d\n%s", status, out)
	}
	var list []struct {
		Program string
		Record  struct {
			Key     string
			Kernels []struct {
				Candidates []struct{ Schedule, Verdict string }
			}
		}
		Retrial struct {
			Kernels []struct{ Chosen, Best string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Program != "f" || !strings.HasPrefix(list[0].Record.Key, "cpu-") || len(list[0].Record.Kernels[0].Candidates) < 3 || list[0].Retrial.Kernels[0].Best == "" {
		t.Errorf("got %+v", list)
	}
	if picture, err := os.ReadFile("samples.png"); err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("the figure is %.8q, %v", picture, err)
	}
	if out := succeed(t, "explain product.fs --backend cpu"); !strings.Contains(out, "\nTuning  ") {
		t.Errorf("the explanation has no tuning:\n%s", out)
	}
}

// TestTuneJudge fails what is farther off than asserted.
func TestTuneJudge(t *testing.T) {
	list := []tuned{{Program: "f"}, {Program: "g", Retrial: &tune.Retrial{Kernels: []tune.RetrialKernel{
		{Shape: "near", ChosenTimes: []float64{1.04, 2}, BestTimes: []float64{3, 1}},
		{Shape: "far", Chosen: cpu.Schedule{Keys: 4}, Best: cpu.Schedule{Keys: 8}, ChosenTimes: []float64{1.5}, BestTimes: []float64{1}},
	}}}}
	for within, want := range map[float64]string{
		3:  "g: near takes 4.0 % longer with default than with default; --assert allows 3 %\ng: far takes 50.0 % longer with keys=4 than with keys=8; --assert allows 3 %",
		5:  "g: far takes 50.0 % longer with keys=4 than with keys=8; --assert allows 5 %",
		60: "",
	} {
		got := ""
		if err := (&tuning{within: within}).judge(list); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("--assert %v: %q, not %q", within, got, want)
		}
	}
}
