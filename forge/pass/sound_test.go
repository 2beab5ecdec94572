package pass

import (
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
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
// zero or an index beyond a table ends it, and a cache has one owner.
func checkSound(t *testing.T, seed uint64) bool {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	g := randomProgram(t, rng)
	if g == nil {
		return false
	}
	inputs := adversarialInputs(t, rng, g)
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

// randomProgram applies operators to values that fit, from a few related
// shapes so that many pairs broadcast. Steps that do not type-check are left
// out.
func randomProgram(t *testing.T, rng *rand.Rand) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, "random")
	shapes := [][]int{{3, 4}, {4}, {3, 1}, {}, {1}, {2, 3, 4}, {4, 4}, {0, 4}}
	var values []*ir.Value
	add := func(v *ir.Value, err error) {
		if err == nil {
			values = append(values, v)
		}
	}
	for i := range 1 + rng.IntN(4) {
		dtype := []tensor.DType{tensor.F32, tensor.F32, tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32, tensor.Bool}[rng.IntN(9)]
		add(b.Input(string(rune('a'+i)), ir.Spec{DType: dtype, Shape: shapes[rng.IntN(len(shapes))]}))
	}
	add(b.Scalar(tensor.F32, float64(rng.IntN(5))-2))
	ops := op.Registry.All()
	for range 3 + rng.IntN(25) {
		if rng.IntN(4) == 0 {
			idiom := idioms[rng.IntN(len(idioms))]
			v := values[len(values)-1-rng.IntN(min(len(values), 6))]
			values = append(values, idiom(&steps{b, rng}, v)...)
			continue
		}
		o := ops[rng.IntN(len(ops))]
		operands := make([]*ir.Value, len(o.Operands)-rng.IntN(1+o.Optional))
		for i := range operands {
			operands[i] = values[len(values)-1-rng.IntN(min(len(values), 6))]
		}
		switch {
		case o.Class == ir.Constant:
			numbers := []float64{0, math.Copysign(0, -1), 1, -1, 2, 0.5, 3}
			add(b.Scalar(values[rng.IntN(len(values))].Spec.DType, numbers[rng.IntN(len(numbers))]))
		case len(operands) > 0 && !o.PassOnly && !o.Effect:
			results, err := b.ApplyN(o.Name, randomAttrs(rng, o, operands[0]), operands...)
			if err == nil { // of several results some stay unused
				add(results[rng.IntN(len(results))], nil)
				add(results[rng.IntN(len(results))], nil)
			}
		}
	}
	outputs := []*ir.Value{values[len(values)-1]}
	for range rng.IntN(3) {
		outputs = append(outputs, values[rng.IntN(len(values))])
	}
	g, err := b.Finish(outputs...)
	if err != nil { // it reads a cache that a node has taken over
		return nil
	}
	return g
}

func randomAttrs(rng *rand.Rand, o *ir.Op, x *ir.Value) ir.Attrs {
	attrs := ir.Attrs{}
	for _, d := range o.Attrs {
		switch {
		case d.Name == "shape":
			attrs["shape"] = [][]int{{-1}, {3, 4}, {2, 3, 4}, {4, 3}, {1, -1}}[rng.IntN(5)]
		case d.Name == "length":
			attrs["length"] = rng.IntN(4)
		case d.Name == "start":
			attrs["start"] = rng.IntN(3)
		case d.Name == "sizes":
			a, d := rng.IntN(3), x.Spec.Elements()
			if axis, ok := attrs["axis"].(int); ok && axis < x.Spec.Rank() {
				d = x.Spec.Shape[axis]
			}
			attrs["sizes"] = []int{a, d - a, 0}
		case d.Name == "low" || d.Name == "high":
			attrs[d.Name] = make([]int, x.Spec.Rank())
			for i := range x.Spec.Rank() {
				attrs[d.Name].([]int)[i] = rng.IntN(2)
			}
		case d.Required && d.Kind == ir.IntAttr:
			attrs[d.Name] = rng.IntN(max(1, x.Spec.Rank()))
		case d.Required && d.OneOf != nil:
			attrs[d.Name] = d.OneOf[rng.IntN(len(d.OneOf))]
		case rng.IntN(2) == 0:
		case d.Kind == ir.BoolAttr:
			attrs[d.Name] = rng.IntN(2) == 0
		case d.Name == "axes":
			attrs["axes"] = []int{rng.IntN(max(1, x.Spec.Rank()))}
		case d.Kind == ir.IntAttr:
			attrs[d.Name] = rng.IntN(max(1, x.Spec.Rank()))
		case d.OneOf != nil:
			attrs[d.Name] = d.OneOf[rng.IntN(len(d.OneOf))]
		case d.Name == "perm":
			attrs["perm"] = rng.Perm(x.Spec.Rank())
		}
	}
	return attrs
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
