package sample

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// reference is the filters as their definitions say, one after another on a sorted
// list: the ids that are kept, in order, and their probabilities.
func reference(p Params, logits []float32, occurred []int32) ([]int32, []float64) {
	scores := make([]float64, len(logits))
	for i, v := range logits {
		scores[i] = float64(v)
		if r := p.RepetitionPenalty; r != 0 && slices.Contains(occurred, int32(i)) {
			if v > 0 {
				scores[i] = float64(float32(float64(v) / r))
			} else {
				scores[i] = float64(float32(float64(v) * r))
			}
		}
	}
	ids := make([]int32, len(scores))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	probs := func() []float64 {
		out, sum := make([]float64, len(ids)), 0.0
		for i, id := range ids {
			out[i] = math.Exp((scores[id] - scores[ids[0]]) / p.Temperature)
			sum += out[i]
		}
		for i := range out {
			out[i] /= sum
		}
		return out
	}
	if p.TopK > 0 && p.TopK < len(ids) {
		ids = ids[:p.TopK]
	}
	if p.TopP > 0 && p.TopP < 1 {
		sum := 0.0
		for i, q := range probs() {
			if sum += q; sum >= p.TopP {
				ids = ids[:i+1]
				break
			}
		}
	}
	if p.MinP > 0 {
		q := probs()
		ids = ids[:len(q)-len(slices.DeleteFunc(slices.Clone(q), func(x float64) bool { return x >= p.MinP*q[0] }))]
	}
	all := make(map[int32]float64)
	for i, q := range probs() {
		all[ids[i]] = q
	}
	slices.Sort(ids)
	out := make([]float64, len(ids))
	for i, id := range ids {
		out[i] = all[id]
	}
	return ids, out
}

func randomLogits(rng *rand.Rand, n int, spread float64, ties bool) []float32 {
	logits := make([]float32, n)
	for i := range logits {
		v := rng.NormFloat64() * spread
		if ties {
			v = math.Round(v)
		}
		logits[i] = float32(v)
	}
	return logits
}

// What is kept, and with which probability, is what the definitions say: for random
// parameters, flat and steep distributions, with ties and without.
func TestAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 600 {
		n := 1 + rng.IntN(400)
		if round%20 == 0 {
			n = 5000
		}
		ties := round%3 == 0
		logits := randomLogits(rng, n, []float64{0.1, 1, 4, 12}[rng.IntN(4)], ties)
		p := Params{Temperature: []float64{0.2, 0.7, 1, 1.9}[rng.IntN(4)], Seed: uint64(round)}
		if rng.IntN(2) == 0 {
			p.TopK = 1 + rng.IntN(n+3)/(1+rng.IntN(40))
		}
		if rng.IntN(2) == 0 && !ties { // the border between equal tokens depends on rounding
			p.TopP = rng.Float64()
		}
		if rng.IntN(3) == 0 {
			p.MinP = rng.Float64() * 0.3
		}
		var prompt []int32
		if rng.IntN(3) == 0 {
			p.RepetitionPenalty = 0.5 + rng.Float64()
			for range 10 {
				prompt = append(prompt, int32(rng.IntN(n)))
			}
		}
		s, err := New(p, n, prompt)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs, wantProbs := reference(p, logits, prompt)
		scores := s.penalised(logits)
		best, _, err := leading(scores)
		if err != nil {
			t.Fatal(err)
		}
		pool, sum := s.candidates(scores, scores[best]), 0.0
		ids := make([]int32, len(pool))
		for i, e := range pool {
			ids[i], sum = e.id, sum+e.weight
		}
		if !slices.Equal(ids, wantIDs) {
			t.Fatalf("round %d, %+v of %d: %d tokens are kept, not %d", round, p, n, len(ids), len(wantIDs))
		}
		for i, e := range pool {
			if math.Abs(e.weight/sum-wantProbs[i]) > 1e-12 {
				t.Fatalf("round %d: token %d has the probability %v, not %v", round, e.id, e.weight/sum, wantProbs[i])
			}
		}
		c, err := s.Next(logits)
		if err != nil {
			t.Fatal(err)
		}
		u, at := uniform(p.Seed, 0), 0
		for sum := wantProbs[0]; sum <= u && at < len(wantIDs)-1; sum += wantProbs[at] {
			at++
		}
		if c.Token != wantIDs[at] {
			t.Fatalf("round %d: token %d is drawn at %v, not %d", round, c.Token, u, wantIDs[at])
		}
	}
}

func next(t testing.TB, s *Sampler, logits []float32) Choice {
	t.Helper()
	c, err := s.Next(logits)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sampler(t testing.TB, p Params, vocab int, prompt ...int32) *Sampler {
	t.Helper()
	s, err := New(p, vocab, prompt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGreedy(t *testing.T) {
	s := sampler(t, Params{TopK: 1, TopP: 0.1, StopTokens: []int32{2}}, 5)
	for _, c := range []struct {
		logits []float32
		token  int32
		margin float64
		stop   bool
	}{
		{[]float32{0, 1, 0.5, -2, 0}, 1, 0.5, false},
		{[]float32{0, 1, 3, 3, 3}, 2, 0, true}, // equal: the lowest id
		{[]float32{-5, -4, -9, -9, -9}, 1, 1, false},
		{[]float32{4, 3, 2, 1, 0}, 0, 1, false},
		{[]float32{0, 1, 2, 3, 4}, 4, 1, false},
	} {
		if got := next(t, s, c.logits); got.Token != c.token || got.Margin != c.margin || got.Stop != c.stop || got.Top != nil {
			t.Errorf("%v: %+v", c.logits, got)
		}
	}
	if got := next(t, sampler(t, Params{}, 1), []float32{7}); got.Token != 0 || !math.IsInf(got.Margin, 1) {
		t.Errorf("one token: %+v", got)
	}
}

// The penalty is about tokens of the prompt and of the generation, each once.
func TestRepetitionPenalty(t *testing.T) {
	s := sampler(t, Params{RepetitionPenalty: 2}, 4, 0, 0, 3)
	logits := []float32{3, 2, 1.8, -1}
	for i, want := range []int32{1, 2, 0, 0} { // 1.5 2 1.8 | 1.5 1 1.8 | 1.5 1 0.9
		if got := next(t, s, logits); got.Token != want {
			t.Errorf("token %d is %d, not %d", i, got.Token, want)
		}
	}
	if !slices.Equal(logits, []float32{3, 2, 1.8, -1}) {
		t.Errorf("the logits were changed: %v", logits)
	}
	if got := s.penalised(logits)[3]; got != -2 {
		t.Errorf("a negative score becomes %v, not -2", got)
	}
}

// Log-probabilities are of the model's own distribution, whatever the parameters.
func TestLogProbs(t *testing.T) {
	logits := []float32{1, 3, 2, 3, -50}
	norm := math.Log(math.Exp(1) + 2*math.Exp(3) + math.Exp(2) + math.Exp(-50))
	c := next(t, sampler(t, Params{Temperature: 5, RepetitionPenalty: 3, LogProbs: 3, Seed: 6}, 5, 1, 3), logits)
	want := []TokenProb{{1, 3 - norm}, {3, 3 - norm}, {2, 2 - norm}}
	if len(c.Top) != 3 {
		t.Fatalf("%+v", c)
	}
	for i, p := range c.Top {
		if p.Token != want[i].Token || math.Abs(p.LogProb-want[i].LogProb) > 1e-12 {
			t.Errorf("place %d is %+v, not %+v", i, p, want[i])
		}
	}
	if got := float64(logits[c.Token]) - norm; math.Abs(c.LogProb-got) > 1e-12 {
		t.Errorf("the token %d has %v, not %v", c.Token, c.LogProb, got)
	}
	if c := next(t, sampler(t, Params{LogProbs: 20}, 5), logits); len(c.Top) != 5 || c.Top[4].Token != 4 {
		t.Errorf("more than there are: %+v", c.Top)
	}
}

// A seed gives one sequence, which no release may change, and other seeds others.
func TestSeed(t *testing.T) {
	for _, c := range []struct {
		seed, position uint64
		want           float64
	}{{0, 0, 0.28176129772258496}, {0, 1, 0.6524484863740322}, {1, 0, 0.8628561488610587}, {1<<64 - 1, 1 << 40, 0.725438256570713}} {
		if got := uniform(c.seed, c.position); got != c.want {
			t.Errorf("uniform(%d, %d) = %v, not %v", c.seed, c.position, got, c.want)
		}
	}
	logits := make([]float32, 1000)
	run := func(seed uint64) (ids []int32) {
		s := sampler(t, Params{Temperature: 1, Seed: seed}, len(logits))
		for range 20 {
			ids = append(ids, next(t, s, logits).Token)
		}
		return ids
	}
	if a, b := run(7), run(7); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
	if a, b := run(7), run(8); slices.Equal(a[:5], b[:5]) {
		t.Errorf("two seeds give %v", a)
	}
}

// chiSquare is the probability of counts at least as far from what is expected.
func chiSquare(counts []int, probs []float64, n int) float64 {
	x := 0.0
	for i, c := range counts {
		d := float64(c) - probs[i]*float64(n)
		x += d * d / (probs[i] * float64(n))
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(x)
}

// Draws are uniform along the positions of a seed, along seeds at a position, as
// a batch has them, and in pairs.
func TestUniform(t *testing.T) {
	const n, bins = 200_000, 64
	flat := slices.Repeat([]float64{1.0 / bins}, bins)
	for name, at := range map[string]func(i int) int{
		"positions":            func(i int) int { return int(uniform(42, uint64(i)) * bins) },
		"seeds":                func(i int) int { return int(uniform(uint64(i), 0) * bins) },
		"pairs of positions":   func(i int) int { return int(uniform(1, uint64(2*i))*8)*8 + int(uniform(1, uint64(2*i+1))*8) },
		"pairs of seeds":       func(i int) int { return int(uniform(uint64(2*i), 5)*8)*8 + int(uniform(uint64(2*i+1), 5)*8) },
		"diagonal":             func(i int) int { return int(uniform(uint64(i), uint64(i)) * bins) },
		"opposite differences": func(i int) int { return int(uniform(uint64(i), -uint64(i)) * bins) },
	} {
		counts := make([]int, bins)
		for i := range n {
			counts[at(i)]++
		}
		if p := chiSquare(counts, flat, n); p < 1e-3 || p > 1-1e-3 {
			t.Errorf("%s: chi-square probability %v", name, p)
		}
	}
}

// The chi-square probabilities of the seeds of many positions are uniform themselves,
// for seeds that differ in high bits alone.
func TestUniformSeeds(t *testing.T) {
	const positions, n, bins, deciles = 1000, 10_000, 64, 10
	flat, tenths := slices.Repeat([]float64{1.0 / bins}, bins), slices.Repeat([]float64{1.0 / deciles}, deciles)
	found := make([]int, deciles)
	for position := range uint64(positions) {
		counts := make([]int, bins)
		for i := range uint64(n) {
			counts[int(uniform(i<<40, position)*bins)]++
		}
		found[min(deciles-1, int(chiSquare(counts, flat, n)*deciles))]++
	}
	if p := chiSquare(found, tenths, positions); p < 1e-3 || p > 1-1e-3 {
		t.Errorf("%v, chi-square probability %v", found, p)
	}
}

// Tokens come as often as their probabilities say.
func TestDistribution(t *testing.T) {
	logits := []float32{0, 2, 1, -1, 1.5, -3, 0.5, 1}
	for i, p := range []Params{{Temperature: 1}, {Temperature: 0.6}, {Temperature: 1.7, TopK: 5}, {Temperature: 1, TopP: 0.9}, {Temperature: 1, MinP: 0.2}, {Temperature: 1.2, TopK: 6, TopP: 0.95, MinP: 0.05}} {
		p.Seed = uint64(i)
		ids, probs := reference(p, logits, nil)
		s, counts := sampler(t, p, len(logits)), make([]int, len(ids))
		const n = 50_000
		for range n {
			at, ok := slices.BinarySearch(ids, next(t, s, logits).Token)
			if !ok {
				t.Fatalf("%+v: a token that is cut was drawn", p)
			}
			counts[at]++
		}
		if q := chiSquare(counts, probs, n); q < 1e-3 || q > 1-1e-3 {
			t.Errorf("%+v: %v for %v, chi-square probability %v", p, counts, probs, q)
		}
	}
}

func TestErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	s := sampler(t, Params{Temperature: 1}, 3)
	for _, c := range []struct {
		logits []float32
		want   string
	}{
		{[]float32{1, 2}, "there are 2 logits for a vocabulary of 3"},
		{[]float32{1, nan, 2}, "logit 1 is NaN"},
		{[]float32{1, 2, inf}, "logit 2 is +Inf"},
		{[]float32{-inf, 2, 3}, "logit 0 is -Inf"},
	} {
		if _, err := s.Next(c.logits); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, not %q", c.logits, err, c.want)
		}
	}
	if s.position != 0 {
		t.Errorf("errors used %d draws up", s.position)
	}
	bad := math.NaN()
	for _, c := range []struct {
		p    Params
		want string
	}{
		{Params{Temperature: -1}, "temperature is -1"}, {Params{Temperature: bad}, "temperature is NaN"}, {Params{Temperature: math.Inf(1)}, "temperature is +Inf"},
		{Params{TopK: -1}, "top-k is -1"}, {Params{TopP: 1.5}, "top-p is 1.5"}, {Params{TopP: bad}, "top-p is NaN"}, {Params{MinP: -0.1}, "min-p is -0.1"},
		{Params{RepetitionPenalty: -1}, "repetition penalty is -1"}, {Params{RepetitionPenalty: 101}, "repetition penalty is 101"},
		{Params{MaxTokens: -1}, "max tokens is -1"}, {Params{LogProbs: 21}, "of 21 tokens"}, {Params{LogProbs: -1}, "of -1 tokens"},
		{Params{Stop: []string{"a", ""}}, `stop string 1 is ""`}, {Params{Stop: []string{"\xff"}}, "stop string 0"}, {Params{Stop: []string{strings.Repeat("x", 257)}}, "stop string 0"},
		{Params{Stop: make([]string, 17)}, "17 stop strings"}, {Params{StopTokens: make([]int32, 257)}, "257 stop tokens"},
		{Params{StopTokens: []int32{10}}, "there is no token 10"}, {Params{StopTokens: []int32{-1}}, "there is no token -1"},
	} {
		if _, err := New(c.p, 10, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, not %q", c.p, err, c.want)
		}
	}
	if _, err := New(Params{}, 10, []int32{10}); err == nil {
		t.Error("a prompt outside the vocabulary is taken")
	}
	if _, err := New(Params{}, 0, nil); err == nil {
		t.Error("an empty vocabulary is taken")
	}
}

// Nothing is allocated for a token, beyond the log-probabilities that are returned.
func TestAllocations(t *testing.T) {
	logits := randomLogits(rand.New(rand.NewPCG(1, 1)), 5000, 3, false)
	for _, c := range []struct {
		p    Params
		want float64
	}{{Params{}, 0}, {Params{Temperature: 1}, 0}, {Params{Temperature: 1, TopK: 40, TopP: 0.9, MinP: 0.01, RepetitionPenalty: 1.1}, 0}, {Params{LogProbs: 5}, 1}} {
		s := sampler(t, c.p, len(logits))
		next(t, s, logits)
		if got := testing.AllocsPerRun(50, func() { next(t, s, logits) }); got > c.want+0.5 {
			t.Errorf("%+v: %v allocations", c.p, got)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, vocab := range []int{49152, 151936} {
		logits := randomLogits(rand.New(rand.NewPCG(1, 1)), vocab, 3, false)
		flat := randomLogits(rand.New(rand.NewPCG(1, 1)), vocab, 0.01, false)
		for _, c := range []struct {
			name   string
			p      Params
			logits []float32
		}{
			{"greedy", Params{}, logits}, {"temperature", Params{Temperature: 0.8}, logits}, {"top-k", Params{Temperature: 0.8, TopK: 40}, logits},
			{"top-p", Params{Temperature: 0.8, TopP: 0.95}, logits}, {"top-p/flat", Params{Temperature: 0.8, TopP: 0.95}, flat},
			{"all", Params{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, RepetitionPenalty: 1.1}, logits}, {"logprobs", Params{LogProbs: 5}, logits},
		} {
			b.Run(fmt.Sprintf("%d/%s", vocab, c.name), func(b *testing.B) {
				s := sampler(b, c.p, vocab)
				b.ReportAllocs()
				for b.Loop() {
					next(b, s, c.logits)
				}
			})
		}
	}
}

// TestTake compares choices by the lead of logits with those by all of them.
func TestTake(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		lead Lead
		want Choice
		err  string
	}{
		{Lead{2, 3, 1}, Choice{Token: 2, Margin: 2}, ""},
		{Lead{5, 3, 3}, Choice{Token: 5, Stop: true}, ""},
		{Lead{0, 7, -inf}, Choice{Margin: math.Inf(1)}, ""},
		{Lead{8, 3, 1}, Choice{}, "there is no token 8 in a vocabulary of 8"},
		{Lead{-1, 3, 1}, Choice{}, "there is no token -1 in a vocabulary of 8"},
		{Lead{1, nan, 1}, Choice{}, "logit 1 is NaN"},
		{Lead{1, inf, 1}, Choice{}, "logit 1 is +Inf"},
		{Lead{1, 2, nan}, Choice{}, "a logit is NaN, and the largest is 2"},
		{Lead{1, 2, 3}, Choice{}, "a logit is 3, and the largest is 2"},
	} {
		s := sampler(t, Params{StopTokens: []int32{5}}, 8)
		got, err := s.Take(c.lead)
		if fmt.Sprint(err) != cmp.Or(c.err, "<nil>") || got.Token != c.want.Token || got.Margin != c.want.Margin || got.Stop != c.want.Stop {
			t.Errorf("%+v: %+v, %v", c.lead, got, err)
		}
	}
	for _, p := range []Params{{Temperature: 1}, {LogProbs: 1}, {RepetitionPenalty: 2}} {
		s := sampler(t, p, 8)
		if _, err := s.Take(Lead{}); s.Led() || err == nil {
			t.Errorf("%+v is led: %v", p, err)
		}
	}
	if s := sampler(t, Params{RepetitionPenalty: 1, TopK: 3, Seed: 4}, 8); !s.Led() {
		t.Error("a greedy choice is not led")
	}
}
