package cuda

import (
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/cublaslt"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestLibraryShape sees how products are described to the library, and which are not.
func TestLibraryShape(t *testing.T) {
	for text, want := range map[string]struct {
		shape cublaslt.Shape
		why   string
	}{
		`(%x: f32[6,8], %w: f32[8,4], %b: f32[4]) {
  %y: f32[6,4] = linear %x, %w, %b {act = "relu"}
`: {shape: cublaslt.Shape{
			DType: tensor.F32, M: 6, N: 4, K: 8, Batch: 1, Bias: true, Workspace: libraryWorkspace,
			A: cublaslt.Matrix{Row: 8, Column: 1, Align: 64}, B: cublaslt.Matrix{Row: 4, Column: 1, Align: 64}, D: cublaslt.Matrix{Row: 4, Column: 1, Align: 64},
		}},
		`(%x: f16[3,6,8], %w: f16[3,4,8]) {
  %t: f16[3,8,4] = transpose %w {perm = [0, 2, 1]}
  %y: f16[3,6,4] = matmul %x, %t
`: {shape: cublaslt.Shape{
			DType: tensor.F16, M: 6, N: 4, K: 8, Batch: 3, Workspace: libraryWorkspace,
			A: cublaslt.Matrix{Row: 8, Column: 1, Batch: 48, Align: 64}, B: cublaslt.Matrix{Row: 1, Column: 8, Batch: 32, Align: 64}, D: cublaslt.Matrix{Row: 4, Column: 1, Batch: 24, Align: 64},
		}},
		`(%x: f32[1,8], %w: f32[8,1]) {
  %y: f32[1,1] = matmul %x, %w
`: {shape: cublaslt.Shape{
			DType: tensor.F32, M: 1, N: 1, K: 8, Batch: 1, Workspace: libraryWorkspace,
			A: cublaslt.Matrix{Row: 8, Column: 1, Align: 64}, B: cublaslt.Matrix{Row: 1, Column: 8, Align: 64}, D: cublaslt.Matrix{Row: 1, Column: 1, Align: 64},
		}},
		`(%x: f16[6,8], %w: f16[8,4]) {
  %y: f16[6,4] = matmul %x, %w {act = "relu"}
`: {why: "what follows the sum would see it rounded to f16"},
		`(%x: f32[6,8], %w: f16[8,4]) {
  %y: f32[6,4] = matmul %x, %w
`: {why: "it multiplies matrices of one type, not f32 and f16"},
		`(%x: f32[5,3,6,8], %w: f32[3,8,4]) {
  %y: f32[5,3,6,4] = matmul %x, %w
`: {why: "the matrices of the batch do not lie at even distances"},
	} {
		name, _, _ := strings.Cut(text, " {")
		t.Run(name, func(t *testing.T) {
			g := parsed(t, "graph f"+text+"  return %y\n}")
			p, err := newProgram(newUnit(targetFor(t, "sm_90")), g, DefaultMaxBytes, nil)
			if err != nil {
				t.Fatal(err)
			}
			kernels, err := p.Lower(last(p.Graph))
			if err != nil {
				t.Fatal(err)
			}
			got, why := p.libraryShape(kernels[0])
			if why != want.why || why == "" && got != want.shape {
				t.Errorf("%+v, %q; want %+v, %q", got, why, want.shape, want.why)
			}
			after, err := p.afterwards(kernels[0])
			if err != nil {
				t.Fatal(err)
			}
			if (len(after) > 0) != (kernels[0].Contraction.Epilogue != nil) || len(after) > 0 && !strings.Contains(after[0].text, "v_relu(") {
				t.Errorf("what follows is %v", after)
			}
		})
	}
}

func last(g *ir.Graph) *ir.Node { return g.Nodes[len(g.Nodes)-1] }
