package cpu_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestCancelledRun ends a run within its only kernel, whose 17 billion operations
// take longer than the context lives on any core, and runs the program again.
func TestCancelledRun(t *testing.T) {
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[8,1024,1024], %w: f32[1024,1024]) {\n %y: f32[8,1024,1024] = matmul %x, %w\n return %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		x, err := tensor.Full(tensor.F32, 1, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, x)
	}
	b := cpu.New()
	b.Threads = 1 // all cores of a large machine would be done too soon
	exe := compile(t, b, g)
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, late)
	defer cancel()
	if _, err := exe.Run(ctx, in...); !errors.Is(err, late) {
		t.Errorf("got error %v, not the cause", err)
	}
	if y := run(t, exe, in)[0]; y.Elem(8<<20-1) != 1024 {
		t.Errorf("the next run gives %v", y.Elem(8<<20-1))
	}
}
