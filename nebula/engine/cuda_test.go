package engine

import (
	"errors"
	"testing"

	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
	rewrite "forgekernel/forge/pass"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// TestCUDAPrograms compiles decodes and prefills of all families as CUDA C, which needs
// no GPU.
func TestCUDAPrograms(t *testing.T) {
	compiler, err := nvrtc.Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []model.Config{tinyConfig(), llamaConfig()} {
		m := seeded(t, c)
		for _, d := range []tensor.DType{tensor.F32, tensor.BF16} {
			for _, b := range []bucket{{1, 1, true}, {4, 1, true}, {1, 16, false}} {
				r := &rank{model: m, place: shard.Single(), sizes: Options{DType: d, BlockSize: 4, Blocks: 64}.sizes(shard.Layout{TP: 1, PP: 1}, c)}
				t.Run(c.Family+"/"+d.String()+"/"+b.String(), func(t *testing.T) {
					g, err := m.Graph(r.form(b))
					if err != nil {
						t.Fatal(err)
					}
					rewritten, err := rewrite.Run(g, rewrite.Options{})
					if err != nil {
						t.Fatal(err)
					}
					s, err := cuda.Source(rewritten.Graph, "sm_90")
					if err != nil {
						t.Fatal(err)
					}
					cubin, err := compiler.Compile(s)
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d nodes, %d KB of text, %d KB of code", len(rewritten.Graph.Nodes), len(s.Text)>>10, len(cubin)>>10)
				})
			}
		}
	}
}
