package sched

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// generated is how many tokens each request asks for.
const generated = 24

// Ranks that really compute, under a scheduler that shares, preempts and divides
// requests among stages: everybody gets the tokens of the reference.
func TestRealRanks(t *testing.T) {
	m, err := model.Seeded(model.Config{Family: "llama", Vocab: 61, Hidden: 24, Layers: 4, Heads: 8, KVHeads: 2, HeadDim: 4, FF: 26,
		Context: 64, Eps: 1e-5, Rope: &model.Rope{Base: 10000}}, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	single := interp.New()
	single.Workers = 1
	ref, err := engine.NewReference(t.Context(), m, m.Config.Context, single)
	if err != nil {
		t.Fatal(err)
	}
	layouts := []shard.Layout{{TP: 2, PP: 2}, {TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 3}}
	if testing.Short() {
		layouts = layouts[:1] // it has everything; the others say where an error is
	}
	for _, layout := range layouts {
		t.Run(fmt.Sprintf("%dx%d", layout.TP, layout.PP), func(t *testing.T) {
			e, err := engine.Local(t.Context(), m, layout, engine.LocalOptions{
				Options: engine.Options{BlockSize: 4, Blocks: 20, MaxTokens: 24, MaxRows: 4}, Backend: single})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			s, err := New(e, Options{Chunk: 8})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 10 {
				stream, err := s.Submit(t.Context(), ask(overlapping(i), generated))
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() { checkAgainst(t, ref, overlapping(i), stream, i == 4) })
			}
			wg.Wait()
			s.Close()
			m := s.Metrics()
			if m.Preemptions == 0 || m.KV.Hit == 0 || m.KV.Used != 0 {
				t.Errorf("the pool was too large or nothing was shared: %+v", m)
			}
			if err := e.Status().Err; err != nil {
				t.Error(err)
			}
		})
	}
}

// overlapping returns prompts of 5 to 32 tokens, three of which begin alike.
func overlapping(i int) []int32 {
	rng := rand.New(rand.NewPCG(uint64(i%4), 7))
	list := make([]int32, 5+3*i)
	for j := range list {
		list[j] = int32(rng.IntN(61))
	}
	return list
}

// checkAgainst compares a stream with the reference up to the first token that
// rounding may decide; with cut, the stream is closed on the way.
func checkAgainst(t *testing.T, ref *engine.Reference, prompt []int32, stream *Stream, cut bool) {
	t.Helper()
	want, err := ref.Greedy(t.Context(), prompt, generated)
	if err != nil {
		t.Error(err)
		return
	}
	sure := true
	for e := range stream.Events() {
		if e.Finish != nil {
			if (e.Finish.Reason != Length || e.Index != 0) && !cut {
				t.Errorf("%+v", e.Finish)
			}
			return
		}
		sure = sure && e.Margin > 1e-4
		if sure && e.Token != want.Tokens[e.Index] {
			t.Errorf("prompt of %d tokens: token %d is %d, want %d", len(prompt), e.Index, e.Token, want.Tokens[e.Index])
			return
		}
		if cut && e.Index == 3 {
			return
		}
	}
}
