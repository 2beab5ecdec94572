package engine

import (
	"fmt"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

func tinyConfig() model.Config {
	return model.Config{Family: "tiny", Vocab: 61, Hidden: 24, Layers: 4, Heads: 8, KVHeads: 4, HeadDim: 4, FF: 26, Context: 64, Eps: 1e-5}
}

func llamaConfig() model.Config {
	c := tinyConfig()
	c.Family, c.KVHeads, c.Rope = "llama", 2, &model.Rope{Base: 10000}
	return c
}

func seeded(t testing.TB, c model.Config) *model.Model {
	t.Helper()
	m, err := model.Seeded(c, 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// single is the interpreter on one thread.
func single() backend.Backend {
	b := interp.New()
	b.Workers = 1
	return b
}

func local(t testing.TB, m *model.Model, tp, pp int, o LocalOptions) *Leader {
	t.Helper()
	if o.Backend == nil && o.Backends == nil {
		o.Backend = single()
	}
	l, err := Local(t.Context(), m, shard.Layout{TP: tp, PP: pp}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// prompt makes tokens that differ from prompt to prompt.
func prompt(seed, n, vocab int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32((seed*31 + i*i*7 + i*3) % vocab)
	}
	return list
}

func reference(t testing.TB, m *model.Model) *Reference {
	t.Helper()
	r, err := NewReference(t.Context(), m, m.Config.Context, single())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLayouts compares all layouts with the reference, on prompts of different
// lengths, some of which take several chunks.
func TestLayouts(t *testing.T) {
	for _, c := range []model.Config{tinyConfig(), llamaConfig()} {
		m := seeded(t, c)
		ref := reference(t, m)
		for tp := 1; tp <= 4; tp++ {
			for pp := 1; pp <= 4; pp++ {
				if (shard.Layout{TP: tp, PP: pp}).Check(c.Dims()) != nil {
					continue // three ranks cannot share two KV heads
				}
				t.Run(fmt.Sprintf("%s/%dx%d", c.Family, tp, pp), func(t *testing.T) {
					l := local(t, m, tp, pp, LocalOptions{Options: Options{BlockSize: 4, Blocks: 64, MaxTokens: 24, MaxRows: 5}})
					gate := Gate{Tokens: 4, Tolerance: 1e-5}
					for i, n := range []int{1, 3, 17, 30} {
						gate.Prompts = append(gate.Prompts, prompt(i, n, c.Vocab))
					}
					report, err := gate.Check(t.Context(), l, ref)
					if err != nil {
						t.Fatal(err)
					}
					if report.Tokens < 4*4-3 || report.Ties > 1 {
						t.Errorf("%+v", report)
					}
				})
			}
		}
	}
}
