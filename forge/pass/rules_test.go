package pass

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ruleCase is a program that a rule changes. Its dimensions may be the letters
// M, N and K, for which the test puts several numbers.
type ruleCase struct {
	rule    string
	program string
	// bound is how far a result of a rule that is not exact may be from the
	// float64 result beyond what the original program's is.
	bound func(g *ir.Graph, inputs []*tensor.Tensor) float64
}

// letters finds the dimensions of a case, and R, which stands for 1/N.
var letters = regexp.MustCompile(`\b[MNKR]\b`)

// sizes are the numbers for M, N and K: ordinary, of length 1, empty.
var sizes = []map[string]string{
	{"M": "3", "N": "4", "K": "5"},
	{"M": "2", "N": "1", "K": "3"},
	{"M": "1", "N": "5", "K": "1"},
	{"M": "2", "N": "150", "K": "70"}, // longer than the leaves of pairwise sums
	{"M": "1", "N": "1", "K": "1"},
	{"M": "0", "N": "3", "K": "2"},
	{"M": "2", "N": "0", "K": "3"},
	{"M": "2", "N": "3", "K": "0"},
}

// TestRules runs every case before and after the pass of its rule, on random
// and adversarial inputs of every size. An exact rule must keep all bits; one
// that is not must keep what is finite, infinite and NaN, and its bound.
func TestRules(t *testing.T) {
	covered := make(map[string]bool)
	for _, c := range ruleCases {
		covered[c.rule] = true
		t.Run(c.rule, func(t *testing.T) { checkRule(t, c) })
	}
	for _, p := range table {
		for _, rule := range p.Rules {
			if !covered[rule.Name] {
				t.Errorf("no case for rule %s of %s", rule.Name, p.Name)
			}
			if rule.Why == "" || strings.HasSuffix(rule.Why, ".") {
				t.Errorf("rule %s needs a reason without full stop", rule.Name)
			}
		}
	}
}

// ruleNamed returns a rule and its pass.
func ruleNamed(t *testing.T, name string) (*Rule, Pass) {
	t.Helper()
	for _, p := range table {
		for _, r := range p.Rules {
			if r.Name == name {
				return r, p
			}
		}
	}
	t.Fatalf("there is no rule %q", name)
	return nil, Pass{}
}

func checkRule(t *testing.T, c ruleCase) {
	rule, p := ruleNamed(t, c.rule)
	applied := false
	for _, size := range sizes {
		n, err := strconv.Atoi(size["N"])
		if err != nil {
			t.Fatal(err)
		}
		size["R"] = fmt.Sprintf("%e", 1/float32(max(1, n)))
		src := letters.ReplaceAllStringFunc(c.program, func(s string) string { return size[s] })
		before := parse(t, src)
		after := before.Clone()
		r := &report{pass: p.Name}
		if err := p.run(after, r); err != nil {
			t.Fatalf("%v\n%s", err, before)
		}
		if err := ir.Verify(after); err != nil {
			t.Fatalf("%v\n%s", err, after)
		}
		for _, d := range r.rewrites {
			applied = applied || d.Rule == c.rule && d.Action == Applied
		}
		seeds := uint64(40)
		if n > 100 {
			seeds = 6
		}
		for seed := range seeds {
			checkEquivalent(t, rule, c, seed, before, after)
		}
		if !letters.MatchString(c.program) {
			break
		}
	}
	if !applied {
		t.Errorf("the rule was not applied to\n%s", c.program)
	}
}

func checkEquivalent(t *testing.T, rule *Rule, c ruleCase, seed uint64, before, after *ir.Graph) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	inputs := adversarialInputs(t, rng, before)
	want, got := results(t, before, inputs), results(t, after, inputs)
	var exact []*tensor.Tensor
	bound := 0.0
	if !rule.Exact {
		exact = runOn(t, interp.Reference(), before, inputs)
		bound = c.bound(before, inputs)
	}
	for i := range want {
		for j := range want[i].Len() {
			var err string
			if rule.Exact && !sameElement(got[i], want[i], j) {
				err = "different bits"
			} else if !rule.Exact {
				err = outOfBound(got[i].Elem(j), want[i].Elem(j), exact[i].Elem(j), bound)
			}
			if err != "" {
				t.Fatalf("seed %d: element %d of output %d is %v, was %v: %s\n%s\nbecame\n%s\ninputs %v",
					seed, j, i, got[i].Elem(j), want[i].Elem(j), err, before, after, inputs)
			}
		}
	}
}

// outOfBound says what is wrong with a result of a rule that is not exact.
func outOfBound(got, was, exact, bound float64) string {
	finite := func(x float64) bool { return x-x == 0 }
	switch {
	case finite(was) != finite(got):
		return "one is finite, the other is not"
	case !finite(was) && math.IsNaN(was) != math.IsNaN(got):
		return "one is NaN, the other is not"
	case !finite(was):
		if !math.IsNaN(was) && was != got {
			return "the infinities differ"
		}
		return ""
	}
	if d, d0 := math.Abs(got-exact), math.Abs(was-exact); finite(exact) && d > d0+bound {
		return fmt.Sprintf("it is %g from the exact %v, where it was %g: more than %g further", d, exact, d0, bound)
	}
	return ""
}

// sameElement is equality of bits of one element, with all NaNs equal.
func sameElement(a, b *tensor.Tensor, i int) bool {
	x, y := a.Elem(i), b.Elem(i)
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// adversarialInputs mixes ordinary numbers of one of several magnitudes with
// NaN, infinities, zeros of both signs, denormals and the largest numbers.
func adversarialInputs(t testing.TB, rng *rand.Rand, g *ir.Graph) []*tensor.Tensor {
	t.Helper()
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0x1p-149, -0x1p-130, math.MaxFloat32, -math.MaxFloat32, 1, -1}
	magnitude := []float64{1, 1, 1e-20, 1e-38, 1e19, 1e30}[rng.IntN(6)]
	rate := []int{0, 12, 3}[rng.IntN(3)] // one special number in so many
	var list []*tensor.Tensor
	for _, v := range g.Inputs {
		x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			switch {
			case v.Spec.DType == tensor.Bool:
				setElem(x, i, float64(rng.IntN(2)))
			case !v.Spec.DType.IsFloat():
				setElem(x, i, float64(rng.IntN(7)-3))
			case rate > 0 && rng.IntN(rate) == 0:
				setElem(x, i, special[rng.IntN(len(special))])
			default:
				setElem(x, i, magnitude*rng.NormFloat64())
			}
		}
		list = append(list, x)
	}
	return list
}

// setElem sets the element with row-major number i.
func setElem(x *tensor.Tensor, i int, v float64) {
	index := make([]int, x.Rank())
	for d := x.Rank() - 1; d >= 0; d-- {
		index[d] = i % x.Dim(d)
		i /= x.Dim(d)
	}
	x.Set(v, index...)
}
