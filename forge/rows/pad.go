package rows

import (
	"fmt"

	"forgekernel/forge/tensor"
)

// Resize gives a tensor another number of rows along a dimension: fewer, or more, which
// repeat the first row: as good an input as any that was given.
func Resize(x *tensor.Tensor, dim, rows int) (*tensor.Tensor, error) {
	shape := x.Shape()
	if dim < 0 || dim >= len(shape) || shape[dim] == 0 {
		return nil, fmt.Errorf("a tensor %s has no rows in dimension %d", tensor.FormatShape(shape), dim)
	}
	have := shape[dim]
	outer, inner := product(shape[:dim]), product(shape[dim+1:])
	shape[dim] = rows
	y, err := tensor.Zeros(x.DType(), shape...)
	if err != nil {
		return nil, err
	}
	switch x.DType() {
	case tensor.F32:
		resize(y.Float32(), x.Float32(), outer, inner, have, rows)
	case tensor.F64:
		resize(y.Float64(), x.Float64(), outer, inner, have, rows)
	case tensor.F16, tensor.BF16:
		resize(y.Bits16(), x.Bits16(), outer, inner, have, rows)
	case tensor.I64:
		resize(y.Int64(), x.Int64(), outer, inner, have, rows)
	case tensor.I32:
		resize(y.Int32(), x.Int32(), outer, inner, have, rows)
	case tensor.Bool:
		resize(y.Bool(), x.Bool(), outer, inner, have, rows)
	}
	return y, nil
}

func resize[T any](to, from []T, outer, inner, have, rows int) {
	for o := range outer {
		for r := range rows {
			source := r
			if r >= have {
				source = 0
			}
			copy(to[(o*rows+r)*inner:][:inner], from[(o*have+source)*inner:])
		}
	}
}
