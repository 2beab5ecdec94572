package cpu_test

import (
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// onTargets runs a test for each kind of vectors that this machine has.
func onTargets(t *testing.T, f func(t *testing.T, b *cpu.Backend)) {
	for _, target := range cpu.Targets() {
		t.Run(target.Name, func(t *testing.T) {
			b := cpu.New()
			b.Target = target
			f(t, b)
		})
	}
}

func model(t testing.TB, name string) (*ir.Graph, []*tensor.Tensor) {
	t.Helper()
	g, in, err := suite.Optimised(name)
	if err != nil {
		t.Fatal(err)
	}
	return g, in
}

func compile(t testing.TB, b backend.Backend, g *ir.Graph) backend.Executable {
	t.Helper()
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func run(t testing.TB, exe backend.Executable, in []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	out, err := exe.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSuite compares every model, optimised, with the float64 reference; the
// error may be a few times that of the interpreter.
func TestSuite(t *testing.T) {
	for _, name := range suite.Names() {
		if testing.Short() && name == "gpt2_small_block" {
			continue // 600 million multiplications in the interpreter, twice
		}
		g, in := model(t, name)
		want := run(t, compile(t, interp.Reference(), g), in)
		slow := conformance.Worst(run(t, compile(t, interp.New(), g), in), want)
		onTargets(t, func(t *testing.T, b *cpu.Backend) {
			got := conformance.Worst(run(t, compile(t, b, g), in), want)
			if !(got <= 4*slow+1e-6) {
				t.Errorf("%s errs by %.3g, the interpreter by %.3g", name, got, slow)
			}
		})
	}
}
