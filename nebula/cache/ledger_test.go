package cache

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func newLedger(t testing.TB, blocks, size, capacity int) *Ledger {
	t.Helper()
	l, err := NewLedger(blocks, size, capacity)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// enter begins and ends a step that must be accepted.
func enter(t testing.TB, l *Ledger, step ...Append) {
	t.Helper()
	if err := l.Begin(step); err != nil {
		t.Fatal(err)
	}
	l.End()
}

// state is everything of a ledger but its marks.
func state(l *Ledger) any {
	requests := map[uint64]entry{}
	for id, e := range l.requests {
		requests[id] = entry{e.length, slices.Clone(e.table)}
	}
	return []any{requests, slices.Clone(l.users), slices.Clone(l.filled), l.open}
}

func TestLedgerRefuses(t *testing.T) {
	// Blocks of 4, capacity 12. Request 1 holds 6 tokens in blocks 0 and 1;
	// block 5 is full and left behind by a request that is gone.
	base := func() *Ledger {
		l := newLedger(t, 8, 4, 12)
		enter(t, l, Append{1, 0, 6, []int32{0, 1}}, Append{9, 0, 6, []int32{5, 6}})
		l.Release(9)
		return l
	}
	ok := Append{1, 6, 1, []int32{0, 1}}
	for _, c := range []struct {
		name   string
		step   []Append
		reason string // "" when accepted
	}{
		{"next token", []Append{ok}, ""},
		{"several, into a new block", []Append{{1, 6, 5, []int32{0, 1, 7}}}, ""},
		{"new request", []Append{{2, 0, 3, []int32{2}}}, ""},
		{"shared blocks, used and unused", []Append{{2, 8, 1, []int32{0, 5, 3}}}, ""},
		{"over a block left behind", []Append{{2, 0, 1, []int32{5}}}, ""},
		{"nothing", []Append{{1, 6, 0, []int32{0, 1}}}, "appends 0 tokens"},
		{"negative count", []Append{{1, 6, -1, []int32{0, 1}}}, "appends -1"},
		{"a gap", []Append{{1, 7, 1, []int32{0, 1}}}, "continues at position 7, but holds 6"},
		{"again", []Append{{1, 5, 1, []int32{0, 1}}}, "continues at position 5, but holds 6"},
		{"negative position", []Append{{2, -4, 1, []int32{2}}}, "exceed the capacity"},
		{"over capacity", []Append{{1, 6, 7, []int32{0, 1, 2, 3}}}, "exceed the capacity of 12"},
		{"overflow", []Append{{2, 4, int(^uint(0) >> 1), []int32{0, 2}}}, "exceed the capacity"},
		{"short table", []Append{{1, 6, 3, []int32{0, 1}}}, "table of 2 blocks; 3 to 3"},
		{"long table", []Append{{1, 6, 1, []int32{0, 1, 2, 3}}}, "table of 4 blocks"},
		{"block out of pool", []Append{{2, 0, 1, []int32{8}}}, "block 8 is not in the pool of 8"},
		{"negative block", []Append{{2, 0, 1, []int32{-1}}}, "block -1 is not"},
		{"block twice", []Append{{2, 0, 8, []int32{3, 3}}}, "block 3 is twice"},
		{"shared block twice", []Append{{2, 8, 1, []int32{5, 5, 3}}}, "block 5 is twice"},
		{"another table", []Append{{1, 6, 1, []int32{1, 0}}}, "its table is [1 0] and was [0 1]"},
		{"in the middle of a block", []Append{{2, 2, 1, []int32{0}}}, "not the end of a block"},
		{"shares what is not full", []Append{{2, 4, 1, []int32{1, 2}}}, "shares block 1, of which 2 of 4"},
		{"shares what was never written", []Append{{2, 4, 1, []int32{3, 2}}}, "0 of 4"},
		{"writes another's block", []Append{{2, 0, 1, []int32{1}}}, "writes block 1, which another request has"},
		{"grows into another's block", []Append{{2, 4, 1, []int32{5, 0}}}, "writes block 0, which another request has"},
		{"two rows of a request", []Append{ok, {1, 7, 1, []int32{0, 1}}}, "two rows"},
		{"two rows write a block", []Append{{2, 0, 1, []int32{3}}, {3, 0, 1, []int32{3}}}, "another row of the step writes"},
		{"reads what the step writes", []Append{{2, 4, 1, []int32{5, 3}}, {3, 0, 1, []int32{5}}}, "reads block 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := base()
			before := state(l)
			err := l.Begin(c.step)
			if c.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var refused *AppendError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("%v, want %q", err, c.reason)
			}
			if refused.Request != c.step[refused.Row].Request {
				t.Errorf("row %d is of another request than %d", refused.Row, refused.Request)
			}
			if !reflect.DeepEqual(before, state(l)) {
				t.Errorf("a refused step changed the ledger")
			}
		})
	}
}

func TestReservedBlocksHoldNothing(t *testing.T) {
	l := newLedger(t, 8, 4, 12)
	enter(t, l, Append{9, 0, 6, []int32{5, 6}})
	l.Release(9)
	enter(t, l, Append{1, 0, 2, []int32{0, 5}}) // takes block 5, writes only block 0
	l.Release(1)
	if err := l.Check([]Append{{2, 4, 1, []int32{5, 3}}}); err == nil {
		t.Error("what block 5 held before it was taken is shared")
	}
}

func TestATornStepStopsTheLedger(t *testing.T) {
	l := newLedger(t, 4, 4, 16)
	if err := l.Begin([]Append{{1, 0, 2, []int32{0}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Check([]Append{{1, 2, 1, []int32{0}}}); !errors.Is(err, ErrTorn) {
		t.Fatalf("%v after a step that was not finished", err)
	}
	l.End()
	enter(t, l, Append{1, 2, 1, []int32{0}})
}

func TestReleaseForgetsOnce(t *testing.T) {
	l := newLedger(t, 4, 4, 16)
	enter(t, l, Append{1, 0, 5, []int32{2, 3}})
	if l.Len(1) != 5 || l.Held() != 2 || l.Requests() != 1 {
		t.Errorf("%d tokens in %d blocks of %d requests", l.Len(1), l.Held(), l.Requests())
	}
	if !l.Release(1) || l.Release(1) {
		t.Error("not released exactly once")
	}
	if l.Len(1) != 0 || l.Held() != 0 || l.Requests() != 0 {
		t.Error("something is left")
	}
}

// What a pool plans, the ledger accepts, and both count the same.
func TestLedgerFollowsThePool(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p := newPool(t, 4+rng.IntN(20), 1+rng.IntN(4))
		l := newLedger(t, p.Blocks(), p.BlockSize(), p.Blocks()*p.BlockSize())
		type live struct {
			id  uint64
			seq *Sequence
		}
		var all []*live
		var id uint64
		for range 200 {
			var step []Append
			grow := func(r *live, n int) {
				pos, more := r.seq.Len(), make([]int32, n)
				for i := range more {
					more[i] = int32(rng.IntN(2))
				}
				if r.seq.Extend(more) == nil {
					step = append(step, Append{r.id, pos, n, r.seq.Blocks()})
				}
			}
			for _, r := range all {
				if rng.IntN(2) == 0 {
					grow(r, 1+rng.IntN(4))
				}
			}
			for range rng.IntN(3) {
				id++
				prompt := make([]int32, 1+rng.IntN(10))
				for i := range prompt {
					prompt[i] = int32(rng.IntN(2))
				}
				r := &live{id, p.Open(prompt)}
				before := len(step)
				if grow(r, 1+rng.IntN(4)); len(step) == before {
					r.seq.Release()
					continue
				}
				all = append(all, r)
			}
			enter(t, l, step...)
			for _, r := range all {
				r.seq.Publish()
			}
			all = slices.DeleteFunc(all, func(r *live) bool {
				gone := rng.IntN(8) == 0
				if gone {
					r.seq.Release()
					l.Release(r.id)
				}
				return gone
			})
			if l.Held() != p.Stats().Used || l.Requests() != len(all) {
				t.Fatalf("the ledger has %d blocks of %d requests, the pool %d of %d", l.Held(), l.Requests(), p.Stats().Used, len(all))
			}
		}
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte{1, 0, 3, 1, 2, 1, 3, 2, 2, 2, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func() int {
			if at == len(data) {
				return 0
			}
			at++
			return int(int8(data[at-1]))
		}
		l := newLedger(t, 6, 3, 12)
		for at < len(data) {
			var step []Append
			for range next() & 3 {
				row := Append{Request: uint64(next() & 3), Pos: next(), Tokens: next()}
				for range next() & 7 {
					row.Blocks = append(row.Blocks, int32(next()))
				}
				step = append(step, row)
			}
			before := state(l)
			if err := l.Begin(step); err != nil {
				if !reflect.DeepEqual(before, state(l)) {
					t.Fatalf("refused with %v, but changed", err)
				}
			}
			l.End()
			l.Release(uint64(next() & 3))
			checkLedger(t, l)
		}
	})
}

// checkLedger verifies that no position of a block is written by two requests.
func checkLedger(t *testing.T, l *Ledger) {
	t.Helper()
	users := make([]int32, len(l.users))
	for id, e := range l.requests {
		for i, b := range e.table {
			users[b]++
			if have := e.length - i*l.blockSize; have > 0 && l.filled[b] < int32(min(have, l.blockSize)) {
				t.Fatalf("request %d: block %d lacks its tokens", id, b)
			}
		}
	}
	if !slices.Equal(users, l.users) {
		t.Fatalf("users %v, want %v", l.users, users)
	}
	for _, e := range l.requests {
		for i, b := range e.table {
			if e.length < (i+1)*l.blockSize && users[b] > 1 {
				t.Fatalf("block %d is not full and has %d users", b, users[b])
			}
		}
	}
}

func BenchmarkLedgerStep(b *testing.B) {
	l := newLedger(b, 1024, 16, 1024)
	step := make([]Append, 16)
	for i := range step {
		table := make([]int32, 64)
		for j := range table {
			table[j] = int32(i*64 + j)
		}
		step[i] = Append{uint64(i), 0, 512, table}
	}
	for b.Loop() {
		if err := l.Begin(step); err != nil {
			b.Fatal(err)
		}
		l.End()
		for i := range step {
			if step[i].Pos += step[i].Tokens; step[i].Pos == 1024 {
				step[i].Pos, step[i].Tokens = 0, 512
				l.Release(step[i].Request)
			} else {
				step[i].Tokens = 1
			}
		}
	}
}
