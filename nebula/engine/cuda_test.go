package engine

import (
	"errors"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/ir"
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
					form := r.form(b)
					form.Leads = b.logits
					g, err := m.Graph(form)
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
					if b.logits { // else the last layer has no attention
						checkAppends(t, rewritten.Graph, c.Layers)
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

// checkAppends sees that one kernel of each layer turns the new tokens and appends them:
// one for that alone, or the attention's.
func checkAppends(t *testing.T, g *ir.Graph, layers int) {
	t.Helper()
	l, err := cuda.List(g, "sm_90", -1)
	if err != nil {
		t.Fatal(err)
	}
	appends, lines := 0, strings.Split(l.Code, "\n")
	for _, k := range l.Kernels {
		switch {
		case strings.Contains(strings.Join(lines[k.First-1:k.Last], ""), "append<"+k.Name+"_token>"):
			appends++
		case strings.HasPrefix(k.Name, "append_"):
			appends++
		case strings.Contains(k.Name, "append_") || strings.HasPrefix(k.Name, "rope_"):
			t.Errorf("%s computes %s apart", k.Name, k.Value)
		}
	}
	if appends != layers {
		t.Errorf("%d kernels append to the caches of %d layers", appends, layers)
	}
}
