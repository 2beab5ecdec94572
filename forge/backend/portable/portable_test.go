package portable_test

import (
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/ir"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// onSets runs a test for each set of functions that this machine has.
func onSets(t *testing.T, f func(t *testing.T, b *portable.Backend)) {
	for _, s := range vector.Sets() {
		t.Run(s.Name, func(t *testing.T) {
			b := portable.New()
			b.Set = s
			f(t, b)
		})
	}
}

func TestConformance(t *testing.T) {
	onSets(t, func(t *testing.T, b *portable.Backend) {
		if testing.Short() { // as the race detector runs it, to which assembly shows nothing
			conformance.RunContract(t, b)
		} else {
			conformance.Run(t, b)
		}
	})
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
		onSets(t, func(t *testing.T, b *portable.Backend) {
			if got := conformance.Worst(run(t, compile(t, b, g), in), want); !(got <= 4*slow+1e-6) {
				t.Errorf("%s errs by %.3g, the interpreter by %.3g", name, got, slow)
			}
		})
	}
}
