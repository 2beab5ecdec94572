package plan

import (
	"context"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// decoding appends to a cache that the caller holds, and twice to one that the
// program makes; the first state of that is read before the second takes over.
const decoding = `graph decoding(%q: f32[1,2,1,16], %new: f32[1,2,1,16], %keys: f32[1,2,8,16], %pos: i64[1], %later: i64[1]) {
  %keys2: f32[1,2,8,16] = kv_append %keys, %new, %pos
  %made: f32[1,2,8,16] = exp %keys2
  %made2: f32[1,2,8,16] = kv_append %made, %q, %pos
  %a: f32[1,2,1,16] = cached_attention %q, %keys2, %made2, %pos
  %made3: f32[1,2,8,16] = kv_append %made2, %new, %later
  %b: f32[1,2,1,16] = cached_attention %q, %keys2, %made3, %later
  %y: f32[1,2,1,16] = add %a, %b
  return %y, %keys2
}
`

func TestCaches(t *testing.T) {
	g, err := ir.Parse(op.Registry, decoding)
	if err != nil {
		t.Fatal(err)
	}
	p := mustPlan(t, g, Options{})
	if v := p.value("keys2"); v.Place != InInput || v.Donated != "keys" || v.Base != "keys" || v.Copied {
		t.Errorf("%+v", v)
	}
	made := p.value("made")
	for _, name := range []string{"made2", "made3"} {
		if v := p.value(name); v.Place != InSlot || v.Base != "made" || v.Slot != made.Slot || v.Offset != made.Offset {
			t.Errorf("%+v, want it where %+v is", v, made)
		}
	}
	if p.value("a").Start >= p.value("made3").Start {
		t.Errorf("the second append runs in step %d, before the reader of the first in step %d", p.value("made3").Start, p.value("a").Start)
	}
	if want := int64(1024 + 128 + 128); p.Planned != want {
		t.Errorf("%d bytes, want %d: one cache and the two results that live together", p.Planned, want)
	}
	var inputs []*tensor.Tensor
	for i, v := range g.Inputs {
		x, err := tensor.Randn(uint64(i), v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		if v.Spec.DType == tensor.I64 {
			if x, err = tensor.From([]int{1}, []int64{int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		inputs = append(inputs, x)
	}
	got, err := Simulate(context.Background(), p, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range evaluate(t, g, inputs) {
		if !tensor.Identical(got[i], want) {
			t.Errorf("output %d differs", i)
		}
	}
}
