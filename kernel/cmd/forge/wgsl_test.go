package main

import (
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
)

// wideGraph is a graph that WGSL has no type for.
const wideGraph = "graph wide(%x: f64[3]) {\n  %y: f64[3] = exp %x\n  return %y\n}\n"

// TestWGSL prints the plan of a program as tables, as sources and as JSON, and runs it in
// simulation.
func TestWGSL(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource, "wide.ir": wideGraph})
	out := succeed(t, "wgsl mlp.fs")
	for _, want := range []string{
		"mlp: dispatches: 3 of 3 modules; ", "it is not worth a GPU: a run is estimated to take", "it needs no features",
		"an invocation for each of 24 elements", "maxComputeInvocationsPerWorkgroup", "slot0_f32", "sum, WGSL",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, " 0s") || strings.Contains(out, "1 workgroups") {
		t.Errorf("a time of nothing, or one of many:\n%s", out)
	}
	if out := succeed(t, "run mlp.fs --backend gpu --emit-source"); !strings.Contains(out, "@compute @workgroup_size(") || !strings.Contains(out, "f32[") {
		t.Errorf("the code and the results are\n%s", out)
	}
	if out := succeed(t, "wgsl mlp.fs --sources"); !strings.Contains(out, "@compute @workgroup_size(") {
		t.Errorf("the sources are\n%s", out)
	}
	p, err := wgsl.ReadPlan([]byte(succeed(t, "wgsl mlp.fs --json")))
	if err != nil || len(p.Dispatches) != 3 {
		t.Errorf("the JSON is no plan: %v", err)
	}
	for flags, want := range map[string]string{
		"--from wide.ir":          "%y = exp: %y is f64: WGSL has no f64",
		"mlp.fs --sources --json": "give one",
	} {
		cmd := root()
		cmd.SetArgs(append([]string{"wgsl"}, strings.Fields(flags)...))
		if _, err := cmd.ExecuteContextC(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", flags, err, want)
		}
	}
	on, off := succeed(t, "run mlp.fs --backend gpu --seed 3"), succeed(t, "run mlp.fs --backend interp --seed 3")
	if on != off {
		t.Errorf("simulation prints\n%s\nthe interpreter\n%s", on, off)
	}
}
