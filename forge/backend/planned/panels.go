package planned

import (
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// PackMatrix gives a contraction whose matrix B is constant a copy of it in the
// order in which kernels read it: matrix by matrix of the batch, panel by panel, each
// of as many columns as widths says, all rows of one together, columns beyond N as
// zeros. It reports false when B is not constant.
func (p *Program) PackMatrix(k *loop.Kernel, widths []int) (Place, bool) {
	c := k.Contraction
	matrix := k.Params[c.B.Param].Value
	if matrix == nil {
		return Place{}, false
	}
	constant, first := p.Constant(matrix)
	if constant == nil {
		return Place{}, false
	}
	first += c.B.Offset
	b := none
	switch constant.DType() {
	case tensor.F32:
		b.Packed = Raw(pack(c, widths, constant.Float32()[first:]))
	case tensor.F64:
		b.Packed = Raw(pack(c, widths, constant.Float64()[first:]))
	case tensor.F16, tensor.BF16:
		b.Packed = Raw(pack(c, widths, constant.Bits16()[first:]))
	default:
		return Place{}, false
	}
	return p.add(b), true
}

// PackedSteps are the steps between the matrices of neighbouring batches in packed
// form, in elements, and the number of all; never nil.
func PackedSteps(c *loop.Contraction, widths []int) (steps []int, size int) {
	steps, size = make([]int, len(c.Batch)), c.K
	sum := 0
	for _, w := range widths {
		sum += w
	}
	size *= sum
	for i := len(c.Batch) - 1; i >= 0; i-- {
		if c.B.Strides[i] != 0 {
			steps[i] = size
			size *= c.Batch[i]
		}
	}
	return steps, size
}

func pack[T any](c *loop.Contraction, widths []int, b []T) []T {
	_, size := PackedSteps(c, widths)
	packed := Zeros[T](size)
	rest := packed
	var batch func(i, at int)
	batch = func(i, at int) {
		if i == len(c.Batch) {
			rest = packPanels(c, widths, rest, b[at:])
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
	return packed
}

// packPanels packs one matrix, and returns what is left of the room.
func packPanels[T any](c *loop.Contraction, widths []int, rest, b []T) []T {
	m := len(c.Batch)
	sk, sn := c.B.Strides[m], c.B.Strides[m+1]
	column := 0
	for _, w := range widths {
		n := min(w, c.N-column)
		for k := range c.K {
			row := b[k*sk+column*sn:]
			if sn == 1 {
				copy(rest[:n], row)
			} else {
				for j := range n {
					rest[j] = row[j*sn]
				}
			}
			rest = rest[w:]
		}
		column += w
	}
	return rest
}
