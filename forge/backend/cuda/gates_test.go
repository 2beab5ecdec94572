package cuda

import (
	"strconv"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// TestGates sees which products multiply by a gate as well.
func TestGates(t *testing.T) {
	head := "graph f(%x: f32[8,64], %a: f32[64,32], %b: f32[64,32]) {\n"
	gate := head + " %g: f32[8,32] = linear %x, %a {act = \"silu\"}\n %u: f32[8,32] = linear %x, %b\n"
	for name, c := range map[string]struct {
		source string
		gates  int
	}{
		"gated":         {gate + " %m: f32[8,32] = mul %g, %u\n %y: f32[8,32] = exp %m\n return %y\n}", 1},
		"turned around": {gate + " %m: f32[8,32] = mul %u, %g\n %y: f32[8,32] = exp %m\n return %y\n}", 1},
		"two readers":   {gate + " %m: f32[8,32] = mul %g, %u\n %s: f32[8,32] = add %u, %g\n %y: f32[8,32] = sub %m, %s\n return %y\n}", 0},
		"a square":      {head + " %u: f32[8,32] = linear %x, %b\n %m: f32[8,32] = mul %u, %u\n %y: f32[8,32] = exp %m\n return %y\n}", 0},
		"a result":      {gate + " %m: f32[8,32] = mul %g, %u\n return %m\n}", 0},
	} {
		g, err := ir.Parse(op.Registry, c.source)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := newProgram(newUnit(targetFor(t, "sm_90")), g, DefaultMaxBytes, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		muls := 0
		for _, s := range p.steps {
			if strings.HasPrefix(s.name, "mul_") {
				muls++
			}
		}
		if len(p.gates) != c.gates || c.gates > 0 && muls > 0 {
			t.Errorf("%s: %d products have gates, and %d kernels multiply, want %d", name, len(p.gates), muls, c.gates)
		}
	}
}

// TestGatedRuns compares gated products on a device with the reference, for few rows and
// for many.
func TestGatedRuns(t *testing.T) {
	b := device(t)
	for _, rows := range []int{1, 3, 64, 200} {
		g, err := ir.Parse(op.Registry, strings.ReplaceAll(`graph f(%x: f32[R,256], %a: f32[256,320], %b: f32[256,320]) {
  %g: f32[R,320] = linear %x, %a {act = "silu"}
  %u: f32[R,320] = linear %x, %b
  %m: f32[R,320] = mul %g, %u
  %y: f32[R,320] = neg %m
  return %y
}`, "R", strconv.Itoa(rows)))
		if err != nil {
			t.Fatal(err)
		}
		in, err := suite.Inputs(g, 1)
		if err != nil {
			t.Fatal(err)
		}
		var out [3][]*tensor.Tensor
		for i, on := range []backend.Backend{b, interp.Reference(), interp.New()} {
			exe, err := on.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if out[i], err = exe.Run(t.Context(), in...); err != nil {
				t.Fatal(err)
			}
		}
		if got, plain := conformance.Worst(out[0], out[1]), conformance.Worst(out[2], out[1]); !(got <= 4*plain+1e-6) {
			t.Errorf("%d rows err by %.3g, the interpreter by %.3g", rows, got, plain)
		}
	}
}
