package planned

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Panels says how the columns of a packed matrix are cut into panels.
type Panels struct {
	Widths []int        // columns of each; together they are N or more
	Gap    int          // elements behind each panel that nothing reads
	Elem   tensor.DType // of the packed elements: that of the matrix, or f32 where it has half precision
}

// size is the elements of a matrix of k rows.
func (p Panels) size(k int) int {
	sum := 0
	for _, w := range p.Widths {
		sum += w*k + p.Gap
	}
	return sum
}

// Steps are the steps between the matrices of neighbouring batches in packed form, in
// elements, and the number of all; never nil.
func (p Panels) Steps(c *loop.Contraction) (steps []int, size int) {
	steps, size = make([]int, len(c.Batch)), p.size(c.K)
	for i := len(c.Batch) - 1; i >= 0; i-- {
		if c.B.Strides[i] != 0 {
			steps[i] = size
			size *= c.Batch[i]
		}
	}
	return steps, size
}

// PackMatrix gives a contraction whose matrix B is constant a copy of it in the
// order in which kernels read it: matrix by matrix of the batch, panel by panel, all
// rows of one together, columns beyond N as zeros. It reports false when B is not
// constant.
//
// Programs of a process share the copy where they have the same tensor in it; see
// [Packed].
func (p *Program) PackMatrix(k *loop.Kernel, panels Panels) (Place, bool) {
	c := k.Contraction
	matrix := k.Params[c.B.Param].Value
	if matrix == nil {
		return Place{}, false
	}
	constant, first := p.Constant(matrix)
	if constant == nil || !constant.DType().IsFloat() {
		return Place{}, false
	}
	first += c.B.Offset
	b := none
	b.Packed = shared(constant, layoutOf(c, panels, first), func() []byte { return panels.pack(c, constant, first) })
	return p.add(b), true
}

// layoutOf tells apart packed forms of one tensor: which of its elements they have,
// and in which order.
func layoutOf(c *loop.Contraction, panels Panels, first int) string {
	batch := slices.Clone(c.Batch)
	for i, step := range c.B.Strides[:len(batch)] {
		if step == 0 {
			batch[i] = 1
		}
	}
	return fmt.Sprint(first, batch, c.B.Strides, c.K, c.N, panels)
}

// pack makes the packed form of a matrix.
func (p Panels) pack(c *loop.Contraction, t *tensor.Tensor, first int) []byte {
	_, size := p.Steps(c)
	switch t.DType() {
	case tensor.F32:
		return Raw(packed(c, p, size, t.Float32()[first:], copyRow))
	case tensor.F64:
		return Raw(packed(c, p, size, t.Float64()[first:], copyRow))
	}
	if p.Elem == tensor.F32 {
		widen := func(dst []float32, b []uint16, step int) {
			row := make([]uint16, len(dst))
			copyRow(row, b, step)
			tensor.WidenHalf(t.DType(), dst, row)
		}
		return Raw(packed(c, p, size, t.Bits16()[first:], widen))
	}
	return Raw(packed(c, p, size, t.Bits16()[first:], copyRow))
}

// packed goes through the matrices of the batch; row copies elements that lie a step
// apart.
func packed[T, B any](c *loop.Contraction, p Panels, size int, b []B, row func(dst []T, b []B, step int)) []T {
	all := Zeros[T](size)
	rest := all
	var batch func(i, at int)
	batch = func(i, at int) {
		if i == len(c.Batch) {
			rest = packPanels(c, p, rest, b[at:], row)
			return
		}
		count := c.Batch[i]
		if c.B.Strides[i] == 0 {
			count = 1
		}
		for k := range count {
			batch(i+1, at+k*c.B.Strides[i])
		}
	}
	batch(0, 0)
	return all
}

// packPanels packs one matrix, and returns what is left of the room.
func packPanels[T, B any](c *loop.Contraction, p Panels, rest []T, b []B, row func(dst []T, b []B, step int)) []T {
	m := len(c.Batch)
	sk, sn := c.B.Strides[m], c.B.Strides[m+1]
	column := 0
	for _, w := range p.Widths {
		n := min(w, c.N-column)
		for k := range c.K {
			row(rest[:n], b[k*sk+column*sn:], sn)
			rest = rest[w:]
		}
		rest = rest[p.Gap:]
		column += w
	}
	return rest
}

func copyRow[T any](dst, b []T, step int) {
	if step == 1 {
		copy(dst, b)
		return
	}
	for j := range dst {
		dst[j] = b[j*step]
	}
}
