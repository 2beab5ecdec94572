package shard

import (
	"strings"
	"testing"
)

// TestPartsCover checks for many sizes that the parts of all ranks cover
// everything once, in order, and differ by at most one.
func TestPartsCover(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for degree := 1; degree <= n; degree++ {
			wantCover(t, n, degree, func(i int) (int, int) { return Place{Layout{degree, 2}, degree + i}.Part(n) })
			wantCover(t, n, degree, func(i int) (int, int) { return Place{Layout{3, degree}, 3*i + 1}.Layers(n) })
		}
	}
}

func wantCover(t *testing.T, n, parts int, of func(i int) (from, to int)) {
	t.Helper()
	next := 0
	for i := range parts {
		from, to := of(i)
		if size := to - from; from != next || size < n/parts || size > (n+parts-1)/parts {
			t.Fatalf("part %d of %d of %d is %d to %d, after %d", i, parts, n, from, to, next)
		}
		next = to
	}
	if next != n {
		t.Fatalf("%d parts of %d end at %d", parts, n, next)
	}
}

// TestHeadsReadTheirKVHeads checks every legal degree of many head counts: query
// heads are covered once, sizes are balanced, and each rank holds exactly the KV
// heads that its query heads read, each read equally often.
func TestHeadsReadTheirKVHeads(t *testing.T) {
	for kv := 1; kv <= 9; kv++ {
		for group := 1; group <= 7; group++ {
			d := Dims{Layers: 1, Heads: kv * group, KVHeads: kv, FF: 100, Vocab: 100}
			for tp := 1; tp <= d.Heads; tp++ {
				l := Layout{TP: tp, PP: 1}
				if l.Check(d) == nil {
					checkHeads(t, l, d)
				}
			}
		}
	}
}

func checkHeads(t *testing.T, l Layout, d Dims) {
	t.Helper()
	group, next := d.Heads/d.KVHeads, 0
	held := make([]int, d.KVHeads)
	least, most := d.Heads, 0
	for _, p := range l.Places() {
		from, to := p.Heads(d)
		kv, end := p.KVHeads(d)
		if from != next || to <= from {
			t.Fatalf("%+v, %v, rank %d: query heads %d to %d, after %d", d, l, p.Rank, from, to, next)
		}
		next = to
		if kv != from/group || end != (to-1)/group+1 {
			t.Fatalf("%+v, %v, rank %d: query heads %d to %d, KV heads %d to %d", d, l, p.Rank, from, to, kv, end)
		}
		if (to-from)%(end-kv) != 0 {
			t.Fatalf("%+v, %v, rank %d: %d query heads on %d KV heads", d, l, p.Rank, to-from, end-kv)
		}
		for h := kv; h < end; h++ {
			held[h]++
		}
		least, most = min(least, to-from), max(most, to-from)
	}
	if next != d.Heads {
		t.Fatalf("%+v, %v: query heads end at %d", d, l, next)
	}
	unit := group // heads move in groups up to one rank per KV head, then singly
	if l.TP > d.KVHeads {
		unit = 1
	}
	if most-least > unit {
		t.Fatalf("%+v, %v: ranks have %d to %d query heads", d, l, least, most)
	}
	for h, n := range held {
		if want := max(1, l.TP/d.KVHeads); n != want {
			t.Fatalf("%+v, %v: KV head %d is held by %d ranks, want %d", d, l, h, n, want)
		}
	}
}

// TestRefusedDegreesGainNothing checks the reason of the rule for degrees beyond
// the KV heads. However the ranks are dealt out, some KV head is held by at most
// TP/KVHeads of them, and one of these has a bound of query heads that the legal
// degree below reaches.
func TestRefusedDegreesGainNothing(t *testing.T) {
	for kv := 1; kv <= 9; kv++ {
		for group := 1; group <= 7; group++ {
			d := Dims{Layers: 1, Heads: kv * group, KVHeads: kv, FF: 100, Vocab: 100}
			for tp := kv + 1; tp <= d.Heads; tp++ {
				most := 0
				for _, p := range (Layout{TP: tp / kv * kv, PP: 1}).Places() {
					from, to := p.Heads(d)
					most = max(most, to-from)
				}
				if bound := ceil(group, tp/kv); most != bound {
					t.Errorf("%d KV heads of %d: any TP %d leaves %d heads on a rank, the degree below %d", kv, group, tp, bound, most)
				}
			}
		}
	}
}

func ceil(a, b int) int { return (a + b - 1) / b }

func TestCheck(t *testing.T) {
	llama := Dims{Layers: 16, Heads: 32, KVHeads: 8, FF: 8192, Vocab: 128256}
	smol := Dims{Layers: 30, Heads: 9, KVHeads: 3, FF: 1536, Vocab: 49152}
	narrow := Dims{Layers: 2, Heads: 8, KVHeads: 8, FF: 3, Vocab: 5}
	for _, c := range []struct {
		dims   Dims
		layout Layout
		want   string // empty: legal
	}{
		{llama, Layout{1, 1}, ""},
		{llama, Layout{7, 16}, ""},
		{llama, Layout{32, 3}, ""},
		{llama, Layout{12, 1}, "TP 12: beyond the 8 KV heads TP must be a multiple of them, so that each is held by equally many ranks; the nearest legal degrees are TP 8 and TP 16"},
		{llama, Layout{33, 1}, "TP 33: each rank needs a query head of the 32; the largest legal degree is TP 32"},
		{llama, Layout{0, 1}, "TP 0: there must be a rank; the smallest legal degree is TP 1"},
		{llama, Layout{-1 << 62, 1}, "the smallest legal degree is TP 1"},
		{llama, Layout{1 << 62, 1}, "the largest legal degree is TP 32"},
		{llama, Layout{1, 17}, "PP 17: each stage needs a layer of the 16; the largest legal degree is PP 16"},
		{llama, Layout{1, 0}, "PP 0: each stage needs a layer of the 16; the smallest legal degree is PP 1"},
		{smol, Layout{2, 1}, ""},
		{smol, Layout{9, 30}, ""},
		{smol, Layout{4, 1}, "the nearest legal degrees are TP 3 and TP 6"},
		{narrow, Layout{4, 1}, "TP 4: each rank needs a feed-forward channel of the 3; the largest legal degree is TP 3"},
		{Dims{1, 6, 4, 8, 8}, Layout{1, 1}, "6 heads cannot share 4 KV heads evenly"},
		{Dims{1, 6, 0, 8, 8}, Layout{1, 1}, "each must be positive"},
	} {
		err := c.layout.Check(c.dims)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%v of %+v: got %v, want %q", c.layout, c.dims, err, c.want)
		}
	}
}

func TestPlace(t *testing.T) {
	p := Place{Layout{TP: 3, PP: 2}, 4}
	if p.TPRank() != 1 || p.Stage() != 1 || p.First() || !p.Last() {
		t.Errorf("rank 4 of TP 3, PP 2 has TP rank %d, stage %d, first %v, last %v", p.TPRank(), p.Stage(), p.First(), p.Last())
	}
	d := Dims{Layers: 2, Heads: 3, KVHeads: 3, FF: 3, Vocab: 3}
	for rank, legal := range map[int]bool{-1: false, 0: true, 5: true, 6: false} {
		if err := (Place{Layout{3, 2}, rank}).Check(d); (err == nil) != legal {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
