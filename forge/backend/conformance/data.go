package conformance

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// data makes the inputs of a case.
func (c *opCase) data(adversarial bool) ([]*tensor.Tensor, error) {
	if c.op.Class == ir.Constant {
		return nil, nil
	}
	var list []*tensor.Tensor
	for i := range c.shapes {
		t, err := c.tensor(i, adversarial)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// tensor makes operand i.
func (c *opCase) tensor(i int, adversarial bool) (*tensor.Tensor, error) {
	dtype := c.typeOf(i)
	switch {
	case c.given[i] != nil:
		t, err := tensor.From(c.shapes[i], c.given[i])
		if err != nil {
			return nil, err
		}
		return t.Convert(dtype)
	case dtype.IsFloat():
		return c.floats(i, adversarial && !slices.Contains(c.calm, i))
	}
	uniform, err := tensor.Rand(c.seed+uint64(i), c.shapes[i]...)
	if err != nil {
		return nil, err
	}
	t, err := tensor.Zeros(dtype, c.shapes[i]...)
	if err != nil {
		return nil, err
	}
	for k, u := range uniform.Float32() {
		switch dtype {
		case tensor.Bool:
			t.Bool()[k] = u < 0
		case tensor.I64:
			t.Int64()[k] = c.integer(u, i, adversarial, math.MinInt64, math.MaxInt64)
		default:
			t.Int32()[k] = int32(c.integer(u, i, adversarial, math.MinInt32, math.MaxInt32))
		}
	}
	return t, nil
}

// integer makes an element of operand i from a number in [-1, 1): small, or an
// end of the range with its neighbours, never a division by zero nor an index
// out of range.
func (c *opCase) integer(u float32, i int, adversarial bool, low, high int64) int64 {
	if i < len(c.types) && c.types[i] != tensor.Invalid { // an index
		if c.attrs["from_end"] == true {
			return int64(u * float32(c.below))
		}
		return int64((u + 1) / 2 * float32(c.below))
	}
	v := int64(u * 1000)
	if ends := []int64{low, low + 1, high, high - 1, 0, -1, 1, 1 << 30, 16777217}; adversarial && u < 0 {
		v = ends[int(-u*1e6)%len(ends)]
	}
	if v == 0 && i == 1 && c.op.Name == "div" {
		return 7
	}
	return v
}

// floats makes uniform numbers of several magnitudes, or with every few
// elements a special value.
func (c *opCase) floats(i int, adversarial bool) (*tensor.Tensor, error) {
	t, err := tensor.Rand(c.seed+uint64(i), c.shapes[i]...)
	if err != nil {
		return nil, err
	}
	x := t.Float32()
	pick, err := tensor.Rand(c.seed+uint64(i)+5, len(x))
	if err != nil {
		return nil, err
	}
	special := c.specials(i)
	for k := range x {
		switch p := pick.Float32()[k]; {
		case adversarial && p < 0:
			x[k] = special[int(-p*1e6)%len(special)]
		case p > 0.5:
			x[k] *= 20
		}
	}
	return t.Convert(c.typeOf(i))
}

// specials are values at which arithmetic goes wrong. Programs with sums leave
// out numbers so large that a float32 partial sum overflows where the float64
// one does not, and weights leave out infinities, which would meet a scaled
// element that has underflowed in float32 alone.
func (c *opCase) specials(operand int) []float32 {
	inf, nan, negZero := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	list := []float32{0, negZero, 1, -1, 0x1p-149, -0x1p-149, 0x1p-126, 1e-30, 16777217, -0.5, 3, 88.5, -87.5, -103.5}
	switch c.op.Class {
	case ir.Normalise:
		if operand > 0 {
			return append(list, nan)
		}
		return append(list, inf, -inf, nan)
	case ir.Contraction, ir.Reduction, ir.Fused:
		return append(list, inf, -inf, nan)
	}
	return append(list, inf, -inf, nan, math.MaxFloat32, -math.MaxFloat32, 1e20, -1e20, 89, -104, 14.5, -14.5)
}

// flush makes 0 of numbers below the smallest normal one of f32.
func flush(list []*tensor.Tensor) {
	for _, t := range list {
		for i := range t.Len() {
			if v := t.Elem(i); t.DType().IsFloat() && v != 0 && math.Abs(v) < 0x1p-126 {
				t.SetElem(i, math.Copysign(0, v))
			}
		}
	}
}
