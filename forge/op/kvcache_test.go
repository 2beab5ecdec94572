package op

import (
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/tensor"
)

func TestAppend(t *testing.T) {
	const inputs = "%c: f32[2,1,4,1], %n: f32[2,1,2,1], %p: i64[2], %l: i32[2]"
	cache := from[float32](t, []int{2, 1, 4, 1}, 0, 1, 2, 3, 4, 5, 6, 7)
	tokens := from[float32](t, []int{2, 1, 2, 1}, 10, 11, 20, 21)
	for _, c := range []struct {
		pos    []int64
		length []int32
		want   []float64
	}{
		{[]int64{0, 2}, []int32{2, 4}, []float64{10, 11, 2, 3, 4, 5, 20, 21}},
		{[]int64{1, 3}, []int32{2, 4}, []float64{0, 10, 2, 3, 4, 5, 6, 20}},  // one token each
		{[]int64{4, 2}, []int32{4, 0}, []float64{0, 1, 2, 3, 4, 5, 6, 7}},    // full, idle
		{[]int64{0, 0}, []int32{4, 1}, []float64{10, 11, 2, 3, 20, 5, 6, 7}}, // a length beyond the tokens
	} {
		out, err := runNode(t.Context(), inputs, "f32[2,1,4,1]", "kv_append %c, %n, %p, %l",
			cache, tokens, from(t, []int{2}, c.pos...), from(t, []int{2}, c.length...))
		if err != nil {
			t.Fatal(err)
		}
		wantElems(t, out, c.want...)
	}
}

// TestAppendInPlace gives the cache's own tensor as the result.
func TestAppendInPlace(t *testing.T) {
	g, err := parseNode("%c: f32[1,1,3,1], %n: f32[1,1,1,1], %p: i64[]", "f32[1,1,3,1]", "kv_append %c, %n, %p")
	if err != nil {
		t.Fatal(err)
	}
	cache := from[float32](t, []int{1, 1, 3, 1}, 1, 2, 3)
	in := []*tensor.Tensor{cache, from[float32](t, []int{1, 1, 1, 1}, 9), from[int64](t, nil, 1)}
	n := g.Nodes[0]
	if err := n.Op.Eval(call(t, n, in, cache)); err != nil {
		t.Fatal(err)
	}
	wantElems(t, cache, 1, 9, 3)
}

// TestAppendErrors checks that a bad position is an error and leaves the result
// as it was, here the cache itself.
func TestAppendErrors(t *testing.T) {
	const inputs = "%c: f32[2,1,4,1], %n: f32[2,1,2,1], %p: i64[2], %l: i64[2]"
	for _, c := range []struct {
		pos, length []int64
		want        string
	}{
		{[]int64{0, -1}, []int64{2, 2}, "pos %p of row 1 is -1; the cache has positions 0 to 3"},
		{[]int64{5, 0}, []int64{0, 0}, "pos %p of row 0 is 5"},
		{[]int64{1 << 62, 0}, []int64{2, 2}, "pos %p of row 0 is 4611686018427387904"},
		{[]int64{0, 0}, []int64{2, 5}, "length %l of row 1 is 5; the cache holds 0 to 4 tokens"},
		{[]int64{0, 0}, []int64{-1, 0}, "length %l of row 0 is -1"},
	} {
		g, err := parseNode(inputs, "f32[2,1,4,1]", "kv_append %c, %n, %p, %l")
		if err != nil {
			t.Fatal(err)
		}
		cache := random(t, 1, 2, 1, 4, 1)
		before := cache.Clone()
		in := []*tensor.Tensor{cache, random(t, 2, 2, 1, 2, 1), from(t, []int{2}, c.pos...), from(t, []int{2}, c.length...)}
		err = g.Nodes[0].Op.Eval(call(t, g.Nodes[0], in, cache))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("pos %v, length %v: got error %v, want %s", c.pos, c.length, err, c.want)
		}
		if !tensor.Identical(cache, before) {
			t.Errorf("pos %v, length %v: a refused append changed the cache", c.pos, c.length)
		}
	}
	_, err := runNode(t.Context(), "%c: f32[1,1,4,1], %n: f32[1,1,2,1], %p: i64[]", "f32[1,1,4,1]", "kv_append %c, %n, %p",
		random(t, 1, 1, 1, 4, 1), random(t, 2, 1, 1, 2, 1), from[int64](t, nil, 3))
	if want := "row 0 has 2 tokens from position 3 on; the cache holds 4"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestPagedErrors(t *testing.T) {
	const (
		inputs = "%k: f32[3,1,2,1], %n: f32[2,1,1,1], %t: i32[2,2], %p: i64[2]"
		write  = "paged_kv_append %k, %n, %t, %p"
	)
	for _, c := range []struct {
		table []int32
		pos   []int64
		want  string
	}{
		{[]int32{0, 3, 1, 2}, []int64{2, 0}, "entry 1 of row 0 of the block table is 3; the pool has blocks 0 to 2"},
		{[]int32{0, 1, -1, 2}, []int64{2, 0}, "entry 0 of row 1 of the block table is -1"},
		{[]int32{0, 1, 2, 1}, []int64{2, 2}, "rows 0 and 1 both write place 0 of block 1"},
		{[]int32{0, 1, 2, 1}, []int64{4, 0}, "row 0 has 1 tokens from position 4 on; the cache holds 4"},
	} {
		_, err := runNode(t.Context(), inputs, "f32[3,1,2,1]", write,
			random(t, 1, 3, 1, 2, 1), random(t, 2, 2, 1, 1, 1), from(t, []int{2, 2}, c.table...), from(t, []int{2}, c.pos...))
		if err == nil || err.Error() != c.want && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("table %v, pos %v: got error %v, want %s", c.table, c.pos, err, c.want)
		}
	}
	// Entries beyond the tokens may hold anything; entries of them may not.
	for pos, want := range map[int64]string{1: "", 2: "entry 1 of row 0 of the block table is 99"} {
		pool := random(t, 2, 3, 1, 2, 1)
		_, err := runNode(t.Context(), "%q: f32[1,1,1,1], %k: f32[3,1,2,1], %t: i32[1,2], %p: i64[]", "f32[1,1,1,1]", "paged_attention %q, %k, %k, %t, %p",
			random(t, 1, 1, 1, 1, 1), pool, pool, from[int32](t, []int{1, 2}, 2, 99), from(t, nil, pos))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("pos %d: got error %v, want %q", pos, err, want)
		}
	}
}

// TestPagedEqualsContiguous runs a decoder's steps over a contiguous cache and
// over a pool with shuffled blocks: prefill, then token by token, with rows of
// different lengths and an idle row.
func TestPagedEqualsContiguous(t *testing.T) {
	const (
		b, h, g, d, s, block = 3, 4, 2, 8, 12, 4
		cached               = "%q: f32[3,4,T,8], %k: f32[3,2,12,8], %v: f32[3,2,12,8], %p: i64[3], %l: i64[3]"
		paged                = "%q: f32[3,4,T,8], %k: f32[9,2,4,8], %v: f32[9,2,4,8], %t: i64[3,3], %p: i64[3], %l: i64[3]"
	)
	table := from[int64](t, []int{b, s / block}, 7, 2, 5, 0, 8, 1, 3, 6, 4)
	k, v := random(t, 1, b, g, s, d), random(t, 2, b, g, s, d)
	pk, pv := random(t, 3, b*s/block, g, block, d), random(t, 4, b*s/block, g, block, d)
	pos, steps := []int64{0, 0, 0}, [][]int64{{5, 3, 0}, {1, 1, 0}, {1, 1, 2}, {4, 0, 5}}
	for i, counts := range steps {
		tokens := max(1, int(slices.Max(counts)))
		size := func(s string) string { return strings.ReplaceAll(s, "T", string(rune('0'+tokens))) }
		length := []int64{pos[0] + counts[0], pos[1] + counts[1], pos[2] + counts[2]}
		p, l := from(t, []int{b}, pos...), from(t, []int{b}, length...)
		write := func(what string, seed uint64, cache, pool *tensor.Tensor) (_, _ *tensor.Tensor) {
			n := random(t, seed, b, g, tokens, d)
			c, err := runNode(t.Context(), size("%c: f32[3,2,12,8], %n: f32[3,2,T,8], %p: i64[3], %l: i64[3]"), "f32[3,2,12,8]", "kv_append %c, %n, %p, %l", cache, n, p, l)
			if err != nil {
				t.Fatalf("step %d, %s: %v", i, what, err)
			}
			q, err := runNode(t.Context(), size("%c: f32[9,2,4,8], %n: f32[3,2,T,8], %t: i64[3,3], %p: i64[3], %l: i64[3]"), "f32[9,2,4,8]", "paged_kv_append %c, %n, %t, %p, %l", pool, n, table, p, l)
			if err != nil {
				t.Fatalf("step %d, %s: %v", i, what, err)
			}
			return c, q
		}
		k, pk = write("keys", uint64(10+i), k, pk)
		v, pv = write("values", uint64(20+i), v, pv)
		q := random(t, uint64(30+i), b, h, tokens, d)
		result := size("f32[3,4,T,8]")
		want, err := runNode(t.Context(), size(cached), result, "cached_attention %q, %k, %v, %p, %l", q, k, v, p, l)
		if err != nil {
			t.Fatal(err)
		}
		got, err := runNode(t.Context(), size(paged), result, "paged_attention %q, %k, %v, %t, %p, %l", q, pk, pv, table, p, l)
		if err != nil {
			t.Fatal(err)
		}
		if !tensor.Identical(got, want) {
			t.Errorf("step %d: attention over blocks differs from attention over one piece", i)
		}
		pos = length
	}
}
