package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
	"forgekernel/forge/tensor"
)

var contractions = []*ir.Op{{
	Name:     "matmul",
	Doc:      "The matrix product of the last two dimensions; leading dimensions are batches and broadcast. Sums run in order of k, each step one fused multiply-add.",
	Class:    ir.Contraction,
	Operands: []string{"a", "b"},
	Infer: func(n *ir.Node) ([]ir.Spec, error) {
		dtype, err := sameFloat(n)
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
		return []ir.Spec{{DType: dtype, Shape: append(batch, m, cols)}}, nil
	},
	Eval: byType(
		func(c *ir.Call) error { return matmul(c, axpy32) },
		func(c *ir.Call) error { return matmul(c, axpy64) },
	),
	FLOPs: ir.FLOPs{
		Doc: "2k per output",
		Of: func(n *ir.Node) int64 {
			a := n.In[0].Spec.Shape
			return 2 * int64(a[len(a)-1]) * int64(n.Out[0].Spec.Elements())
		},
	},
}}

// matmul computes each row of the result as a sum of rows of b, so that every
// access is sequential. step adds up to four products per element.
func matmul[T float](c *ir.Call, step func(dst, b []T, stride int, a []T)) error {
	out := c.Out[0].Shape()
	rank := len(out)
	rows, cols := out[rank-2], out[rank-1]
	k := c.In[0].Dim(-1)
	a, b, dst := data[T](c.In[0]), data[T](c.In[1]), data[T](c.Out[0])
	if len(dst) == 0 {
		return nil
	}
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
	work := max(1, k*cols)
	return parallel(c, len(dst)/cols, max(1, 1<<16/work), func(lo, hi int) error {
		stop := stopper{call: c}
		for r := lo; r < hi; r++ {
			i := r / rows
			rowA := a[offsetA(i)+r%rows*k:][:k]
			matB := b[offsetB(i):][:k*cols]
			for j := 0; j < cols; j += columnTile {
				tile := dst[r*cols:][j:min(j+columnTile, cols)]
				clear(tile)
				for p := 0; p < k; p += 4 {
					n := min(4, k-p)
					step(tile, matB[p*cols+j:], cols, rowA[p:p+n])
					if err := stop.did(n * len(tile)); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// columnTile is the number of neighbouring results computed together: small
// enough to stay in the first-level cache over all of k.
const columnTile = 2048

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
