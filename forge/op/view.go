package op

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// evalView copies the results of a view out of the dense operand. It is used
// where a result cannot share storage.
func evalView(c *ir.Call) error {
	layouts, _ := c.Node.Layouts(ir.Dense(c.In[0].Shape())) // a dense operand has every view
	for i, out := range c.Out {
		if err := gatherLayout(c, out, c.In[0], layouts[i]); err != nil {
			return err
		}
	}
	return nil
}

// gatherLayout fills out with the elements of src that a layout names.
func gatherLayout(c *ir.Call, out, src *tensor.Tensor, layout ir.Layout) error {
	w := stridedWalker(out.Shape(), layout.Strides)
	m := newMover(out, src)
	return inBlocks(c, out.Len(), func(lo, hi int) {
		w.runs(lo, hi, func(at, base, step, n int) { m.move(at, layout.Offset+base, step, n) })
	})
}

// mover copies elements of one tensor to another of the same type.
type mover interface {
	// move sets dst[at+i] to src[from+i*step] for i below n.
	move(at, from, step, n int)
	// put sets dst[at+i*step] to src[from+i] for i below n.
	put(at, step, from, n int)
}

type typedMover[T any] struct{ dst, src []T }

func (m typedMover[T]) move(at, from, step, n int) {
	dst := m.dst[at : at+n]
	if step == 1 {
		copy(dst, m.src[from:from+n])
		return
	}
	for i := range dst {
		dst[i] = m.src[from+i*step]
	}
}

func (m typedMover[T]) put(at, step, from, n int) {
	src := m.src[from : from+n]
	if step == 1 {
		copy(m.dst[at:at+n], src)
		return
	}
	for i, v := range src {
		m.dst[at+i*step] = v
	}
}

func newMover(dst, src *tensor.Tensor) mover {
	switch dst.DType() {
	case tensor.F32:
		return typedMover[float32]{dst.Float32(), src.Float32()}
	case tensor.F64:
		return typedMover[float64]{dst.Float64(), src.Float64()}
	case tensor.F16, tensor.BF16:
		return typedMover[uint16]{dst.Bits16(), src.Bits16()}
	case tensor.I64:
		return typedMover[int64]{dst.Int64(), src.Int64()}
	case tensor.I32:
		return typedMover[int32]{dst.Int32(), src.Int32()}
	}
	return typedMover[bool]{dst.Bool(), src.Bool()}
}
