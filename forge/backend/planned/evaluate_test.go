package planned_test

import (
	"context"
	"slices"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// twin is a group of two ranks of which the other has the same. It keeps what it was
// given.
type twin struct {
	backend.Collective
	given *tensor.Tensor
}

func (*twin) Size() int { return 2 }

func (w *twin) AllReduce(_ context.Context, _ backend.Reduction, t *tensor.Tensor) error {
	w.given = t
	for i, x := range t.Float32() {
		t.Float32()[i] = 2 * x
	}
	return nil
}

// A node without kernels works on the memory where its result stands, and leaves its
// operand as it is, whose storage may be that of the result.
func TestEvaluateWhereValuesStand(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []float32
	}{
		{"dense", `graph f(%x: f32[2,3]) {
			%n: f32[2,3] = neg %x
			%s: f32[2,3] = all_reduce %n {size = 2}
			%y: f32[2,3] = mul %s, %n
			return %y
		}`, []float32{2, 8, 18, 32, 50, 72}},
		{"turned", `graph f(%x: f32[2,3]) {
			%n: f32[2,3] = neg %x
			%v: f32[3,2] = transpose %n
			%s: f32[3,2] = all_reduce %v {size = 2}
			%y: f32[3,2] = mul %s, %v
			return %y
		}`, []float32{2, 32, 8, 50, 18, 72}},
		{"in place", `graph f(%x: f32[2,3]) {
			%s: f32[2,3] = all_reduce %x {size = 2}
			%e: f32[2,3] = exp %s
			%y: f32[2,3] = log %e
			return %y
		}`, []float32{2, 4, 6, 8, 10, 12}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, c.text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := planned.New(g, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			x, err := tensor.From([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
			if err != nil {
				t.Fatal(err)
			}
			outputs, err := p.Outputs()
			if err != nil {
				t.Fatal(err)
			}
			f, group := p.NewFrame(), &twin{}
			p.Fill(f, outputs, []*tensor.Tensor{x})
			for _, n := range p.Graph.Nodes {
				if p.Idle(n) != "" {
					continue
				}
				if err := p.Evaluate(backend.WithGroup(t.Context(), "world", group), f, n); err != nil {
					t.Fatal(err)
				}
			}
			p.Copy(f, outputs)
			for i, got := range outputs[0].Float32() {
				if d := got - c.want[i]; d > 1e-5 || d < -1e-5 {
					t.Errorf("the result is %v, want %v", outputs[0], c.want)
					break
				}
			}
			given := planned.Address(planned.Bytes(group.given))
			if !slices.ContainsFunc(f.Memory, func(b []byte) bool {
				return given >= planned.Address(b) && given < planned.Address(b)+uintptr(len(b))
			}) {
				t.Error("the group was given a copy")
			}
		})
	}
}
