// Package shard divides a decoder among ranks.
//
// A [Layout] has two degrees. Tensor parallelism (TP) divides every layer: each
// rank of a stage holds some attention heads, some feed-forward channels and
// some of the vocabulary. Pipeline parallelism (PP) divides the list of layers:
// each stage holds some that follow one another. Ranks are numbered stage by
// stage, so that rank = stage*TP + TP rank:
//
//	TP 2, PP 2      TP rank 0   TP rank 1
//	stage 0         rank 0      rank 1      layers 0 … L/2
//	stage 1         rank 2      rank 3      layers L/2 … L
//
// Anything that is divided, is divided into contiguous parts whose sizes differ
// by at most one, the larger ones first; degrees need not be powers of two nor
// divide what they split.
//
// Attention heads are divided by key-value (KV) head, because a query head is of
// use only where the KV head that it reads is. Up to one rank per KV head, KV
// heads are divided as anything is, and each takes its query heads along. Beyond
// that every KV head is held by the same number of ranks, which divide its query
// heads: so TP must be a multiple of the KV heads, and any other degree would be
// no faster than the multiple below it.
package shard

import "fmt"

// MaxRanks bounds the ranks of a layout.
const MaxRanks = 1 << 16

// Layout is how many ways a model is divided: TP ranks within a layer, PP stages
// of layers.
type Layout struct {
	TP int `json:"tp"`
	PP int `json:"pp"`
}

// Ranks is the number of ranks.
func (l Layout) Ranks() int { return l.TP * l.PP }

// String writes "TP 2, PP 4".
func (l Layout) String() string { return fmt.Sprintf("TP %d, PP %d", l.TP, l.PP) }

// Places are the places of all ranks, in order.
func (l Layout) Places() []Place {
	list := make([]Place, l.Ranks())
	for r := range list {
		list[r] = Place{l, r}
	}
	return list
}

// Dims are the numbers of a decoder that are divided.
type Dims struct {
	Layers  int
	Heads   int // query heads, a multiple of KVHeads
	KVHeads int
	FF      int // feed-forward channels
	Vocab   int
}

// Check says whether a decoder can be divided in this way. The error names the
// rule, and the nearest degrees below and above that obey it.
func (l Layout) Check(d Dims) error {
	if d.Layers < 1 || d.Heads < 1 || d.KVHeads < 1 || d.FF < 1 || d.Vocab < 1 {
		return fmt.Errorf("a decoder with %d layers, %d heads, %d KV heads, %d feed-forward channels and %d tokens cannot be divided; each must be positive",
			d.Layers, d.Heads, d.KVHeads, d.FF, d.Vocab)
	}
	if d.Heads%d.KVHeads != 0 {
		return fmt.Errorf("%d heads cannot share %d KV heads evenly", d.Heads, d.KVHeads)
	}
	if !d.legalTP(l.TP) {
		return l.refuseTP(d)
	}
	if l.PP < 1 || l.PP > d.Layers {
		return fmt.Errorf("PP %d: each stage needs a layer of the %d; %s", l.PP, d.Layers, nearest("PP", l.PP, d.Layers, func(int) bool { return true }))
	}
	if l.PP > MaxRanks/l.TP {
		return fmt.Errorf("%v is more than %d ranks", l, MaxRanks)
	}
	return nil
}

func (l Layout) refuseTP(d Dims) error {
	near := nearest("TP", l.TP, d.mostTP(), d.legalTP)
	switch {
	case l.TP < 1:
		return fmt.Errorf("TP %d: there must be a rank; %s", l.TP, near)
	case l.TP > d.Heads:
		return fmt.Errorf("TP %d: each rank needs a query head of the %d; %s", l.TP, d.Heads, near)
	case l.TP > d.FF:
		return fmt.Errorf("TP %d: each rank needs a feed-forward channel of the %d; %s", l.TP, d.FF, near)
	case l.TP > d.Vocab:
		return fmt.Errorf("TP %d: each rank needs a token of the %d in the vocabulary; %s", l.TP, d.Vocab, near)
	case l.TP > MaxRanks:
		return fmt.Errorf("TP %d is more than %d ranks; %s", l.TP, MaxRanks, near)
	}
	return fmt.Errorf("TP %d: beyond the %d KV heads TP must be a multiple of them, so that each is held by equally many ranks; %s", l.TP, d.KVHeads, near)
}

// mostTP bounds the degrees that can be legal.
func (d Dims) mostTP() int { return min(d.Heads, d.FF, d.Vocab, MaxRanks) }

func (d Dims) legalTP(tp int) bool {
	return tp >= 1 && tp <= d.mostTP() && (tp <= d.KVHeads || tp%d.KVHeads == 0)
}

// nearest says which legal degrees from 1 to most are next to a refused one.
func nearest(name string, degree, most int, legal func(int) bool) string {
	below, above := min(degree-1, most), max(degree+1, 1)
	for below >= 1 && !legal(below) {
		below--
	}
	for above <= most && !legal(above) {
		above++
	}
	switch {
	case below >= 1 && above <= most:
		return fmt.Sprintf("the nearest legal degrees are %s %d and %s %d", name, below, name, above)
	case below >= 1:
		return fmt.Sprintf("the largest legal degree is %s %d", name, below)
	}
	return fmt.Sprintf("the smallest legal degree is %s %d", name, above)
}

// Place is one rank of a layout.
type Place struct {
	Layout
	Rank int `json:"rank"`
}

// Single is the place of a model that is not divided.
func Single() Place { return Place{Layout: Layout{TP: 1, PP: 1}} }

// Check says whether the place exists and a decoder can be divided so.
func (p Place) Check(d Dims) error {
	if err := p.Layout.Check(d); err != nil {
		return err
	}
	if p.Rank < 0 || p.Rank >= p.Ranks() {
		return fmt.Errorf("%v has ranks 0 to %d, not %d", p.Layout, p.Ranks()-1, p.Rank)
	}
	return nil
}

// TPRank is the rank within its stage.
func (p Place) TPRank() int { return p.Rank % p.TP }

// Stage is the number of the stage.
func (p Place) Stage() int { return p.Rank / p.TP }

// First reports whether the stage is the one that tokens enter.
func (p Place) First() bool { return p.Stage() == 0 }

// Last reports whether the stage is the one that logits leave.
func (p Place) Last() bool { return p.Stage() == p.PP-1 }

// Layers is the range of layers of the stage, of n in all.
func (p Place) Layers(n int) (from, to int) { return part(n, p.PP, p.Stage()) }

// Part is what this rank has of n channels or tokens.
func (p Place) Part(n int) (from, to int) { return part(n, p.TP, p.TPRank()) }

// KVHeads is the range of KV heads that this rank holds. Beyond one rank per KV
// head it is one head, which several ranks hold.
func (p Place) KVHeads(d Dims) (from, to int) {
	if p.TP <= d.KVHeads {
		return p.Part(d.KVHeads)
	}
	head := p.TPRank() / p.holders(d)
	return head, head + 1
}

// Heads is the range of query heads of this rank. They read the KV heads that it
// holds, each of which serves equally many of them.
func (p Place) Heads(d Dims) (from, to int) {
	group := d.Heads / d.KVHeads
	kv, end := p.KVHeads(d)
	if p.TP <= d.KVHeads {
		return kv * group, end * group
	}
	from, to = part(group, p.holders(d), p.TPRank()%p.holders(d))
	return kv*group + from, kv*group + to
}

// holders is the number of ranks that hold one KV head, where there are several.
func (p Place) holders(d Dims) int { return p.TP / d.KVHeads }

// part is part i of n things that are divided into parts.
func part(n, parts, i int) (from, to int) {
	size, larger := n/parts, n%parts
	from = i*size + min(i, larger)
	to = from + size
	if i < larger {
		to++
	}
	return from, to
}
