package cuda

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/cublaslt"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestLibraryProducts runs programs whose products are cuBLASLt's, and compares them
// with our own.
func TestLibraryProducts(t *testing.T) {
	b := device(t)
	var missing *library.Missing
	if _, err := cublaslt.Open(); errors.As(err, &missing) {
		t.Skip(err)
	}
	for _, text := range []string{
		"graph f(%x: bf16[8,256], %w: bf16[256,512]) {\n%y: bf16[8,512] = matmul %x, %w\nreturn %y\n}",
		"graph f(%x: f32[1,256], %w: f32[256,512]) {\n%y: f32[1,512] = matmul %x, %w\nreturn %y\n}",
		"graph f(%x: f16[2,3,16,64], %w: f16[2,3,64,32]) {\n%y: f16[2,3,16,32] = matmul %x, %w\nreturn %y\n}",
	} {
		g, err := ir.Parse(op.Registry, text)
		if err != nil {
			t.Fatal(err)
		}
		in := make([]*tensor.Tensor, 2)
		for i, v := range g.Inputs {
			if in[i], err = tensor.Randn(uint64(i), v.Spec.Shape...); err == nil {
				in[i], err = in[i].Convert(v.Spec.DType)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		own, err := b.Compile(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		want, err := own.Run(t.Context(), in...)
		if err != nil {
			t.Fatal(err)
		}
		want[0] = want[0].Clone()
		var ways []int // the library's, among the candidates
		for pick := -1; pick < len(ways); pick++ {
			selected := *b
			selected.Select = func(_ *ir.Node, list []Candidate) (int, string) {
				if pick < 0 {
					for i, c := range list {
						if strings.HasPrefix(c.Name, libraryPrefix) {
							ways = append(ways, i)
						}
					}
					return 0, ""
				}
				t.Log(list[ways[pick]].Name)
				return ways[pick], ""
			}
			exe, err := selected.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if len(ways) == 0 {
				t.Errorf("%v has no product of the library", g.Outputs[0].Spec)
			}
			got, err := exe.Run(t.Context(), in...)
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := range got[0].Len() {
				worst = max(worst, got[0].Elem(i)-want[0].Elem(i), want[0].Elem(i)-got[0].Elem(i))
			}
			t.Logf("%v differs by %.3g, the same bits %v", g.Outputs[0].Spec, worst, bytes.Equal(planned.Bytes(got[0]), planned.Bytes(want[0])))
			if !(worst <= map[tensor.DType]float64{tensor.F32: 1e-4, tensor.F16: 0.06, tensor.BF16: 0.6}[g.Outputs[0].Spec.DType]) {
				t.Errorf("it differs by %v", worst)
			}
		}
	}
}
