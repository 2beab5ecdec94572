package pass

import (
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// What is known of magnitudes holds for every value of the programs of all rule cases, on
// adversarial inputs: no number is larger, and where no NaN is expected there is none.
func TestMagnitudesHold(t *testing.T) {
	numbers, limited := 0, 0
	for _, c := range ruleCases {
		src := letters.ReplaceAllStringFunc(c.program, func(s string) string {
			return map[string]string{"M": "3", "N": "4", "K": "5", "R": "0.25"}[s]
		})
		g := parse(t, src)
		known := make(magnitudes)
		g.Outputs = nil
		for _, n := range g.Nodes {
			for _, v := range n.Out {
				if v.Spec.DType == tensor.F32 && v.Spec.Elements() > 0 {
					g.Outputs = append(g.Outputs, v)
				}
			}
		}
		if len(g.Outputs) == 0 {
			continue
		}
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, 11))
			for i, x := range results(t, g, adversarialInputs(t, rng, g)) {
				v := g.Outputs[i]
				m := known.of(v)
				if m.isNumbers() {
					numbers++
				} else if !math.IsInf(m.limit, 0) {
					limited++
				}
				checkMagnitude(t, c.rule, v, m, x)
			}
		}
	}
	if numbers < 100 || limited < 100 {
		t.Errorf("only %d values of numbers and %d with limits were looked at", numbers, limited)
	}
}

func checkMagnitude(t *testing.T, rule string, v *ir.Value, m magnitude, x *tensor.Tensor) {
	t.Helper()
	for k := range x.Len() {
		e := x.Elem(k)
		if e != e && !m.nan {
			t.Fatalf("%s: %v = %s has NaN, which was ruled out", rule, v, v.Def.Op.Name)
		}
		if math.Abs(e) > m.limit {
			t.Fatalf("%s: %v = %s has %v, beyond %v", rule, v, v.Def.Op.Name, e, m.limit)
		}
	}
}

func TestMagnitudes(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]magnitude{
		"%y: f32[4] = neg %x": {inf, true},
		"%c: f32[2] = const {value = f32[2] 3.0 -5.0}\n %i: f32[1] = gather %c, %k\n %y: f32[1] = abs %i": {5, false},
		"%c: f32[2] = const {value = f32[2] 3.0 nan}\n %y: f32[2] = neg %c":                               {inf, true},
		"%c: f32[1] = const {value = f32[1] -inf}\n %y: f32[1] = gelu %c":                                 {inf, true},
		"%y: f32[4] = rms_norm %x":             {4, true},
		"%y: f32[4] = rms_norm %x {eps = 0.0}": {inf, true},
		"%c: f32[4] = const {value = f32[4] 1.0 2.0 3.0 4.0}\n %y: f32[4] = layer_norm %c":                                   {4, false},
		"%c: f32[1] = const {value = f32[1] 3e38}\n %y: f32[1] = add %c, %c":                                                 {inf, false},
		"%c: f32[1] = const {value = f32[1] 3e38}\n %d: f32[1] = add %c, %c\n %e: f32[1] = sub %d, %d\n %y: f32[1] = neg %e": {inf, true},
		"%c: f32[4] = const {value = f32[4] 1.0 2.0 3.0 4.0}\n %y: f32[4] = softmax %c":                                      {2, false},
		"%t: f32[4] = tanh %x\n %y: f32[4] = mul %t, %t":                                                                     {8, true},
		"%y: f32[4] = exp %x": {inf, true},
	} {
		g := parse(t, "graph f(%x: f32[4], %k: i64[1]) {\n "+text+"\n return %y\n}")
		if got := (magnitudes{}).of(g.Outputs[0]); got != want {
			t.Errorf("%s\ngives %v, want %v", text, got, want)
		}
	}
}
