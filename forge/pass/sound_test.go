package pass

import (
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestSoundness runs random programs before and after every prefix of the
// pipeline: results must have equal bits, for ordinary and adversarial data.
func TestSoundness(t *testing.T) {
	programs := 300
	if testing.Short() {
		programs = 30
	}
	for seed := range programs {
		checkSound(t, uint64(seed))
	}
}

func FuzzSoundness(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkSound(t, seed) })
}

func checkSound(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	g := randomProgram(t, rng)
	inputs := randomInputs(t, rng, g)
	r, err := Run(g, Options{})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, g)
	}
	want := results(t, g, inputs)
	for _, s := range r.Snapshots {
		for i, got := range results(t, s.Graph, inputs) {
			if !sameNumbers(got, want[i]) {
				t.Fatalf("seed %d: after %s output %d is\n%v\nnot\n%v\n%s\nbecame\n%s", seed, s.Pass, i, got, want[i], g, s.Graph)
			}
		}
	}
}

// sameNumbers is equality of bits, with all NaNs equal.
func sameNumbers(a, b *tensor.Tensor) bool {
	x, y := a.Float32(), b.Float32()
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) && (x[i] == x[i] || y[i] == y[i]) {
			return false
		}
	}
	return true
}

func results(t *testing.T, g *ir.Graph, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	exe, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	out, err := exe.Run(t.Context(), inputs...)
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	return out
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
		add(b.Input(string(rune('a'+i)), ir.F32(shapes[rng.IntN(len(shapes))]...)))
	}
	add(b.Scalar(tensor.F32, float64(rng.IntN(5))-2))
	ops := op.Registry.All()
	for range 3 + rng.IntN(25) {
		o := ops[rng.IntN(len(ops))]
		operands := make([]*ir.Value, len(o.Operands))
		for i := range operands {
			operands[i] = values[len(values)-1-rng.IntN(min(len(values), 6))]
		}
		switch {
		case o.Class == ir.Constant:
			add(b.Scalar(tensor.F32, float64(rng.IntN(3))))
		case !o.PassOnly:
			add(b.Apply(o.Name, randomAttrs(rng, o, operands[0]), operands...))
		}
	}
	outputs := []*ir.Value{values[len(values)-1]}
	for range rng.IntN(3) {
		outputs = append(outputs, values[rng.IntN(len(values))])
	}
	g, err := b.Finish(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func randomAttrs(rng *rand.Rand, o *ir.Op, x *ir.Value) ir.Attrs {
	attrs := ir.Attrs{}
	for _, d := range o.Attrs {
		switch {
		case d.Name == "shape":
			attrs["shape"] = []int{-1}
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

func randomInputs(t *testing.T, rng *rand.Rand, g *ir.Graph) []*tensor.Tensor {
	t.Helper()
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0x1p-149, math.MaxFloat32, 1, -1}
	var list []*tensor.Tensor
	for _, v := range g.Inputs {
		x, err := tensor.Rand(rng.Uint64(), v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Float32() {
			if rng.IntN(6) == 0 {
				x.Float32()[i] = special[rng.IntN(len(special))]
			}
		}
		list = append(list, x)
	}
	return list
}
