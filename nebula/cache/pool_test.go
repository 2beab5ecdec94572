package cache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"forgekernel/forge/tensor"
)

func newPool(t testing.TB, blocks, size int) *Pool {
	t.Helper()
	p, err := New(Config{Blocks: blocks, BlockSize: size, Salt: "model"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fill(t testing.TB, s *Sequence, prompt []int32) {
	t.Helper()
	if err := s.Extend(prompt[s.Len():]); err != nil {
		t.Fatal(err)
	}
	s.Publish()
}

func tokens(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

func TestPrefixIsSharedExceptTheLastToken(t *testing.T) {
	for _, c := range []struct{ prompt, cached int }{{3, 0}, {4, 0}, {5, 4}, {8, 4}, {9, 8}, {12, 8}, {13, 12}, {40, 12}} {
		p := newPool(t, 16, 4)
		first := p.Open(tokens(13))
		fill(t, first, tokens(13))
		again := p.Open(tokens(c.prompt))
		if again.Len() != c.cached || again.Cached() != c.cached {
			t.Errorf("prompt of %d: %d tokens shared, want %d", c.prompt, again.Len(), c.cached)
		}
		if !slices.Equal(again.Blocks(), first.Blocks()[:c.cached/4]) {
			t.Errorf("prompt of %d: blocks %v are not the beginning of %v", c.prompt, again.Blocks(), first.Blocks())
		}
		if s := p.Stats(); s.Shared != c.cached/4 || s.Used != 4 {
			t.Errorf("prompt of %d: %+v", c.prompt, s)
		}
	}
}

func TestBlocksOfTheStepBeingFormedAreNotSharedYet(t *testing.T) {
	p := newPool(t, 8, 4)
	s := p.Open(tokens(9))
	if err := s.Extend(tokens(9)); err != nil {
		t.Fatal(err)
	}
	if m := p.Match(tokens(9)); m != (Match{}) {
		t.Errorf("before Publish: %+v", m)
	}
	if other := p.Open(tokens(9)); other.Len() != 0 {
		t.Errorf("%d tokens shared before they were handed over", other.Len())
	}
	s.Publish()
	if m := p.Match(tokens(9)); m != (Match{Tokens: 8}) {
		t.Errorf("after Publish: %+v", m)
	}
	s.Release()
	if m := p.Match(tokens(9)); m != (Match{Tokens: 8, Idle: 2}) {
		t.Errorf("after Release: %+v", m)
	}
}

func TestUnpublishedBlocksVanishWithTheirSequence(t *testing.T) {
	p := newPool(t, 8, 4)
	a, b := p.Open(tokens(9)), p.Open(tokens(13))
	if err := a.Extend(tokens(9)); err != nil {
		t.Fatal(err)
	}
	fill(t, b, tokens(13)) // the same content behind a's nodes, and one block more
	a.Release()
	if m := p.Match(tokens(13)); m != (Match{}) {
		t.Errorf("%+v: a's step was never sent", m)
	}
	b.Release()
	if s := p.Stats(); s.Free != 8 {
		t.Errorf("blocks lost: %+v", s)
	}
}

func TestLeastRecentlyUsedGoesFirstAndTailsBeforeHeads(t *testing.T) {
	p := newPool(t, 4, 2)
	old, recent := []int32{1, 1, 2, 2}, []int32{7, 7, 8, 8}
	for _, prompt := range [][]int32{old, recent} {
		s := p.Open(prompt)
		fill(t, s, prompt)
		s.Release()
	}
	s := p.Open([]int32{5, 5, 5})
	fill(t, s, []int32{5, 5}) // one block: the tail of old leaves
	for _, c := range []struct {
		prompt []int32
		cached int
	}{{append(old, 9), 2}, {append(recent, 9), 4}} {
		if m := p.Match(c.prompt); m.Tokens != c.cached {
			t.Errorf("%v: %d cached, want %d", c.prompt, m.Tokens, c.cached)
		}
	}
	if got := p.Stats(); got.Evictions != 1 || got.Cached != 3 || got.Used != 1 {
		t.Errorf("%+v", got)
	}
}

func TestOutOfBlocksChangesNothing(t *testing.T) {
	p := newPool(t, 3, 4)
	s := p.Open(tokens(10))
	fill(t, s, tokens(6))
	before := p.Stats()
	err := s.Extend(tokens(7))
	var out *OutOfBlocks
	if !errors.As(err, &out) || out.Need != 2 || out.Free != 1 {
		t.Fatalf("%v", err)
	}
	if p.Stats() != before || s.Len() != 6 || len(s.Blocks()) != 2 {
		t.Errorf("a refused Extend changed something: %+v, %d tokens", p.Stats(), s.Len())
	}
}

func TestReleasedTwice(t *testing.T) {
	p := newPool(t, 3, 4)
	s := p.Open(tokens(5))
	fill(t, s, tokens(5))
	s.Release()
	s.Release()
	if got := p.Stats(); got.Used != 0 || got.Cached != 1 || got.Free != 2 {
		t.Errorf("%+v", got)
	}
	if err := s.Extend(tokens(1)); !errors.Is(err, ErrReleased) {
		t.Errorf("Extend after Release: %v", err)
	}
}

func TestImpossiblePools(t *testing.T) {
	for _, c := range []Config{{}, {Blocks: 1}, {BlockSize: 1}, {Blocks: -1, BlockSize: -1}, {Blocks: 1 << 40, BlockSize: 1 << 40}, {Blocks: 2, BlockSize: MaxTokens}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestPlannedBytes(t *testing.T) {
	// SmolLM2-135M, TP 3, PP 2: 30 layers, 3 KV heads of 64, bf16.
	g := Geometry{Layers: 15, Heads: 1, HeadDim: 64, DType: tensor.BF16}
	if got, want := g.Planned(8, 2048), int64(2*15*8*2048*1*64*2); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// naive is what the pool must do, without trees or hashes: content by block
// number, shared content as strings.
type naive struct {
	size    int
	written map[int32][]int32  // what a step has put into the block
	seen    map[int32][]uint64 // and, hashed, all tokens before and with it, on which keys and values depend
}

// digest is independent of the pool's hashes.
func digest(tokens []int32) uint64 {
	h := uint64(len(tokens))
	for _, token := range tokens {
		h = h*6364136223846793005 + uint64(token) + 1
	}
	return h
}

type run struct {
	seq    *Sequence
	tokens []int32 // all that should be in its blocks
}

func (n *naive) check(t *testing.T, p *Pool, runs []*run) {
	t.Helper()
	used := map[int32]int{}
	for _, r := range runs {
		if r.seq.Len() != len(r.tokens) || len(r.seq.Blocks()) != p.BlocksFor(len(r.tokens)) {
			t.Fatalf("%d tokens in %d blocks, want %d", r.seq.Len(), len(r.seq.Blocks()), len(r.tokens))
		}
		for i, token := range r.tokens {
			b := r.seq.Blocks()[i/n.size]
			if got := n.written[b][i%n.size]; got != token {
				t.Fatalf("position %d in block %d holds %d, want %d", i, b, got, token)
			}
			if got, want := n.seen[b][i%n.size], digest(r.tokens[:i+1]); got != want {
				t.Fatalf("position %d in block %d was computed after others, %x and not %x", i, b, got, want)
			}
		}
		for i, b := range r.seq.Blocks() {
			used[b]++
			if (i+1)*n.size > len(r.tokens) && used[b] > 1 {
				t.Fatalf("block %d is shared but not full", b)
			}
		}
	}
	shared := 0
	for _, holders := range used {
		if holders > 1 {
			shared++
		}
	}
	s := p.Stats()
	if s.Used != len(used) || s.Shared != shared || s.Used+s.Cached+s.Free != s.Blocks || p.Available() != s.Cached+s.Free {
		t.Fatalf("%+v, but %d used and %d shared", s, len(used), shared)
	}
	n.checkTree(t, p, used)
}

// checkTree verifies the tree's shape: closed under prefixes, index exact, the
// unreferenced in the list and no others.
func (n *naive) checkTree(t *testing.T, p *Pool, used map[int32]int) {
	t.Helper()
	nodes, unused := 0, 0
	for i := range p.blocks {
		b := &p.blocks[i]
		if int(b.refs) != used[int32(i)] {
			t.Fatalf("block %d has %d references, want %d", i, b.refs, used[int32(i)])
		}
		if !b.inTree {
			continue
		}
		nodes++
		if p.index[b.hash] != int32(i) || b.parent != none && !p.blocks[b.parent].inTree {
			t.Fatalf("block %d: index or parent is wrong", i)
		}
		if b.refs == 0 {
			unused++
		}
		if !slices.Equal(p.content(int32(i)), n.written[int32(i)]) {
			t.Fatalf("block %d: the books say %v, the cache holds %v", i, p.content(int32(i)), n.written[int32(i)])
		}
	}
	listed := 0
	for b := p.oldest; b != none; b = p.blocks[b].newer {
		listed++
	}
	if nodes != len(p.index) || unused != listed || listed != p.Stats().Cached {
		t.Fatalf("%d nodes, %d in the index; %d unreferenced, %d listed", nodes, len(p.index), unused, listed)
	}
}

// play runs operations chosen by next, which returns a number below its
// argument, and checks the pool after each.
func play(t *testing.T, p *Pool, vocab, steps int, next func(int) int) {
	n := &naive{size: p.BlockSize(), written: map[int32][]int32{}, seen: map[int32][]uint64{}}
	for b := range int32(p.Blocks()) {
		n.written[b], n.seen[b] = make([]int32, n.size), make([]uint64, n.size)
	}
	var runs []*run
	var prompts [][]int32
	for range steps {
		switch op := next(10); {
		case op < 3 || len(runs) == 0: // open, often with a prompt known before
			var prompt []int32
			if len(prompts) > 0 && next(2) == 0 {
				prompt = slices.Clone(prompts[next(len(prompts))])
				prompt = prompt[:1+next(len(prompt))]
			}
			for range 1 + next(3*n.size) {
				prompt = append(prompt, int32(next(vocab)))
			}
			s := p.Open(prompt)
			r := &run{s, prompt[:s.Len():s.Len()]}
			if s.Len() >= len(prompt) {
				t.Fatal("the last token of a prompt was taken from the cache")
			}
			runs = append(runs, r)
			n.extend(r, prompt[s.Len():])
			prompts = append(prompts, prompt)
		case op < 4: // fork: another continuation of the same tokens
			from := runs[next(len(runs))]
			prompt := append(slices.Clone(from.tokens), int32(next(vocab)))
			s := p.Open(prompt)
			r := &run{s, prompt[:s.Len():s.Len()]}
			runs = append(runs, r)
			n.extend(r, prompt[s.Len():])
		case op < 8:
			var more []int32
			for range 1 + next(n.size+2) {
				more = append(more, int32(next(vocab)))
			}
			n.extend(runs[next(len(runs))], more)
		case op < 9: // the step is handed over
			for _, r := range runs {
				r.seq.Publish()
			}
		default:
			i := next(len(runs))
			runs[i].seq.Release()
			runs = slices.Delete(runs, i, i+1)
		}
		n.check(t, p, runs)
	}
	for _, r := range runs {
		r.seq.Release()
	}
	n.check(t, p, nil)
}

// extend also plays the step that writes the tokens into the blocks.
func (n *naive) extend(r *run, more []int32) {
	if r.seq.Extend(more) != nil {
		return
	}
	for _, token := range more {
		i := len(r.tokens)
		r.tokens = append(r.tokens, token)
		b := r.seq.Blocks()[i/n.size]
		n.written[b][i%n.size], n.seen[b][i%n.size] = token, digest(r.tokens)
	}
}

func TestPoolAgainstTheNaiveModel(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := newPool(t, 1+rng.IntN(24), 1+rng.IntN(4))
		if seed%3 == 0 { // hashes that collide all the time
			p.hash = func(parent uint64, tokens []int32) uint64 { return chain(parent, tokens) % 5 }
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { play(t, p, 2+int(seed%3), 400, rng.IntN) })
	}
}

// A sequence of many blocks leaves the tree in a bounded stack.
func TestLongSequenceIsEvicted(t *testing.T) {
	const blocks = 1 << 15
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	p := newPool(t, blocks, 1)
	s := p.Open(tokens(blocks))
	fill(t, s, tokens(blocks))
	s.Release()
	p.leave(p.newest) // the first block, on which all others depend
	if st := p.Stats(); st.Free != blocks || st.Cached != 0 || len(p.index) != 0 {
		t.Errorf("after its first block has left: %+v, %d in the index", st, len(p.index))
	}
}

func FuzzPool(f *testing.F) {
	f.Add([]byte{4, 2, 0, 0, 1, 1, 1, 5, 9, 3, 3, 8, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func(n int) int {
			if at == len(data) {
				return 0
			}
			at++
			return int(data[at-1]) % n
		}
		p := newPool(t, 1+next(16), 1+next(4))
		if next(2) == 1 {
			p.hash = func(uint64, []int32) uint64 { return 1 }
		}
		play(t, p, 3, min(len(data), 200), next)
	})
}

func BenchmarkDecodeRow(b *testing.B) {
	p := newPool(b, 4096, 16)
	s := p.Open(tokens(512))
	fill(b, s, tokens(512))
	one := []int32{1}
	for b.Loop() {
		if s.Extend(one) != nil {
			s.Release()
			s = p.Open(tokens(512))
			fill(b, s, tokens(512))
		}
		s.Publish()
	}
}
