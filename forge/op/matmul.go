package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
	"forgekernel/forge/tensor"
)

var contractions = []*ir.Op{{
	Name:     "matmul",
	Doc:      "The matrix product of the last two dimensions; leading dimensions are batches and broadcast. Sums run in order of k, each step one fused multiply-add. The activation is applied to the rounded sum, and the residual, which has the shape of the result, added to that. Where the others are f32, b may be f16 or bf16: it is widened, which is exact.",
	Class:    ir.Contraction,
	Operands: []string{"a", "b", "residual"},
	Types:    floats.String(),
	Optional: 1,
	Attrs:    []ir.AttrDecl{actAttr},
	Infer: func(n *ir.Node) ([]ir.Spec, error) {
		dtype, err := productType(n)
		if err != nil {
			return nil, err
		}
		a, b := n.In[0].Spec.Shape, n.In[1].Spec.Shape
		if len(a) < 2 || len(b) < 2 {
			return nil, fmt.Errorf("operands need rank 2 or more, got ranks %d and %d", len(a), len(b))
		}
		m, k := a[len(a)-2], a[len(a)-1]
		k2, cols := b[len(b)-2], b[len(b)-1]
		if k != k2 {
			return nil, fmt.Errorf("inner dimensions differ: a has %d columns, b has %d rows", k, k2)
		}
		batch, err := Broadcast(a[:len(a)-2], b[:len(b)-2])
		if err != nil {
			return nil, fmt.Errorf("batch dimensions: %w", err)
		}
		shape := append(batch, m, cols)
		return []ir.Spec{{DType: dtype, Shape: shape}}, checkResidual(n, 2, shape)
	},
	Eval: byType(
		func(c *ir.Call) error { return matmul(c, axpy32) },
		func(c *ir.Call) error { return matmul(c, axpy64) },
	),
	FLOPs: ir.FLOPs{
		Doc: "2k per output, those of the activation, and 1 per output for the residual",
		Of: func(n *ir.Node) int64 {
			a := n.In[0].Spec.Shape
			return 2*int64(a[len(a)-1])*int64(n.Out[0].Spec.Elements()) + actFLOPs(n) + residualFLOPs(n, 2)
		},
	},
}}

// axpy adds a[p]*b[p*stride+j] to dst[j] for each p in order, at most four.
type axpy[T float] func(dst, b []T, stride int, a []T)

// rowProduct is a product of matrices as one row of results after another.
type rowProduct[T float] struct {
	k, cols int
	row     func(r int) []T // the k factors of result row r
	matrix  func(r int) []T // the [k,cols] matrix that they meet
	step    axpy[T]
	epilogue[T]
}

func matmul[T float](c *ir.Call, step axpy[T]) error {
	out := c.Out[0].Shape()
	rank := len(out)
	rows, cols := out[rank-2], out[rank-1]
	k := c.In[0].Dim(-1)
	a, b := data[T](c.In[0]), data[T](c.In[1])
	batch := out[:rank-2]
	offset := func(t *tensor.Tensor, matrix int) func(i int) int {
		shape := t.Shape()
		w := newWalker(shape[:len(shape)-2], batch)
		return func(i int) int {
			if w.dense {
				return i * matrix
			}
			base, at := w.locate(i)
			return (base + at*w.strides[len(w.strides)-1]) * matrix
		}
	}
	offsetA, offsetB := offset(c.In[0], rows*k), offset(c.In[1], k*cols)
	p := rowProduct[T]{
		k: k, cols: cols, step: step, epilogue: newEpilogue(c.Node, nil, optional[T](c, 2)),
		row:    func(r int) []T { return a[offsetA(r/rows)+r%rows*k:][:k] },
		matrix: func(r int) []T { return b[offsetB(r/rows):][:k*cols] },
	}
	return p.run(c, data[T](c.Out[0]))
}

// Neighbouring results that are computed together: few enough to stay in the
// first-level cache over all of k, and fewer where there are not enough rows to
// keep all workers busy.
const (
	columnTile     = 2048
	columnTileFew  = 256
	rowsForWorkers = 4
)

// run computes each row of the result as a sum of rows of the matrix, so that
// every access is sequential.
func (p *rowProduct[T]) run(c *ir.Call, dst []T) error {
	if len(dst) == 0 {
		return nil
	}
	rows, width := len(dst)/p.cols, columnTile
	if rows < rowsForWorkers*c.Workers {
		width = columnTileFew
	}
	width = min(width, p.cols)
	tiles := (p.cols + width - 1) / width
	return parallel(c, rows*tiles, max(1, 1<<16/max(1, p.k*width)), func(lo, hi int) error {
		stop := stopper{call: c}
		for t := lo; t < hi; t++ {
			r, j := t/tiles, t%tiles*width
			tile := dst[r*p.cols:][j:min(j+width, p.cols)]
			if err := p.tile(&stop, tile, r, j); err != nil {
				return err
			}
		}
		return nil
	})
}

// tile computes the results of row r from column j on.
func (p *rowProduct[T]) tile(stop *stopper, dst []T, r, j int) error {
	row, matrix := p.row(r), p.matrix(r)
	clear(dst)
	for k := 0; k < p.k; k += 4 {
		n := min(4, p.k-k)
		p.step(dst, matrix[k*p.cols+j:], p.cols, row[k:k+n])
		if err := stop.did(n * len(dst)); err != nil {
			return err
		}
	}
	return p.apply(dst, r*p.cols+j, j)
}

// axpy32 adds a[p]*b[p*stride+j] to dst[j] for each p in order, with one
// rounding per step as a fused multiply-add has.
func axpy32(dst, b []float32, stride int, a []float32) {
	n := len(dst)
	if len(a) == 4 {
		mathf.AXPY4(dst, (*[4]float32)(a), &[4][]float32{b, b[stride:], b[2*stride:], b[3*stride:]})
		return
	}
	for p, x := range a {
		row := b[p*stride:][:n]
		for j := range dst {
			dst[j] = mathf.FMA(x, row[j], dst[j])
		}
	}
}

// axpy64 is axpy32 in float64 with separate roundings. The conversions keep
// the compiler from fusing on some machines and not on others.
func axpy64(dst, b []float64, stride int, a []float64) {
	n := len(dst)
	for p, x := range a {
		row := b[p*stride:][:n]
		for j := range dst {
			dst[j] += float64(x * row[j])
		}
	}
}
