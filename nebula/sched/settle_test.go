package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/sample"
)

// landedStep is a step of some rows that came back, with samplers of their own.
func landedStep(t testing.TB, rows, vocab int, p sample.Params) *flight {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	f := &flight{}
	for i := range rows {
		p.Seed = uint64(i)
		s, err := sample.New(p, vocab, nil)
		if err != nil {
			t.Fatal(err)
		}
		logits := make([]float32, vocab)
		for k := range logits {
			logits[k] = float32(3 * r.NormFloat64())
		}
		f.rows = append(f.rows, &request{sampler: s})
		f.step.Rows = append(f.step.Rows, engine.Row{Logits: true})
		f.result.Logits = append(f.result.Logits, logits)
	}
	return f
}

// TestChoose checks that rows have the same tokens on any number of threads, and that
// only those which want one have it.
func TestChoose(t *testing.T) {
	const rows = 9
	wanted := []int{0, 1, 3, 4, 5, 6, 8}
	var want [][]choice
	for _, threads := range []int{0, 1, 2, 16} {
		f := landedStep(t, rows, 500, sample.Params{Temperature: 1, TopP: 0.9})
		for step := range 5 {
			got := f.choose(wanted, threads)
			if threads == 0 {
				want = append(want, got)
			}
			for i := range rows {
				if got[i].Token != want[step][i].Token || got[i].err != nil || !slices.Contains(wanted, i) && got[i].Margin != 0 {
					t.Errorf("%d threads, step %d, row %d: %+v, not %+v", threads, step, i, got[i], want[step][i])
				}
			}
		}
	}
	f := landedStep(t, 2, 500, sample.Params{})
	f.result.Logits[1] = f.result.Logits[1][:3]
	if got := f.choose([]int{0, 1}, 2); got[0].err != nil || got[1].err == nil {
		t.Errorf("errors %v and %v", got[0].err, got[1].err)
	}
}

func BenchmarkChoose(b *testing.B) {
	const rows = 16
	all := make([]int, rows)
	for i := range all {
		all[i] = i
	}
	for _, c := range []struct {
		name string
		p    sample.Params
	}{{"greedy", sample.Params{}}, {"temperature", sample.Params{Temperature: 0.8}}, {"logprobs", sample.Params{LogProbs: 5}}} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d threads", c.name, threads), func(b *testing.B) {
				f := landedStep(b, rows, 49152, c.p)
				b.ReportAllocs()
				for b.Loop() {
					f.choose(all, threads)
				}
			})
		}
	}
}
