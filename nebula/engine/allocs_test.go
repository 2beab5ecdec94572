//go:build !race

package engine

import (
	"testing"

	"forgekernel/forge/backend/cpu"
)

// TestDecodeAllocates checks that a decode step on one rank takes no new memory: neither
// for its way through the engine nor for logits that are given back.
func TestDecodeAllocates(t *testing.T) {
	if _, err := cpu.FindCompiler(); err != nil {
		t.Skip(err)
	}
	l := local(t, seeded(t, cacheResident()), 1, 1, LocalOptions{Backend: native(1), Options: Options{BlockSize: 16, Blocks: 64}})
	d := newDecoder(t, l)
	for range 8 {
		d.step(t)
	}
	if n := testing.AllocsPerRun(100, func() { d.step(t) }); n > 0 {
		t.Errorf("a step makes %v allocations", n)
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
