package cpu

import (
	"unsafe"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// packedSteps are the steps between the matrices of neighbouring batches in packed
// form; never nil.
func (t Target) packedSteps(c *loop.Contraction) []int {
	strides := make([]int, len(c.Batch))
	size := t.vectors(c.N) * t.Lanes * c.K
	for i := len(c.Batch) - 1; i >= 0; i-- {
		if c.B.Strides[i] != 0 {
			strides[i] = size
			size *= c.Batch[i]
		}
	}
	return strides
}

// pack lays B out in the order in which the kernel reads it: batch by batch, panel
// by panel, all k of one together, columns beyond N as zeros.
func pack[T any](t Target, c *loop.Contraction, cut tiling, b []T) []T {
	var packed []T
	var batch func(i, at int)
	batch = func(i, at int) {
		if i == len(c.Batch) {
			packed = append(packed, packMatrix(t, c, cut, b[at:])...)
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

func packMatrix[T any](t Target, c *loop.Contraction, cut tiling, b []T) []T {
	m := len(c.Batch)
	sk, sn := c.B.Strides[m], c.B.Strides[m+1]
	packed := make([]T, t.vectors(c.N)*t.Lanes*c.K)
	rest := packed
	for column := 0; column < c.N; column += cut.vector * t.Lanes {
		width := min(cut.vector, t.vectors(c.N-column)) * t.Lanes
		for k := range c.K {
			row := rest[k*width:][:width]
			for j := range min(width, c.N-column) {
				row[j] = b[k*sk+(column+j)*sn]
			}
		}
		rest = rest[width*c.K:]
	}
	return packed
}

// packTensor is pack for the elements of a constant from offset bytes on.
func (t Target) packTensor(c *loop.Contraction, cut tiling, b *tensor.Tensor, offset int64) []byte {
	switch b.DType() {
	case tensor.F32:
		return aligned(rawBytes(pack(t, c, cut, b.Float32()[offset/4:])))
	case tensor.F64:
		return aligned(rawBytes(pack(t, c, cut, b.Float64()[offset/8:])))
	}
	return aligned(rawBytes(pack(t, c, cut, b.Bits16()[offset/2:])))
}

func rawBytes[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}
