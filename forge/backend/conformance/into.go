package conformance

import (
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// cacheProgram updates a cache and reads it.
const cacheProgram = `graph append(%c: f32[1,1,64,16], %n: f32[1,1,1,16], %p: i64[1]) {
  %d: f32[1,1,64,16] = kv_append %c, %n, %p
  %s: f32[1,1,16] = sum %d {axes = [2]}
  return %d, %s
}`

// testInto compares results in tensors of the caller, used twice, with those of Run.
func testInto(t *testing.T, exe backend.Executable, inputs func(seed uint64) []*tensor.Tensor) {
	outputs := zeros(t, exe.Graph().Outputs)
	for seed := range uint64(2) {
		in := inputs(seed)
		want, err := exe.Run(t.Context(), in...)
		if err != nil {
			t.Fatal(err)
		}
		if err := backend.RunInto(t.Context(), exe, outputs, in); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !tensor.Identical(outputs[i], want[i]) {
				t.Errorf("output %d is not that of Run", i)
			}
		}
	}
	if err := backend.RunInto(t.Context(), exe, outputs[1:], inputs(0)); err == nil {
		t.Error("a missing output was accepted")
	}
}

// testCache updates a cache into another tensor, which leaves the input as it was,
// and then where it is.
func testCache(t *testing.T, b backend.Backend) {
	g, err := ir.Parse(op.Registry, cacheProgram)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	in := zeros(t, g.Inputs)
	for i, x := range in[0].Float32() {
		in[0].Float32()[i] = x + float32(i)
	}
	in[1].SetElem(3, -7)
	in[2].SetElem(0, 5)
	before := in[0].Clone()
	want, err := exe.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	out := zeros(t, g.Outputs)
	for _, cache := range []*tensor.Tensor{out[0], in[0]} {
		if !tensor.Identical(in[0], before) {
			t.Fatal("the cache that goes in was changed")
		}
		if err := backend.RunInto(t.Context(), exe, []*tensor.Tensor{cache, out[1]}, in); err != nil {
			t.Fatal(err)
		}
		if !tensor.Identical(cache, want[0]) || !tensor.Identical(out[1], want[1]) {
			t.Error("the cache or what is read from it is not that of Run")
		}
	}
}

func zeros(t *testing.T, values []*ir.Value) []*tensor.Tensor {
	t.Helper()
	list := make([]*tensor.Tensor, len(values))
	for i, v := range values {
		x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = x
	}
	return list
}
