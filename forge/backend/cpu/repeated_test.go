package cpu_test

import (
	"math"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestRepeated sums over a dimension along which both operands repeat one element,
// by an expand or because the dimension has length 1: lanes beyond it must not
// count.
func TestRepeated(t *testing.T) {
	var graphs []*ir.Graph
	var inputs [][]*tensor.Tensor
	for _, src := range []string{
		"graph f(%x: f32[3,1], %y: f32[1,2]) {\n %a: f32[3,5] = expand %x {shape = [3, 5]}\n %b: f32[5,2] = expand %y {shape = [5, 2]}\n %z: f32[3,2] = matmul %a, %b\n return %z\n}",
		"graph f(%x: f32[1,1], %y: f32[7,1]) {\n %a: f32[1,21] = expand %x {shape = [1, 21]}\n %b: f32[7,21] = expand %y {shape = [7, 21]}\n %t: f32[21,7] = transpose %b\n %z: f32[1,7] = matmul %a, %t\n return %z\n}",
		"graph f(%x: bf16[1], %y: bf16[3], %v: bf16[1,1,3,3], %p: i32[1]) {\n %q: bf16[1,1,1,1] = reshape %x {shape = [1, 1, 1, 1]}\n %k: bf16[1,1,3,1] = reshape %y {shape = [1, 1, 3, 1]}\n %z: bf16[1,1,1,3] = cached_attention %q, %k, %v, %p\n return %z\n}",
		"graph f(%x: f32[4], %y: f32[12], %v: f32[3,1,4,2], %t: i32[2,2], %p: i32[2]) {\n %q: f32[2,2,1,1] = reshape %x {shape = [2, 2, 1, 1]}\n %k: f32[3,1,4,1] = reshape %y {shape = [3, 1, 4, 1]}\n %z: f32[2,2,1,2] = paged_attention %q, %k, %v, %t, %p\n return %z\n}",
		"graph f(%x: f32[1,2,3,1], %y: f32[1,2,3,1], %v: f32[1,2,3,5]) {\n %q: f32[1,2,3,6] = expand %x {shape = [1, 2, 3, 6]}\n %k: f32[1,2,3,6] = expand %y {shape = [1, 2, 3, 6]}\n %z: f32[1,2,3,5] = sdpa %q, %k, %v\n return %z\n}",
	} {
		g, err := ir.Parse(op.Registry, src)
		if err != nil {
			t.Fatal(err)
		}
		var in []*tensor.Tensor
		for i, v := range g.Inputs {
			x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			for k := range x.Len() {
				if v.Spec.DType.IsFloat() {
					x.SetElem(k, float64((k*5+i)%7)/4-0.5)
				} else {
					x.SetElem(k, float64(k%2+1))
				}
			}
			in = append(in, x)
		}
		graphs, inputs = append(graphs, g), append(inputs, in)
	}
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		list, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			got, want := run(t, exe, inputs[i])[0], run(t, compile(t, interp.Reference(), graphs[i]), inputs[i])[0]
			allowed := 1e-6
			if got.DType() == tensor.BF16 {
				allowed = 1.0 / 256
			}
			for j := range want.Len() {
				if d := math.Abs(got.Elem(j) - want.Elem(j)); !(d <= allowed*max(1, math.Abs(want.Elem(j)))) {
					t.Errorf("%v: element %d is %v, not %v", graphs[i], j, got.Elem(j), want.Elem(j))
				}
			}
		}
	})
}
