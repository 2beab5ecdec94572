package onnx

import (
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{"com.microsoft.MatMulNBits": {1, matMulNBits}})

// matMulNBits multiplies by a weight [N, K] of 2, 4 or 8 bits, which has a scale, and a zero
// if it has one, for each block of a row. The weight is made what it stands for, [K, N], when
// the program is compiled.
func matMulNBits(c *call) {
	k, n, size := c.small("K", 0, 1), c.small("N", 0, 1), c.small("block_size", 0, 1)
	width := c.small("bits", 4, 1)
	switch {
	case width != 2 && width != 4 && width != 8:
		c.unsupportedf("weights of %d bits", width)
		return
	case c.has(4):
		c.unsupportedf("weights in another order, g_idx")
		return
	}
	blocks := (k + size - 1) / size
	blob := (size*width + 7) / 8
	packed, scales := c.mustKnow(1, "the weight"), c.mustKnow(2, "the scales")
	if packed.Len() != n*blocks*blob || scales.Len() != n*blocks || !scales.DType().IsFloat() {
		c.Fail("a weight %s and scales %s do not have %d rows of %d blocks of %d bytes", tensor.FormatShape(packed.Shape()), tensor.FormatShape(scales.Shape()), n, blocks, blob)
	}
	zero := c.zerosOfBlocks(n, blocks, width)
	c.roomFor(1, k, n) // what is made is at most 16 times what the file holds
	w, err := tensor.Zeros(scales.DType(), k, n)
	c.Check(err)
	for row := range n {
		for i := range k {
			block := row*blocks + i/size
			q := bitsAt(packed, block*blob, i%size, width)
			w.SetElem(i*n+row, (q-zero(row, i/size))*scales.Elem(block))
		}
	}
	v := c.matMul(c.arg(0), c.Constant(w, nil))
	if c.has(5) {
		v = c.Add(v, c.arg(5))
	}
	c.set(0, v)
}

// zerosOfBlocks is what stands for 0 in a block of a row: operand 3, packed row by row or in
// the type of the scales, or the middle of the range.
func (c *call) zerosOfBlocks(n, blocks, width int) func(row, block int) float64 {
	if !c.has(3) {
		return func(int, int) float64 { return float64(int(1) << (width - 1)) }
	}
	t := c.mustKnow(3, "the zeros")
	want, bytes := n*blocks, (blocks*width+7)/8
	if !t.DType().IsFloat() {
		want = n * bytes
	}
	if t.Len() != want {
		c.Fail("zeros %s do not fit %d rows of %d blocks", tensor.FormatShape(t.Shape()), n, blocks)
	}
	if t.DType().IsFloat() {
		return func(row, block int) float64 { return t.Elem(row*blocks + block) }
	}
	return func(row, block int) float64 { return bitsAt(t, row*bytes, block, width) }
}

// bitsAt is number i of those that are packed from a byte on, the low bits first.
func bitsAt(t *tensor.Tensor, from, i, width int) float64 {
	perByte := 8 / width
	b := int(t.Elem(from + i/perByte))
	return float64(b >> (i % perByte * width) & (1<<width - 1))
}
