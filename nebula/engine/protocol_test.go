package engine

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

func TestHeader(t *testing.T) {
	want := header{kind: kindStep, epoch: 3, rank: 2, sequence: 1 << 40, length: 99}
	good := make([]byte, headerBytes)
	want.encode(good)
	if got, err := decodeHeader(good); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, c := range []struct {
		at   int
		by   byte
		want string
	}{
		{0, 'X', "begins with"}, {4, 9, "version 9"}, {6, 0, "kind 0"}, {6, byte(kinds), "which there is not"}, {27, 0x7f, "it may have"}, {31, 1, "not zero"},
	} {
		bad := bytes.Clone(good)
		bad[c.at] = c.by
		if _, err := decodeHeader(bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d as %#x: %v", c.at, c.by, err)
		}
	}
}

// TestConn checks what an end says of messages that are not the next ones of its peer.
func TestConn(t *testing.T) {
	message := func(h header, payload string) []byte {
		b := make([]byte, headerBytes)
		h.length = uint32(len(payload))
		h.encode(b)
		return append(b, payload...)
	}
	good := header{kind: kindPing, epoch: 4, rank: 2, sequence: 1}
	for name, c := range map[string]struct {
		change func(*header)
		want   string
	}{
		"good":        {func(*header) {}, ""},
		"epoch":       {func(h *header) { h.epoch = 3 }, "epoch 3; this is epoch 4"},
		"other rank":  {func(h *header) { h.rank = 1 }, "from rank 1 on the link of rank 2"},
		"one is lost": {func(h *header) { h.sequence = 2 }, "follows message 0"},
	} {
		h := good
		c.change(&h)
		in := newConn(stream{bytes.NewReader(message(h, "12345678"))}, 4, 0, 2)
		k, body, err := in.receive()
		if c.want == "" && (err != nil || k != kindPing || string(body) != "12345678") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v %q %v", name, k, body, err)
		}
	}
	whole := message(good, "12345678")
	for cut := range whole {
		if _, _, err := newConn(stream{bytes.NewReader(whole[:cut])}, 4, 0, 2).receive(); err == nil {
			t.Errorf("%d of %d bytes are a message", cut, len(whole))
		}
	}
	out := newConn(stream{}, 4, 0, 2)
	if err := out.send(kindPing, make([]byte, maxWords+1)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long ping: %v", err)
	}
}

// stream is a link that is only read.
type stream struct{ io.Reader }

func (stream) Write([]byte) (int, error) { return 0, net.ErrClosed }
func (stream) Close() error              { return nil }

func testCutter() cutter { return cutter{maxRows: 8, maxTokens: 100} }

func rowsOf(sizes ...int) []Row {
	var rows []Row
	for i, n := range sizes {
		r := Row{Request: uint64(i) << 33, Tokens: make([]int32, n), Pos: 4 * i, Logits: i%2 == 0}
		for k := range n {
			r.Tokens[k] = int32(k)
		}
		for b := range blocksFor(r.Pos+n, 4) {
			r.Blocks = append(r.Blocks, int32(b))
		}
		rows = append(rows, r)
	}
	return rows
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  string
	}{
		{[]int{1}, "1x1"},
		{[]int{1, 1, 1}, "4x1"},
		{[]int{1, 1, 1, 1, 1, 1, 1}, "8x1"},
		{[]int{2}, "1x16"},
		{[]int{17, 1, 16, 1}, "2x1 1x16 1x32"},
		{[]int{20, 20, 20}, "2x32 1x32"},
		{[]int{3, 3, 3, 3, 3, 3, 3}, "4x16 2x16 1x16"},
		{[]int{65}, "1x100"},
		{[]int{64, 64}, "1x64 1x64"},
		{[]int{100}, "1x100"},
	} {
		cut := testCutter()
		var names []string
		seen := 0
		for _, p := range cut.cut(rowsOf(c.sizes...)) {
			if !cut.has(p.bucket) {
				t.Errorf("%v is cut into %v, which is no program", c.sizes, p.bucket)
			}
			p.logits = true
			names = append(names, p.bucket.String())
			seen += len(p.of)
		}
		if got := strings.Join(names, " "); got != c.want || seen != len(c.sizes) {
			t.Errorf("%v is cut into %s, not %s", c.sizes, got, c.want)
		}
	}
	cut := testCutter()
	for _, b := range []bucket{{}, {3, 1, true}, {9, 1, true}, {16, 1, true}, {8, 16, true}, {1, 17, true}, {1, 128, false}, {3, 16, true}} {
		if cut.has(b) {
			t.Errorf("%v counts as a program", b)
		}
	}
}

func encoded(sizes ...int) []byte {
	cut := testCutter()
	rows := rowsOf(sizes...)
	return encodeStep(nil, 12, rows, cut.cut(rows), 4)
}

func TestStep(t *testing.T) {
	cut := testCutter()
	var w work
	for range 2 { // the memory is used again
		for _, sizes := range [][]int{{1}, {30, 1, 1, 5, 90}, {1, 1}} {
			raw := encoded(sizes...)
			if err := w.decode(raw, &cut); err != nil {
				t.Fatal(err)
			}
			if want := rowsOf(sizes...); w.number != 12 || !reflect.DeepEqual(w.rows, want) {
				t.Errorf("%+v came as step %d, %+v", want, w.number, w.rows)
			}
			for i := range raw {
				if err := new(work).decode(raw[:i], &cut); err == nil {
					t.Errorf("%d of %d bytes are a step", i, len(raw))
				}
			}
			if err := new(work).decode(append(raw, 0, 0, 0, 0), &cut); !errors.Is(err, errMore) {
				t.Errorf("a longer message: %v", err)
			}
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = w.decode(encodedOnce, &cut) }); allocs > 0 {
		t.Errorf("%v allocations for a step like others before", allocs)
	}
}

var encodedOnce = encoded(1, 1)

func FuzzStep(f *testing.F) {
	f.Add(encoded(1))
	f.Add(encoded(30, 1, 1, 5, 90))
	m := seeded(f, tinyConfig())
	f.Fuzz(func(t *testing.T, raw []byte) {
		cut := testCutter()
		var w work
		if w.decode(raw, &cut) != nil {
			return
		}
		seen := make([]bool, len(w.rows))
		for _, p := range w.passes {
			if !cut.has(p.bucket) || len(p.of) > p.rows {
				t.Fatalf("pass %+v", p)
			}
			for _, i := range p.of {
				if seen[i] || len(w.rows[i].Tokens) > p.tokens {
					t.Fatalf("row %d of %+v in %+v", i, w.rows, p)
				}
				seen[i] = true
			}
		}
		r := &rank{place: shard.Place{Layout: shard.Layout{TP: 1, PP: 1}}, model: m, backend: single()}
		r.sizes = Options{BlockSize: 4, Blocks: 16, MaxRows: 8}.sizes(r.place.Layout, m.Config)
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		if r.fits(w.rows) == nil {
			_ = r.enter(w.rows)
		}
	})
}

func FuzzMessage(f *testing.F) {
	ok := make([]byte, headerBytes)
	header{kind: kindRelease, rank: 1, sequence: 1, length: 8}.encode(ok)
	f.Add(append(ok, 1, 2, 3, 4, 5, 6, 7, 8))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newConn(stream{bytes.NewReader(raw)}, 0, 0, 1)
		for {
			k, body, err := c.receive()
			if err != nil {
				return
			}
			if len(body) > k.most() {
				t.Fatalf("%v of %d bytes", k, len(body))
			}
		}
	})
}

// FuzzAnswer gives rank 0 answers of a rank.
func FuzzAnswer(f *testing.F) {
	f.Add(uint16(kindFailed), encodeCause(&Error{Rank: 1, Step: 3, Op: "all_reduce", Err: errors.New("x")}, conclusive))
	f.Add(uint16(kindPong), make([]byte, 40))
	f.Add(uint16(kindReady), []byte{})
	f.Fuzz(func(t *testing.T, k uint16, body []byte) {
		l := &Leader{self: &rank{}, peers: make([]*peer, 2), health: newHealth(0, 1, func(*Error) {})}
		p := newPeer(newConn(stream{}, 0, 0, 1))
		_ = l.heed(p, kind(k), body)
		_ = l.heed(p, kind(k), body)
	})
}

// FuzzCommand gives a rank sizes and programs.
func FuzzCommand(f *testing.F) {
	m := seeded(f, tinyConfig())
	layout := shard.Layout{TP: 2, PP: 2}
	raw, err := Options{}.sizes(layout, m.Config).encode(m.Config)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(encodeBuckets([]bucket{{1, 1, true}, {2, 16, false}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := decodeSizes(raw, m.Config, layout); err == nil && s.check(m.Config) != nil {
			t.Errorf("%+v", s)
		}
		cut := testCutter()
		if list, err := decodeBuckets(raw, &cut); err == nil && !bytes.Equal(encodeBuckets(list), raw) && len(raw) > 0 {
			for _, b := range list {
				if !cut.has(b) {
					t.Errorf("%v", b)
				}
			}
		}
	})
}

func TestSizes(t *testing.T) {
	m := seeded(t, tinyConfig())
	l := shard.Layout{TP: 2, PP: 2}
	good := Options{Regions: 5, DType: tensor.BF16}.sizes(l, m.Config)
	raw, err := good.encode(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeSizes(raw, m.Config, l); err != nil || got != good {
		t.Errorf("%+v came as %+v, %v", good, got, err)
	}
	other := m.Config
	other.FF++
	if _, err := decodeSizes(raw, other, l); err == nil || !strings.Contains(err.Error(), "another configuration") {
		t.Errorf("another model: %v", err)
	}
	if _, err := decodeSizes(raw, m.Config, shard.Layout{TP: 1, PP: 4}); err == nil || !strings.Contains(err.Error(), "started for TP 1, PP 4") {
		t.Errorf("another layout: %v", err)
	}
	for name, o := range map[string]Options{
		"the context":         {Context: 65},
		"a block":             {BlockSize: -1},
		"blocks of the cache": {Blocks: -1},
		"rows of a step":      {MaxRows: 1 << 20},
		"tokens of a step":    {MaxTokens: 65},
		"regions":             {Regions: -1},
		"f32 or bf16":         {DType: tensor.F64},
	} {
		if err := o.sizes(l, m.Config).check(m.Config); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCause(t *testing.T) {
	e := &Error{Rank: 1, Epoch: 2, Step: 3, Op: "recv", Err: errors.New("gone")}
	got, w, err := decodeCause(encodeCause(e, noLink), 2, 4)
	if err != nil || w != noLink || got.Error() != e.Error() || got.Error() != "rank 1, epoch 2: recv of step 3: gone" {
		t.Errorf("%v, %v, %v", got, w, err)
	}
	if _, _, err := decodeCause(encodeCause(e, noLink), 2, 1); err == nil {
		t.Error("a rank that there is not is blamed")
	}
	late := func(by, of int) report { return report{by, waitedLong, &Error{Rank: of}} }
	for _, c := range []struct {
		list []report
		want int
	}{
		{[]report{{0, aftermath, &Error{Rank: 5}}, {2, noLink, &Error{Rank: 3}}}, 3},
		{[]report{late(0, 2), late(2, 3)}, 3},
		{[]report{late(2, 3), late(0, 2), late(3, 1)}, 1},
		{[]report{late(0, 1), late(1, 0)}, 1}, // they wait for one another
		{[]report{{0, noResult, &Error{Rank: 3}}, late(3, 0)}, 0},
		{[]report{{0, overdue, &Error{Rank: 1}}, late(1, 2)}, 2}, // rank 1 says nothing while it waits
	} {
		if got := best(c.list).cause.Rank; got != c.want {
			t.Errorf("of %v rank %d is blamed, not %d", c.list, got, c.want)
		}
	}
	group := &collective.Error{Rank: 0, Peer: 2, Op: "all_reduce", Err: collective.ErrTimeout}
	if e := causeOf(0, 1, 9, opExecute, group); e.Rank != 2 || e.Op != "all_reduce" || !errors.Is(e, collective.ErrTimeout) {
		t.Errorf("%+v", e)
	}
}
