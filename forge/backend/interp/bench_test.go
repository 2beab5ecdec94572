package interp_test

import (
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/tensor"
)

func BenchmarkRun(b *testing.B) {
	for name, src := range map[string]string{
		"matmul_512":    "graph f(%x: f32[512,512]) {\n %y: f32[512,512] = matmul %x, %x\n return %y\n}",
		"sigmoid_1M":    "graph f(%x: f32[1000,1000]) {\n %y: f32[1000,1000] = sigmoid %x\n return %y\n}",
		"add_row_1M":    "graph f(%x: f32[1000,1000]) {\n %0: f32[1000] = sum %x {axes = [0]}\n %y: f32[1000,1000] = add %x, %0\n return %y\n}",
		"sum_1M":        "graph f(%x: f32[1000,1000]) {\n %y: f32[] = sum %x\n return %y\n}",
		"softmax_1M":    "graph f(%x: f32[1000,1000]) {\n %y: f32[1000,1000] = softmax %x\n return %y\n}",
		"transpose_1M":  "graph f(%x: f32[1000,1000]) {\n %y: f32[1000,1000] = transpose %x\n return %y\n}",
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
