package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/portable"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/trace"
)

// TestMixed runs many requests at once, in steps of random rows with random chunks, and
// as many steps in flight as there may be. Each request gets the reference's tokens.
func TestMixed(t *testing.T) {
	c := llamaConfig()
	m := seeded(t, c)
	ref := reference(t, m)
	const requests, tokens, size = 7, 5, 4
	var want [requests][]int32
	for i := range want {
		r, err := ref.Greedy(t.Context(), prompt(i, 1+9*i%23, c.Vocab), tokens)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = r.Tokens
	}
	for _, layout := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 3}, {TP: 2, PP: 2}} {
		t.Run(layout.String(), func(t *testing.T) {
			l := local(t, m, layout.TP, layout.PP, LocalOptions{Options: Options{BlockSize: size, Blocks: 64, MaxRows: 4, MaxTokens: 24}})
			random := rand.New(rand.NewPCG(1, uint64(layout.Ranks())))
			var list []*gated
			next := int32(0)
			for i := range want {
				g := &gated{id: uint64(i + 1), tokens: prompt(i, 1+9*i%23, c.Vocab), want: Continuation{Tokens: want[i]}}
				for range blocksFor(len(g.tokens)+tokens, size) {
					g.blocks = append(g.blocks, next)
					next++
				}
				list = append(list, g)
			}
			type flying struct {
				Ticket
				step Step
				of   []*gated
			}
			var inFlight []flying
			busy := make(map[*gated]bool)
			for {
				var f flying
				room := 24
				for _, i := range random.Perm(len(list)) {
					g := list[i]
					if g.over || busy[g] || room == 0 || len(f.of) == 4 || random.IntN(3) == 0 {
						continue
					}
					n := 1 + random.IntN(min(room, len(g.tokens)-g.at))
					room -= n
					f.step.Rows = append(f.step.Rows, Row{Request: g.id, Tokens: g.tokens[g.at : g.at+n], Pos: g.at, Blocks: g.blocks, Logits: g.at+n == len(g.tokens)})
					f.of = append(f.of, g)
					busy[g] = true
				}
				if len(f.of) > 0 {
					var err error
					if f.Ticket, err = l.Submit(t.Context(), f.step); err != nil {
						t.Fatal(err)
					}
					inFlight = append(inFlight, f)
				}
				if len(inFlight) == l.Info().Depth || len(f.of) == 0 && len(inFlight) > 0 {
					f, inFlight = inFlight[0], inFlight[1:]
					result, err := l.Wait(t.Context(), f.Ticket)
					if err != nil {
						t.Fatal(err)
					}
					for i, g := range f.of {
						land(t, g, f.step.Rows[i], result.Logits[i], tokens)
						delete(busy, g)
					}
				} else if len(f.of) == 0 && !hasWork(list) {
					return
				}
			}
		})
	}
}

func hasWork(list []*gated) bool {
	for _, g := range list {
		if !g.over {
			return true
		}
	}
	return false
}

// land takes the next token of a request.
func land(t *testing.T, g *gated, row Row, logits []float32, tokens int) {
	t.Helper()
	g.at += len(row.Tokens)
	if row.Logits != (logits != nil) {
		t.Fatalf("request %d asked for logits: %v", g.id, row.Logits)
	}
	if logits == nil {
		return
	}
	if got := Argmax(logits); got != g.want.Tokens[g.given] {
		t.Fatalf("request %d, token %d: %d, should be %d", g.id, g.given, got, g.want.Tokens[g.given])
	}
	g.tokens = append(g.tokens, g.want.Tokens[g.given])
	g.given++
	g.over = g.given == tokens
}

// TestNative compares the compiled programs with the interpreted reference.
func TestNative(t *testing.T) {
	if _, err := cpu.FindCompiler(); err != nil {
		t.Skip(err)
	}
	m := seeded(t, llamaConfig())
	gate := Gate{Prompts: [][]int32{prompt(1, 3, 61)}, Tokens: 8, Tolerance: 1e-5}
	l := local(t, m, 2, 1, LocalOptions{Backend: native(1), Options: Options{BlockSize: 4}})
	if report, err := gate.Check(t.Context(), l, reference(t, m)); err != nil || report.Tokens != 8 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestGateFinds checks that a gate is no rubber stamp.
func TestGateFinds(t *testing.T) {
	m, c := seeded(t, tinyConfig()), tinyConfig()
	c.Eps = 0.5
	other := seeded(t, c)
	l := local(t, other, 1, 1, LocalOptions{})
	gate := Gate{Prompts: [][]int32{prompt(1, 3, 61)}, Tokens: 2, Tolerance: 1e-5}
	if _, err := gate.Check(t.Context(), l, reference(t, m)); err == nil || !strings.Contains(err.Error(), "logits differ") {
		t.Errorf("another model passes: %v", err)
	}
	gate.Tokens = 1000
	if _, err := gate.Check(t.Context(), l, reference(t, m)); err == nil || !strings.Contains(err.Error(), "does not fit 64 positions") {
		t.Errorf("too many tokens: %v", err)
	}
}

func TestRefused(t *testing.T) {
	l := local(t, seeded(t, tinyConfig()), 2, 1, LocalOptions{Options: Options{BlockSize: 4, Blocks: 20, MaxRows: 2, MaxTokens: 10}})
	one := func(r Row) Step { return Step{[]Row{r}} }
	good := Row{Request: 1, Tokens: []int32{1, 2, 3}, Blocks: []int32{5}, Logits: true}
	with := func(change func(*Row)) Row {
		r := good
		change(&r)
		return r
	}
	bad := []struct {
		step Step
		want string
	}{
		{Step{}, "it has 0 rows"},
		{Step{[]Row{good, good, good}}, "it has 3 rows"},
		{Step{[]Row{good, good}}, "two rows"},
		{one(with(func(r *Row) { r.Tokens = nil })), "it has 0 tokens"},
		{one(with(func(r *Row) { r.Tokens = make([]int32, 11) })), "at most 10"},
		{one(with(func(r *Row) { r.Tokens = []int32{61} })), "token 61 is not in the vocabulary of 61"},
		{one(with(func(r *Row) { r.Blocks = nil })), "table of 0 blocks"},
		{one(with(func(r *Row) { r.Blocks = []int32{20} })), "block 20 is not in the pool"},
		{one(with(func(r *Row) { r.Pos = 4; r.Blocks = []int32{5, 6} })), "positions have been written"},
		{one(with(func(r *Row) { r.Pos = 1 << 40 })), "exceed the capacity"},
		{one(with(func(r *Row) { r.Pos = -1 })), "exceed the capacity"},
	}
	check := func() {
		t.Helper()
		for _, c := range bad {
			refused := (*Refused)(nil)
			if _, err := l.Submit(t.Context(), c.step); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v", c.want, err)
			}
		}
	}
	check()
	bad = append(bad[:2:2], bad[3:]...) // of two rows now the first is refused
	for i := range bad {                // the rules are for any request
		for k := range bad[i].step.Rows {
			bad[i].step.Rows[k].Request = 7
		}
	}
	ticket, err := l.Submit(t.Context(), one(good))
	if err != nil || ticket != 1 {
		t.Fatalf("step %d, %v", ticket, err)
	}
	check()
	if r, err := l.Wait(t.Context(), ticket); err != nil || len(r.Logits[0]) != 61 || r.Times.Done.Before(r.Times.Started) || r.Times.Started.Before(r.Times.Submitted) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := l.Wait(t.Context(), ticket); err == nil || !strings.Contains(err.Error(), "has been taken") {
		t.Errorf("a second wait: %v", err)
	}
	if _, err := l.Submit(t.Context(), one(with(func(r *Row) { r.Request = 2 }))); err == nil || !strings.Contains(err.Error(), "another request has") {
		t.Errorf("a block of another request: %v", err)
	}
	for range 2 {
		if err := l.Release(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if ticket, err = l.Submit(t.Context(), one(with(func(r *Row) { r.Request = 2 }))); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context(), ticket); err != nil {
		t.Fatal(err)
	}
	if s := l.Status(); s.Health != Healthy || s.Steps != 2 || s.Tokens != 6 || len(s.Ranks) != 2 || s.Ranks[1].Step != s.Ranks[0].Step {
		t.Errorf("%+v", s)
	}
}

// TestCancelled checks that the end of a caller's context is its own affair.
func TestCancelled(t *testing.T) {
	gate := make(chan struct{})
	l := local(t, seeded(t, tinyConfig()), 1, 1, LocalOptions{Backend: &gatedBackend{single(), gate}, Options: Options{BlockSize: 4}})
	ended, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("the reader has gone")
	row := Row{Request: 1, Tokens: []int32{1, 2}, Blocks: []int32{0, 1}, Logits: true}
	ticket, err := l.Submit(t.Context(), Step{[]Row{row}})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { cancel(enough) })
	if _, err := l.Wait(ended, ticket); err != enough {
		t.Errorf("Wait: %v", err)
	}
	if err := l.Release(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "in flight") {
		t.Errorf("Release: %v", err)
	}
	row.Request, row.Blocks = 2, []int32{2, 3}
	if _, err := l.Submit(ended, Step{[]Row{row}}); err != enough {
		t.Errorf("Submit: %v", err)
	}
	close(gate)
	if r, err := l.Wait(t.Context(), ticket); err != nil || len(r.Logits[0]) != 61 {
		t.Errorf("the step has not run to its end: %v", err)
	}
	if ticket, err = l.Submit(t.Context(), Step{[]Row{row}}); err != nil || ticket != 2 {
		t.Errorf("step %d, %v", ticket, err)
	}
	if err := l.Close(); err != nil { // waits for the step
		t.Error(err)
	}
	if _, err := l.Wait(t.Context(), ticket); err != nil {
		t.Errorf("a step that was in flight at the end: %v", err)
	}
	if _, err := l.Submit(t.Context(), Step{[]Row{row}}); err != ErrClosed {
		t.Errorf("Submit to a closed engine: %v", err)
	}
	if err := l.Close(); err != nil || l.Status().Health != Closed {
		t.Errorf("the second Close: %v", err)
	}
	nothingLeft(t)
}

func TestDescribe(t *testing.T) {
	b := portable.New()
	b.Workers = 1
	l := local(t, seeded(t, llamaConfig()), 2, 2, LocalOptions{Backend: b, Options: Options{BlockSize: 4, Blocks: 10, Ready: Ready{Rows: 1}}})
	d, err := l.Describe(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	// Two layers of 10 blocks of 4 positions of one head of 4 channels, keys and values.
	if d.KVPlanned != 2*2*10*4*1*4*4 || d.KVHeld != d.KVPlanned || d.KVUsed != 0 || d.Stage != 1 || d.TPRank != 1 || d.FromLayer != 2 || d.ToLayer != 4 {
		t.Errorf("%+v", d)
	}
	if d.Weights == 0 || len(d.Programs) != 4 || d.Programs[1].Name != "1x16" || len(d.Programs[0].Kernels) == 0 || d.Programs[0].Planned == 0 {
		t.Errorf("%d bytes of weights, programs %+v", d.Weights, d.Programs)
	}
	for _, want := range []string{"rank 3 is TP rank 1 of stage 1: layers 2 to 3", "recv", "all_reduce", "program 1x32"} {
		if !strings.Contains(d.Explain(), want) {
			t.Errorf("the explanation lacks %q", want)
		}
	}
	if _, err := l.Describe(t.Context(), 4); err == nil {
		t.Error("there is a rank 4")
	}
	if d, err = l.Describe(t.Context(), 0); err != nil || d.Rank != 0 || !strings.Contains(d.Explain(), "send") {
		t.Errorf("rank 0: %v", err)
	}
}

// TestKernelsAreTraced runs programs kernel by kernel and looks for every kind of work.
func TestKernelsAreTraced(t *testing.T) {
	quick := portable.New()
	quick.Workers = 1
	backends := []backend.Backend{quick}
	if _, err := cpu.FindCompiler(); err == nil {
		backends = append(backends, native(1))
	}
	for _, b := range backends {
		l := local(t, seeded(t, cacheResident()), 2, 1, LocalOptions{Backend: b, Options: Options{Regions: 1 << 12, Kernels: true}})
		newDecoder(t, l).step(t)
		ranks, err := l.Trace(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ranks {
			kinds, inside := make(map[trace.Kind]int), trace.Region{}
			for _, g := range r.Regions {
				kinds[g.Kind]++
				if g.Kind == trace.Step {
					inside = g
				}
			}
			for _, k := range []trace.Kind{trace.Step, trace.Attention, trace.Projection, trace.FF, trace.Append, trace.Compute, trace.Collective, trace.Wait, trace.Agree} {
				if kinds[k] == 0 {
					t.Errorf("%s: rank %d has no %v", b.Name(), r.Rank, k)
				}
			}
			for _, g := range r.Regions {
				if g.Kind == trace.FF && (g.Start < inside.Start || g.End > inside.End || !strings.HasPrefix(g.Name, "layer ")) {
					t.Errorf("%s: rank %d: %+v is outside of its step %+v", b.Name(), r.Rank, g, inside)
				}
			}
		}
	}
}
