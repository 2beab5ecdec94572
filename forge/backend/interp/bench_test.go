package interp_test

import (
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

func BenchmarkRun(b *testing.B) {
	for name, src := range map[string]string{
		"matmul_512":   "graph f(%x: f32[512,512]) {\n %y: f32[512,512] = matmul %x, %x\n return %y\n}",
		"sigmoid_1M":   "graph f(%x: f32[1000,1000]) {\n %y: f32[1000,1000] = sigmoid %x\n return %y\n}",
		"add_row_1M":   "graph f(%x: f32[1000,1000]) {\n %0: f32[1000] = sum %x {axes = [0]}\n %y: f32[1000,1000] = add %x, %0\n return %y\n}",
		"sum_1M":       "graph f(%x: f32[1000,1000]) {\n %y: f32[] = sum %x\n return %y\n}",
		"softmax_1M":   "graph f(%x: f32[1000,1000]) {\n %y: f32[1000,1000] = softmax %x\n return %y\n}",
		"transpose_1M": "graph f(%x: f32[1000,1000]) {\n %y: f32[1000,1000] = transpose %x\n return %y\n}",
		"linear_row":   "graph f(%x: f32[1024,1024]) {\n %0: f32[1,1024] = sum %x {axes = [0], keepdims = true}\n %y: f32[1,1024] = linear %0, %x {act = \"silu\"}\n return %y\n}",
		"sdpa_256":     "graph f(%x: f32[1,8,256,64]) {\n %y: f32[1,8,256,64] = sdpa %x, %x, %x {causal = true}\n return %y\n}",
		"conv2d_3x3": "graph f(%x: f32[1,32,56,56]) {\n %0: f32[100352] = reshape %x {shape = [-1]}\n %1: f32[9216] = narrow %0 {axis = 0, start = 0, length = 9216}\n" +
			" %w: f32[32,32,3,3] = reshape %1 {shape = [32, 32, 3, 3]}\n %y: f32[1,32,56,56] = conv2d %x, %w {padding = [1, 1]}\n return %y\n}",
		"small_program": "graph f(%x: f32[4,4]) {\n %0: f32[4,4] = matmul %x, %x\n %1: f32[4,4] = relu %0\n %y: f32[4,4] = add %1, %x\n return %y\n}",
	} {
		b.Run(name, func(b *testing.B) {
			g := parse(b, src)
			exe, err := interp.New().Compile(b.Context(), g)
			if err != nil {
				b.Fatal(err)
			}
			x, err := tensor.Rand(1, g.Inputs[0].Spec.Shape...)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := exe.Run(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
