package engine

import (
	"math"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/nebula/shard"
)

// TestAhead goes on as runs ahead expect it and otherwise: with another token, with another
// request in between, in a block that it got just then, and again from the beginning in
// blocks that another request has had. What the cache holds then gives the logits of a
// prompt with the same tokens.
func TestAhead(t *testing.T) {
	for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}} {
		t.Run(l.String(), func(t *testing.T) { testAhead(t, l) })
	}
}

func testAhead(t *testing.T, layout shard.Layout) {
	c := llamaConfig()
	m := seeded(t, c)
	options := Options{BlockSize: 4, MaxTokens: 24, MaxRows: 4}
	open := func() *Leader {
		var devices []backend.Backend
		for range layout.Ranks() {
			devices = append(devices, conformance.OnHost(single()))
		}
		l, err := Local(t.Context(), m, layout, LocalOptions{Options: options, Backends: devices})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	}
	l := open()
	ask := func(l *Leader, rows ...Row) Result {
		t.Helper()
		ticket, err := l.Submit(t.Context(), Step{rows})
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Wait(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ran := func() bool { return l.self.ahead != nil && l.self.ahead.running }
	blocks := []int32{7, 2, 5, 0}
	other := []int32{1, 3}
	tokens := prompt(3, 6, c.Vocab)
	r := ask(l, Row{Request: 1, Tokens: tokens, Blocks: blocks[:2], Logits: true, Lead: true})
	begun := 0
	step := func(token int32, rows ...Row) {
		t.Helper()
		tokens = append(tokens, token)
		at := len(tokens) - 1
		r = ask(l, append([]Row{{Request: 1, Tokens: tokens[at:], Pos: at, Blocks: blocks[:at/4+1], Logits: true, Lead: true}}, rows...)...)
		begun += bit(ran())
		if want := len(rows) == 0 && len(tokens)%4 != 0; ran() != want {
			t.Errorf("%d tokens and %d rows more: it runs ahead: %v", len(tokens), len(rows), ran())
		}
	}
	lead := func() int32 { return r.Leads[0].Token }
	step(lead())
	step(lead())
	step(lead())
	step((lead() + 1) % int32(c.Vocab))
	step(lead())
	ask(l, Row{Request: 2, Tokens: prompt(4, 3, c.Vocab), Blocks: other[:1], Logits: true})
	step(lead())
	step(lead(), Row{Request: 2, Tokens: []int32{5}, Pos: 3, Blocks: other[:1], Logits: true})
	step((lead() + 7) % int32(c.Vocab))
	step(lead())
	if begun < 5 {
		t.Errorf("%d runs were begun ahead", begun)
	}
	tokens = append(tokens, lead())
	at := len(tokens) - 1
	got := ask(l, Row{Request: 1, Tokens: tokens[at:], Pos: at, Blocks: blocks, Logits: true}).Logits[0] // of what all steps left
	whole := func(l *Leader, request uint64, blocks []int32) []float32 {
		t.Helper()
		return ask(l, Row{Request: request, Tokens: tokens, Blocks: blocks, Logits: true}).Logits[0]
	}
	want := whole(open(), 1, blocks)
	same := func(name string, got []float32) {
		t.Helper()
		if diff, _ := difference(got, want); diff > 1e-5 || math.IsNaN(diff) {
			t.Errorf("%s: logits differ by %v", name, diff)
		}
	}
	same("continued", got)
	for _, request := range []uint64{1, 2} {
		if err := l.Release(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	same("again", whole(l, 3, []int32{5, 7, 0, 2}))
}
