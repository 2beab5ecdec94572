package onnx

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Whatever the bytes, a model is refused with an error or gives a valid graph.
func FuzzModel(f *testing.F) {
	for _, name := range []string{"test_add", "test_if", "test_loop11", "test_lstm_defaults", "test_gemm_all_attributes", "test_resize_upsample_scales_linear", "test_einsum_batch_matmul", "test_slice"} {
		if raw, err := os.ReadFile(filepath.Join(nodeTests, name, "model.onnx")); err == nil {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Read("fuzz.onnx", raw)
		if err != nil {
			return
		}
		b := importer.Binding{Shapes: make(map[string][]int), Values: make(map[string]*tensor.Tensor)}
		for _, in := range m.Inputs() {
			shape := make([]int, len(in.Dims))
			for i, d := range in.Dims {
				if shape[i] = d.Size; !d.Fixed {
					shape[i] = 2
				}
			}
			if n, err := tensor.Elements(shape); err != nil || n > 1<<16 {
				return
			}
			v, err := tensor.Full(in.DType, 1, shape...)
			if err != nil {
				t.Fatal(err)
			}
			b.Values[in.Name] = v
		}
		p, err := m.Graph(context.Background(), b)
		if err != nil {
			return
		}
		if err := ir.Verify(p.Graph); err != nil {
			t.Error(err)
		}
	})
}
