package cuda

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cuda/tuning"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
)

func parsed(t testing.TB, text string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestReference sees that some rows of a large product are those of all of it, through
// views, with an epilogue, and in a stack.
func TestReference(t *testing.T) {
	for _, text := range []string{
		`graph p(%x: f32[60,110], %w: f32[90,110], %b: f32[90], %r: f32[60,90]) {
  %t: f32[110,90] = transpose %w
  %y: f32[60,90] = linear %x, %t, %b, %r {act = "relu"}
  return %y
}`,
		`graph p(%x: f16[6,70,60], %w: f16[6,60,70]) {
  %y: f16[6,70,70] = matmul %x, %w
  return %y
}`,
		`graph p(%x: f32[90,90]) {
  %y: f32[90,90] = matmul %x, %x
  return %y
}`,
	} {
		g := parsed(t, text)
		in, err := suite.Inputs(g, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, err := newReference(t.Context(), g, in, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if r.rows == nil {
			t.Errorf("all of it is computed:\n%s", text)
		}
		got, err := evaluate(t.Context(), interp.New(), g, in)
		if err != nil {
			t.Fatal(err)
		}
		gate, err := r.check(got)
		if err != nil || !gate.Passed() {
			t.Errorf("the interpreter does not pass, %+v, %v:\n%s", gate, err, text)
		}
		got[0].SetElem(got[0].Len()-1, 1e4) // the last row is one of those that are compared
		if gate, err := r.check(got); err != nil || gate.Passed() {
			t.Errorf("a wrong element passes, %+v, %v:\n%s", gate, err, text)
		}
	}
	g := parsed(t, "graph s(%x: f32[30000,40000]) {\n %y: f32[30000,40000] = exp %x\n return %y\n}")
	if _, err := newReference(t.Context(), g, nil, referenceFLOPs); err == nil || !strings.Contains(err.Error(), "too many for the host") {
		t.Errorf("a large node that is no product: %v", err)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		all, count int
		want       []int
	}{{10, 4, []int{0, 3, 6, 9}}, {3, 8, []int{0, 1, 2}}, {5, 1, []int{0}}, {1, 4, []int{0}}} {
		if got := spread(c.all, c.count); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d rows are %v, want %v", c.count, c.all, got, c.want)
		}
	}
}

// TestPicks sees that a record's picks are taken by shape and name, and that a reason is
// told for those that are not there any more.
func TestPicks(t *testing.T) {
	g := parsed(t, `graph two(%x: f32[64,100]) {
  %0: f32[64,100] = tanh %x
  %1: f32[64,100] = exp %0
  return %1
}`)
	p, err := planned.New(g, DefaultMaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	list, of := shapes(p)
	if want := []string{"tanh f32[64,100] f32[64,100]", "exp f32[64,100] f32[64,100]"}; !slices.Equal(list, want) {
		t.Fatalf("the shapes are %v, want %v", list, want)
	}
	timed := func(name string, seconds float64) tuning.Candidate {
		return tuning.Candidate{Name: name, Samples: []float64{seconds}}
	}
	r := &tuning.Record{Nodes: []tuning.Node{
		{Shape: list[0], Candidates: []tuning.Candidate{timed("a", 2e-6), timed("b", 1e-6)}},
		{Shape: list[1], Candidates: []tuning.Candidate{timed("gone", 1e-6), timed("a", 2e-6)}},
	}}
	choose := (&Backend{}).picks(&unit{}, r, of)
	here := []Candidate{{Name: "a"}, {Name: "b"}}
	for i, want := range []struct {
		pick int
		why  string
	}{{1, "tuned: 1 µs of 2 candidates"}, {0, "not gone, which was measured best and is no longer a candidate"}} {
		if pick, why := choose(p.Graph.Nodes[i], here); pick != want.pick || !strings.HasPrefix(why, want.why) {
			t.Errorf("node %d: %d, %q, want %v", i, pick, why, want)
		}
	}
}

// TestTune measures models of the suite and compiles them by the record.
func TestTune(t *testing.T) {
	b := device(t)
	settings := tuning.DefaultSettings()
	if testing.Short() {
		settings.Rounds = 3
	}
	for _, name := range []string{"mlp_64_256_512", "transformer_block_4x24x128"} {
		t.Run(name, func(t *testing.T) { tune(t, b, optimised(t, name), settings) })
	}
}

// TestTuneProducts measures large products twice: how far the first pick is from the
// best of the second time is in the log.
func TestTuneProducts(t *testing.T) {
	b := device(t)
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	for _, s := range []struct {
		dtype   string
		m, n, k int
	}{{"bf16", 4096, 4096, 4096}, {"f32", 4096, 4096, 4096}, {"bf16", 1, 14336, 4096}, {"f16", 64, 4096, 4096}, {"f32", 64, 4096, 4096}} {
		t.Run(fmt.Sprintf("%s_%d_%d_%d", s.dtype, s.m, s.n, s.k), func(t *testing.T) {
			g := parsed(t, fmt.Sprintf("graph p(%%a: %[1]s[%[2]d,%[4]d], %%b: %[1]s[%[4]d,%[3]d]) {\n %%c: %[1]s[%[2]d,%[3]d] = matmul %%a, %%b\n return %%c\n}", s.dtype, s.m, s.n, s.k))
			var records [2]*tuning.Record
			for i := range records {
				r, err := b.Tune(t.Context(), g, tuning.DefaultSettings(), suite.Inputs)
				if err != nil {
					t.Fatal(err)
				}
				records[i] = r
			}
			t.Log("\n" + records[0].Text())
			n := &records[1].Nodes[0]
			pick, best := n.Candidates[records[0].Nodes[0].Pick()].Median(), 0.0
			for i := range n.Candidates {
				if m := n.Candidates[i].Median(); m > 0 && (best == 0 || m < best) {
					best = m
				}
			}
			t.Logf("the pick takes %.1f %% longer than the best when measured again", 100*(pick/best-1))
			if pick == 0 {
				t.Error("the pick was not timed again")
			}
		})
	}
}

func optimised(t testing.TB, name string) *ir.Graph {
	t.Helper()
	g, err := suite.Build(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pass.Run(g, pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Graph
}

func tune(t *testing.T, b *Backend, g *ir.Graph, s tuning.Settings) {
	r, err := b.Tune(t.Context(), g, s, suite.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Text())
	if _, err := tuning.Encode(r); err != nil {
		t.Error(err)
	}
	tuned := *b
	tuned.Choose = func(m tuning.Machine, shapes []string) *tuning.Record {
		if m.Key(shapes) != r.Key {
			t.Errorf("the program is %s, and %s was tuned", m.Key(shapes), r.Key)
		}
		return r
	}
	exe, err := tuned.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(exe.Kernels())
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Note == "" && !strings.Contains(said, n.Reason()) {
			t.Errorf("the plan does not say %q: %s", n.Reason(), said)
		}
	}
	in, err := suite.Inputs(g, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := exe.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := evaluate(t.Context(), interp.Reference(), g, in)
	if err != nil {
		t.Fatal(err)
	}
	if e := conformance.Worst(got, want); e > 1e-4 {
		t.Errorf("the tuned program errs by %.3g", e)
	}
}
