package cuda

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// productPrograms are the programs of the conformance suite with a product of matrices.
func productPrograms(t *testing.T) []*ir.Graph {
	var list []*ir.Graph
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(g.Nodes, isProduct) {
			list = append(list, g)
		}
	}
	return list
}

func isProduct(n *ir.Node) bool { return n.Op.Name == "linear" || n.Op.Name == "matmul" }

// TestProducts runs the conformance suite of products with each place of the list of
// candidates in turn.
func TestProducts(t *testing.T) {
	b := device(t)
	programs := productPrograms(t)
	for pick := range 4 {
		t.Run(fmt.Sprint(pick), func(t *testing.T) {
			at := func(n *ir.Node, list []Candidate) (int, string) { return min(pick, len(list)-2), "the test picks it" }
			ready := make(map[string]prepared)
			var wg sync.WaitGroup
			for part := range slices.Chunk(programs, 1+len(programs)/32) {
				u, cubin := newUnit(targetOf(b.Context.Device)), new([]byte)
				for _, g := range part {
					if p, err := newProgram(u, g, b.MaxBytes, at); err == nil {
						ready[g.String()] = prepared{p, cubin}
					}
				}
				wg.Go(func() {
					made, err := b.Compiler.Compile(u.source())
					if err != nil {
						t.Error(err)
					}
					*cubin = made
				})
			}
			wg.Wait()
			for _, o := range op.Registry.All() {
				if o.Name != "linear" && o.Name != "matmul" {
					continue
				}
				for _, d := range conformance.Types(o) {
					t.Run(fmt.Sprintf("%s/%v", o.Name, d), func(t *testing.T) {
						conformance.RunOperator(t, ahead{Backend: b, t: t, ready: ready}, o, d)
					})
				}
			}
		})
	}
}

// TestProductTexts sees that a product is a kernel of package gemm, with its epilogue.
func TestProductTexts(t *testing.T) {
	g, err := ir.Parse(op.Registry, `graph layer(%x: f32[5,64], %w: bf16[64,40], %b: f32[40], %r: f32[5,40]) {
  %0: f32[5,40] = linear %x, %w, %b, %r {act = "silu"}
  return %0
}`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Source(g, "sm_90")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"struct linear_0_product {", "const float *p3;", "v_add(vf(sum), load_f32(p3 + (", "= v_silu(", "gemm::"} {
		if !strings.Contains(s.Text, part) {
			t.Errorf("the source lacks %q", part)
		}
	}
}
