package pass

import (
	"math/rand/v2"
	"testing"

	"forgekernel/forge/audit/generate"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestSoundness runs random programs before and after every prefix of the
// pipeline, with a few passes disabled: results must have equal bits, for ordinary and adversarial data, as
// long as only exact rules were applied.
func TestSoundness(t *testing.T) {
	programs := 500
	if testing.Short() {
		programs = 50
	}
	ran := 0
	for seed := range programs {
		if checkSound(t, uint64(seed)) {
			ran++
		}
	}
	if ran < programs/2 {
		t.Errorf("only %d of %d programs ran to their end", ran, programs)
	}
}

func FuzzSoundness(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkSound(t, seed) })
}

// checkSound reports whether the program of a seed runs: an integer division by
// zero or an index beyond a table ends it.
func checkSound(t *testing.T, seed uint64) bool {
	t.Helper()
	program, err := generate.New(seed)
	if err != nil {
		t.Fatal(err)
	}
	g, inputs := program.Graph, program.Inputs
	rng := rand.New(rand.NewPCG(seed, 19))
	var opts Options
	for _, name := range Names() {
		if rng.IntN(12) == 0 {
			opts.Disable = append(opts.Disable, name)
		}
	}
	r, err := Run(g, opts)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, g)
	}
	want, err := tryRun(t, interp.New(), g, inputs)
	if err != nil {
		return false
	}
	inexact := make(map[string]bool)
	for _, d := range r.Rewrites {
		inexact[d.Pass] = inexact[d.Pass] || d.Action == Applied && !d.Exact
	}
	for _, s := range r.Snapshots {
		if inexact[s.Pass] {
			break
		}
		for i, got := range results(t, s.Graph, inputs) {
			for j := range want[i].Len() {
				if !sameElement(got, want[i], j) {
					t.Fatalf("seed %d: after %s element %d of output %d is %v, not %v\n%s\nbecame\n%s", seed, s.Pass, j, i, got.Elem(j), want[i].Elem(j), g, s.Graph)
				}
			}
		}
	}
	return true
}

// results runs a graph that cannot fail.
func results(t testing.TB, g *ir.Graph, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	return runOn(t, interp.New(), g, inputs)
}

func runOn(t testing.TB, b backend.Backend, g *ir.Graph, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	out, err := tryRun(t, b, g, inputs)
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	return out
}

func tryRun(t testing.TB, b backend.Backend, g *ir.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	t.Helper()
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	return exe.Run(t.Context(), inputs...)
}

// TestPartlyUsedResults keeps a node of several results as long as one of them
// is used, and shares it when it is computed twice.
func TestPartlyUsedResults(t *testing.T) {
	r, err := Run(parse(t, `graph f(%x: f32[6,2]) {
  %a: f32[2,2], %b: f32[4,2] = split %x {axis = 0, sizes = [2, 4]}
  %c: f32[2,2], %d: f32[4,2] = split %x {axis = -2, sizes = [2, 4]}
  %e: f32[3,2], %f: f32[3,2] = split %x {axis = 0, sizes = [3, 3]}
  %g: f32[4,2] = exp %d
  %h: f32[4,2] = mul %g, %b
  return %h
}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	splits := 0
	for _, n := range r.Graph.Nodes {
		if n.Op.Name == "split" {
			splits++
		}
	}
	if splits != 1 || len(r.Graph.Nodes) != 2 {
		t.Errorf("the program became\n%s", r.Graph)
	}
}
