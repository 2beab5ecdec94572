package cuda

import (
	"context"
	"fmt"
	"slices"

	"forgekernel/forge/backend/cuda/cublaslt"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/plan"
)

const (
	// libraryPrefix begins the names of the library's ways.
	libraryPrefix = "cuBLASLt"
	// libraryWays is the number of ways of the library that are candidates, the first.
	libraryWays = 4
	// libraryWorkspace is the bytes that one may use besides.
	libraryWorkspace = 32 << 20
)

// byLibrary is the template of products by cuBLASLt on a device. What follows a sum is a
// kernel of its own, since the library's activations are others.
func byLibrary(c *driver.Context) template {
	return func(p *program, n *ir.Node) ([]choice, string) {
		kernels, err := p.Lower(n)
		if err != nil || len(kernels) != 1 || kernels[0].Contraction == nil || ownMemory(kernels[0]) {
			return nil, ""
		}
		lib, err := cublaslt.Open()
		if err != nil {
			return nil, err.Error()
		}
		k := kernels[0]
		shape, why := p.libraryShape(k)
		if why != "" {
			return nil, "cuBLASLt: " + why
		}
		var ways *cublaslt.Plan
		err = c.Do(context.Background(), func() error { ways, err = lib.Plan(c, shape); return err })
		if err != nil {
			return nil, err.Error()
		}
		after, err := p.afterwards(k)
		if err != nil {
			return nil, "cuBLASLt: " + err.Error()
		}
		var list []choice
		for i, m := range ways.Products[:min(libraryWays, len(ways.Products))] {
			list = append(list, choice{
				name: fmt.Sprintf("%s, way %d", m.Name, i), reason: "the library's heuristic has it among the first",
				scratch: m.Workspace, pieces: append([]piece{p.libraryPiece(k, m)}, after...),
			})
		}
		return list, ""
	}
}

// libraryShape describes a product to the library, or says why it cannot.
func (p *program) libraryShape(k *loop.Kernel) (cublaslt.Shape, string) {
	c, lead := k.Contraction, len(k.Contraction.Batch)
	s := cublaslt.Shape{DType: c.Elem, M: c.M, N: c.N, K: c.K, Batch: product(c.Batch), Bias: c.Bias != nil, Workspace: libraryWorkspace}
	matrix := func(a *loop.Access, rows, cols int) cublaslt.Matrix {
		m := cublaslt.Matrix{Row: a.Strides[lead], Column: a.Strides[lead+1], Align: alignOf(p, k, a)}
		// Where there is but one row, or column, how far it is to the next says nothing.
		switch {
		case rows == 1 && m.Column == 1:
			m.Row = max(m.Row, cols)
		case cols == 1 && m.Row == 1:
			m.Column = max(m.Column, rows)
		}
		if lead > 0 {
			m.Batch = a.Strides[lead-1]
		}
		return m
	}
	s.A, s.B, s.D = matrix(&c.A, c.M, c.K), matrix(&c.B, c.K, c.N), matrix(&c.Out, c.M, c.N)
	several := 0
	for _, d := range c.Batch {
		if d > 1 {
			several++
		}
	}
	switch {
	case c.Weight != c.Elem:
		return s, fmt.Sprintf("it multiplies matrices of one type, not %v and %v", c.Elem, c.Weight)
	case several > 1 || several == 1 && c.Batch[lead-1] == 1:
		return s, "the matrices of the batch do not lie at even distances"
	case c.Epilogue != nil && c.Elem.Size() < 4:
		return s, fmt.Sprintf("what follows the sum would see it rounded to %v", c.Elem)
	case c.Bias != nil && slices.ContainsFunc(c.Bias.Strides[:lead+1], func(step int) bool { return step != 0 }), c.Bias != nil && c.Bias.Strides[lead+1] != 1:
		return s, "its bias is a row"
	}
	for _, m := range []cublaslt.Matrix{s.A, s.B, s.D} {
		if m.Row != 1 && m.Column != 1 || m.Row == 0 || m.Column == 0 {
			return s, "a matrix has neither rows nor columns whose elements are neighbours"
		}
	}
	return s, ""
}

// alignOf is what the address of an access is a multiple of, in bytes.
func alignOf(p *program, k *loop.Kernel, a *loop.Access) int64 {
	q := k.Params[a.Param]
	at := p.Place(q.Value).Offset + int64(a.Offset*q.DType().Size())
	align := int64(plan.Align)
	for at%align != 0 {
		align /= 2
	}
	return align
}

// libraryPiece is the library's part.
func (p *program) libraryPiece(k *loop.Kernel, m *cublaslt.Product) piece {
	c := k.Contraction
	place := func(a *loop.Access) planned.Place {
		if a == nil {
			return planned.Place{Buffer: -1}
		}
		at := p.Place(k.Params[a.Param].Value)
		at.Offset += int64(a.Offset * k.Params[a.Param].DType().Size())
		return at
	}
	return piece{
		args: []planned.Place{place(&c.A), place(&c.B), place(c.Bias), place(&c.Out), scratch(0)},
		call: func(_ context.Context, s *driver.Stream, at []uint64) error {
			return m.Run(s, at[0], at[1], at[2], at[3], at[4])
		},
	}
}

// afterwards is the kernel that applies what follows the sums of a product to them where
// they stand.
func (p *program) afterwards(k *loop.Kernel) ([]piece, error) {
	c := k.Contraction
	if c.Epilogue == nil {
		return nil, nil
	}
	sum := &loop.Expr{Op: loop.Load, Type: computed(c.Elem), Access: &c.Out}
	dims := append(slices.Clone(c.Batch), c.M, c.N)
	after := &loop.Kernel{Op: k.Op, Params: k.Params, Nest: &loop.Nest{
		Outer: dims[:len(dims)-1], Line: dims[len(dims)-1:],
		Stages: []loop.Stage{{Expr: c.Epilogue.Replace(loop.Acc, sum), Store: &c.Out}},
	}}
	return p.print(after, p.places(after))
}
