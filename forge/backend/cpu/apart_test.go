package cpu_test

import (
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// TestCopiedInput sees that the copy of an input to a result is listed and no step to tune.
func TestCopiedInput(t *testing.T) {
	g, err := ir.Parse(op.Registry, "graph g(%x: f32[3]) {\n  %y: f32[3] = exp %x\n  return %x, %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	steps, _, err := cpu.New().Steps(g)
	if err != nil || len(steps) != 1 || steps[0].Value != "%y" {
		t.Errorf("the steps are %v, %v; want that of %%y", steps, err)
	}
	l, err := cpu.New().List(g, -1)
	if err != nil || len(l.Kernels) != 2 || l.Kernels[1].Value != "" || l.Kernels[1].Doc != "the copy of an input to a result" {
		t.Errorf("the listing is %+v, %v", l, err)
	}
}

// TestApart demands that an observer is told of every kernel of a model, in order, with a
// time, and that their nodes are all of the work.
func TestApart(t *testing.T) {
	g, in := model(t, "vision_text_fusion_4x32_16")
	b := cpu.New()
	b.Apart = true
	steps, _, err := b.Steps(g)
	if err != nil {
		t.Fatal(err)
	}
	exe := compile(t, b, g)
	told, flops, counted := 0, int64(0), make(map[*ir.Node]bool)
	ctx := backend.WithObserver(t.Context(), func(n *ir.Node, start, end time.Time) {
		value := n.Out[0].String()
		if told >= len(steps) || value != steps[told].Value || !end.After(start) {
			t.Errorf("kernel %d is of %s and took %v; the program has %d", told, value, end.Sub(start), len(steps))
		}
		told++
		if !counted[n] {
			counted[n] = true
			flops += n.Cost().FLOPs
		}
	})
	if _, err := exe.Run(ctx, in...); err != nil {
		t.Fatal(err)
	}
	if want := g.Cost().FLOPs; told != len(steps) || flops != want {
		t.Errorf("%d kernels of %d were told, with %d operations of %d", told, len(steps), flops, want)
	}
}
