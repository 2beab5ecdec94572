//go:build !race

package engine

import (
	"testing"

	"forgekernel/forge/backend/cpu"
)

// TestDecodeAllocates checks that a decode step takes no new memory: neither for its way
// through the engine nor for logits that are given back. Where ranks divide the
// vocabulary, each makes a tensor for the logits that it gathers.
func TestDecodeAllocates(t *testing.T) {
	if _, err := cpu.FindCompiler(); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		tp   int
		most float64
	}{{1, 0}, {2, 2 * 3}} {
		l := local(t, seeded(t, cacheResident()), c.tp, 1, LocalOptions{Backend: native(1), Options: Options{BlockSize: 16, Blocks: 64}})
		d := newDecoder(t, l)
		for range 8 {
			d.step(t)
		}
		// Signs of life between ranks have some, now and then.
		if n := testing.AllocsPerRun(400, func() { d.step(t) }); n > c.most {
			t.Errorf("a step of %d ranks makes %v allocations", c.tp, n)
		}
	}
}

// TestReuse checks that logits which are given back are those of a later step, and that
// others are left alone.
func TestReuse(t *testing.T) {
	d := newDecoder(t, local(t, seeded(t, cacheResident()), 1, 1, LocalOptions{Backend: single(), Options: Options{BlockSize: 16, Blocks: 64}}))
	result := func() Result {
		if err := d.submit(t); err != nil {
			t.Fatal(err)
		}
		r, err := d.Wait(t.Context(), d.ticket)
		if err != nil {
			t.Fatal(err)
		}
		d.pos++
		return r
	}
	kept, given := result(), result()
	first, want := &given.Logits[0][0], append([]float32(nil), kept.Logits[0]...)
	given.Reuse()
	given.Reuse() // does nothing
	next, last := result(), result()
	if &next.Logits[0][0] != first || &last.Logits[0][0] == first || given.Logits != nil {
		t.Error("the memory is not that which was given back")
	}
	for i, v := range kept.Logits[0] {
		if v != want[i] {
			t.Fatalf("logit %d of a result that was kept became %v", i, v)
		}
	}
}
