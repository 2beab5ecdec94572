package cuda

import (
	"context"
	"fmt"
	"slices"

	"forgekernel/forge/backend/cuda/cublaslt"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/gemm"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// libraryPrefix begins the names of candidates that cuBLASLt computes.
const libraryPrefix = "cuBLASLt "

// Of cuBLASLt's ways to multiply, the first few are candidates, with so much memory to
// work in.
const (
	libraryWays      = 4
	libraryWorkspace = 32 << 20
)

// libraryChoices are the products of cuBLASLt for a node, which stand behind the loop
// nest: none of them is ever the default. The reason is why there are none.
func (p *program) libraryChoices(n *ir.Node) ([]choice, string) {
	if p.unit.device == nil {
		return nil, ""
	}
	kernels, err := p.Lower(n)
	if err != nil || len(kernels) != 1 || kernels[0].Contraction == nil {
		return nil, ""
	}
	c := kernels[0].Contraction
	if c.Bias != nil || c.Epilogue != nil {
		return nil, "cuBLASLt: what follows the sum would be rounded in another way"
	}
	if c.Elem == tensor.F64 {
		return nil, "" // sums of f64 are in the order of the reference
	}
	s, places := p.product(kernels[0])
	shape, why := libraryShape(s)
	if why != "" {
		return nil, "cuBLASLt: " + why
	}
	lib, err := cublaslt.Open()
	if err != nil {
		return nil, err.Error()
	}
	var plan *cublaslt.Plan
	if err := p.unit.device.Do(context.Background(), func() (err error) { plan, err = lib.Plan(p.unit.device, shape); return err }); err != nil {
		return nil, err.Error()
	}
	var list []choice
	for _, m := range plan.Products[:min(libraryWays, len(plan.Products))] {
		list = append(list, libraryChoice(m, places))
	}
	return list, ""
}

func libraryChoice(m *cublaslt.Product, places []planned.Place) choice {
	args := []planned.Place{places[gemm.A], places[gemm.B], places[gemm.Out]}
	if m.Workspace > 0 {
		args = append(args, scratch(0))
	}
	return choice{
		name: m.Name, reason: "the library's product", scratch: m.Workspace,
		pieces: []piece{{args: args, call: func(_ context.Context, s *driver.Stream, at []uint64) error {
			var workspace uint64
			if m.Workspace > 0 {
				workspace = at[3]
			}
			return m.Run(s, at[0], at[1], 0, at[2], workspace)
		}}},
	}
}

// libraryShape is a product as the library is asked for it, or why it has none.
func libraryShape(s *gemm.Shape) (cublaslt.Shape, string) {
	made := cublaslt.Shape{DType: s.Out.Elem, M: s.M, N: s.N, K: s.K, Batch: product(s.Batch), Workspace: libraryWorkspace}
	for _, m := range []struct {
		from gemm.Matrix
		into *cublaslt.Matrix
	}{{s.A, &made.A}, {s.B, &made.B}, {s.Out, &made.D}} {
		if m.from.Elem != made.DType {
			return made, fmt.Sprintf("%v by %v has no equal", s.A.Elem, s.B.Elem)
		}
		step, even := evenStep(s.Batch, m.from.Batch)
		if !even {
			return made, "matrices of the batch do not lie at equal distances"
		}
		*m.into = cublaslt.Matrix{Row: m.from.Row, Column: m.from.Column, Batch: step, Align: int64(m.from.Align)}
	}
	// A matrix of one row or column has no distance between them, which the library wants.
	if made.M == 1 && made.A.Column == 1 {
		made.A.Row = max(made.A.Row, made.K)
	}
	if made.M == 1 {
		made.D.Row = max(made.D.Row, made.N)
	}
	if err := made.Check(); err != nil {
		return made, err.Error()
	}
	return made, ""
}

// evenStep is the distance from one point of a batch to the next, if it is always the same.
func evenStep(dims, steps []int) (step int, even bool) {
	step, inner, first := 0, 1, true
	for i, d := range slices.Backward(dims) {
		if d == 1 {
			continue
		}
		if first {
			step, first = steps[i], false
		} else if steps[i] != step*inner {
			return 0, false
		}
		inner *= d
	}
	return step, true
}
