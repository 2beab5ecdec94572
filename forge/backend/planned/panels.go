package planned

import (
	"forgekernel/forge/loop"
)

// PackMatrix gives a contraction whose matrix B is constant a copy of it in the
// order in which kernels read it: panel by panel, each of as many columns as
// widths says, all rows of one together, columns beyond N as zeros. It reports
// false when B is not constant or differs from batch to batch.
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
	for _, step := range c.B.Strides[:len(c.Batch)] {
		if step != 0 {
			return Place{}, false
		}
	}
	p.Buffers = append(p.Buffers, Buffer{Slot: -1, Input: -1, Packed: pack(c, widths, constant.Float32()[first+c.B.Offset:])})
	return Place{Buffer: len(p.Buffers) - 1}, true
}

// pack is the matrix in panels. It begins at a multiple of [plan.Align] bytes.
func pack(c *loop.Contraction, widths []int, b []float32) []float32 {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	packed := Zeros[float32](sum * c.K)
	rank := len(c.B.Strides)
	sk, sn := c.B.Strides[rank-2], c.B.Strides[rank-1]
	column, rest := 0, packed
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
	return packed
}
