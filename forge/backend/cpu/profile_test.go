package cpu_test

import (
	"strings"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/suite"
)

// TestProfile demands a time of every kernel of a model, in order, and the
// operations of all of them.
func TestProfile(t *testing.T) {
	g, in := model(t, "vision_text_fusion_4x32_16")
	b := cpu.New()
	list, err := b.Profile(t.Context(), g, 2, in...)
	if err != nil {
		t.Fatal(err)
	}
	steps, _, err := b.Steps(g)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(steps) {
		t.Fatalf("%d kernels were timed, the program has %d", len(list), len(steps))
	}
	var flops int64
	for i, s := range list {
		if s.Time <= 0 || s.Value != steps[i].Value || s.Shape != steps[i].Shape {
			t.Errorf("kernel %d is %+v, in the program %s of shape %s", i, s, steps[i].Value, steps[i].Shape)
		}
		flops += s.FLOPs
	}
	if want := g.Cost().FLOPs; flops != want {
		t.Errorf("the kernels count %d operations, the graph %d", flops, want)
	}
	wrong, err := suite.Inputs(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Profile(t.Context(), g, 1, wrong[1:]...); err == nil || !strings.Contains(err.Error(), "inputs") {
		t.Errorf("an input too few gives %v", err)
	}
}
