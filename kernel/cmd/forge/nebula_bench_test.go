package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	measure "forgekernel/nebula/bench"
)

const benchFlags = "nebula bench --batch 1,2 --prompt-tokens 8 --new-tokens 3 --repeats 2 "

// What one command measures the other compares.
func TestNebulaBenchAndCompare(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.json"), filepath.Join(dir, "two.json")
	if got := runForge(t, benchFlags+"-o "+one+tinyModel); got.status != 0 || !strings.Contains(got.stdout, "as the single process has them") {
		t.Fatalf("%+v", got)
	}
	got := runForge(t, benchFlags+"--json --tp 2 -o "+two+tinyModel)
	if got.status != 0 {
		t.Fatalf("%+v", got)
	}
	printed, err := measure.Decode([]byte(got.stdout))
	if err != nil {
		t.Fatal(err)
	}
	written, err := measure.Read(two)
	if err != nil || written.ID != printed.ID || written.Topology.TP != 2 || written.Topology.Launcher != "nebula" || len(written.Ranks) != 2 {
		t.Errorf("%+v, %v", written, err)
	}
	out, status := command(t, "nebula", "compare", "--allow-dirty", "--json", one, two)
	var c measure.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil || status != 0 || len(c.Rows) != 4 || c.Rows[3].Ranks != 2 || c.Rows[3].Batch != 2 {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
	for flag, want := range map[string]string{"--markdown": "| 1 | TP 2, PP 1, 1 thread each", "--allow-dirty": "TP 2, PP 1, 1 thread each"} {
		if out, status := command(t, "nebula", "compare", "--allow-dirty", flag, one, two); status != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: status %d: %s", flag, status, out)
		}
	}
	raw, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(two, bytes.Replace(raw, []byte(`"tp": 2`), []byte(`"tp": 1`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{
		"--allow-dirty " + one + " " + two: exitFailure, "--allow-dirty " + one + " " + one: exitFailure, "--allow-dirty " + one: exitFailure,
		one + " /nowhere": exitFailure, "": exitUsage, "--json --markdown " + one: exitUsage,
	} {
		if out, status := command(t, append([]string{"nebula", "compare"}, strings.Fields(args)...)...); status != want || out != "" {
			t.Errorf("compare %s: status %d: %s", args, status, out)
		}
	}
}

// Flags that no measurement can have are the person's to change.
func TestNebulaBenchRefuses(t *testing.T) {
	for args, want := range map[string]int{
		"--batch 0" + tinyModel: exitUsage, "--batch 1,1" + tinyModel: exitUsage, "--prompt-tokens 500" + tinyModel: exitUsage, "--new-tokens 1" + tinyModel: exitUsage,
		"--prefix 9 --prompt-tokens 8" + tinyModel: exitUsage, "": exitUsage, "-o /nowhere/x.json" + tinyModel: exitFailure,
	} {
		if out, status := command(t, append([]string{"nebula", "bench"}, strings.Fields(args)...)...); status != want || out != "" {
			t.Errorf("bench %s: status %d: %s", args, status, out)
		}
	}
}

// Results that differ from those of a single process are not timed.
func TestNebulaBenchGate(t *testing.T) {
	t.Setenv(faultVariable, "reference")
	file := filepath.Join(t.TempDir(), "x.json")
	got := runForge(t, benchFlags+"--tp 2 -o "+file+tinyModel)
	if got.status != exitFailure || !strings.Contains(got.stderr, "forge: the gate was not passed, and nothing was timed: batch of 1: prompt 0") {
		t.Errorf("%+v", got)
	}
	c, err := measure.Read(file)
	if err != nil || c.Gate.Passed() || len(c.Batches) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
