package generate

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// filler gives element i of a new tensor.
type filler func(dtype tensor.DType, i int) float64

// input adds a program input with the elements that fill gives.
func (m *maker) input(dtype tensor.DType, shape []int, fill filler) *ir.Value {
	v, err := m.b.Input(m.name(), ir.Spec{DType: dtype, Shape: shape})
	if err != nil {
		m.err = err
		return nil
	}
	m.inputs = append(m.inputs, m.tensor(dtype, shape, fill))
	return v
}

// constant adds a constant.
func (m *maker) constant(dtype tensor.DType, shape []int, fill filler) *ir.Value {
	v, err := m.b.Const(m.tensor(dtype, shape, fill))
	if err != nil {
		m.err = err
	}
	return v
}

// fresh adds an input or, sometimes, a constant.
func (m *maker) fresh(dtype tensor.DType, shape []int, fill filler) *ir.Value {
	if m.chance(3) {
		return m.constant(dtype, shape, fill)
	}
	return m.input(dtype, shape, fill)
}

func (m *maker) tensor(dtype tensor.DType, shape []int, fill filler) *tensor.Tensor {
	t, err := tensor.Zeros(dtype, shape...)
	if err != nil {
		m.err = err
		return nil
	}
	for i := range t.Len() {
		t.SetElem(i, fill(dtype, i))
	}
	return t
}

var specials = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0x1p-149, -0x1p-130, math.MaxFloat32, -math.MaxFloat32, 1, -1}

// fill mixes ordinary and special numbers.
func (m *maker) fill(dtype tensor.DType, _ int) float64 {
	switch {
	case dtype == tensor.Bool:
		return float64(m.rng.IntN(2))
	case !dtype.IsFloat():
		return float64(m.rng.IntN(7) - 3)
	case m.special > 0 && m.chance(m.special):
		return choose(m, specials...)
	}
	return m.magnitude * m.rng.NormFloat64()
}

// plain gives quarters between -1 and 1, of which many sums are exact.
func (m *maker) plain(dtype tensor.DType, _ int) float64 {
	if !dtype.IsFloat() {
		return m.fill(dtype, 0)
	}
	return float64(m.rng.IntN(9))/4 - 1
}

// telling gives numbers that rules look for.
func (m *maker) telling(dtype tensor.DType, _ int) float64 {
	if !dtype.IsFloat() {
		return m.fill(dtype, 0)
	}
	return choose(m, 0, math.Copysign(0, -1), 1, -1, 2, 0.5, 3)
}

// below gives whole numbers from 0 to n-1.
func (m *maker) below(n int) filler {
	return func(tensor.DType, int) float64 { return float64(m.rng.IntN(n)) }
}

// within gives whole numbers from -n to n-1.
func (m *maker) within(n int) filler {
	return func(tensor.DType, int) float64 { return float64(m.rng.IntN(2*n) - n) }
}

// scalar is a constant number, the same in the tensors that it fills.
func (m *maker) scalar(dtype tensor.DType, v float64) *ir.Value {
	return m.constant(dtype, nil, func(tensor.DType, int) float64 { return v })
}

// want gives a value of the given spec: an existing one that is brought into
// shape, or a new one.
func (m *maker) want(dtype tensor.DType, shape ...int) *ir.Value {
	if v := m.fitting(dtype, shape); v != nil && !m.chance(4) {
		return v
	}
	if len(m.values) > 0 && !m.chance(4) {
		return m.shaped(m.typed(m.pick(m.values), dtype), shape)
	}
	return m.fresh(dtype, shape, m.fill)
}

// fitting is a value that has the spec already, or nil.
func (m *maker) fitting(dtype tensor.DType, shape []int) *ir.Value {
	var list []*ir.Value
	for _, v := range m.values {
		if v.Spec.DType == dtype && slices.Equal(v.Spec.Shape, shape) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return m.pick(list)
}

// typed casts v, unless it has the type.
func (m *maker) typed(v *ir.Value, dtype tensor.DType) *ir.Value {
	if v.Spec.DType == dtype {
		return v
	}
	return m.must("cast", ir.Attrs{"dtype": dtype.String()}, v)
}

// shaped brings v into a shape, by a reshape where its elements are as many,
// by repeating, cutting or padding them where they are not.
func (m *maker) shaped(v *ir.Value, shape []int) *ir.Value {
	if slices.Equal(v.Spec.Shape, shape) {
		return v
	}
	want := 1
	for _, d := range shape {
		want *= d
	}
	have := v.Spec.Elements()
	if have == 1 && want != 1 && m.chance(2) {
		return m.must("expand", ir.Attrs{"shape": shape}, m.reshaped(v, nil))
	}
	if have != want {
		v = m.reshaped(v, []int{have})
	}
	switch {
	case have > want:
		v = m.must("narrow", ir.Attrs{"axis": 0, "start": m.rng.IntN(have - want + 1), "length": want}, v)
	case have < want:
		low := m.rng.IntN(want - have + 1)
		v = m.must("pad", ir.Attrs{"low": []int{low}, "high": []int{want - have - low}}, v)
	}
	return m.reshaped(v, shape)
}

func (m *maker) reshaped(v *ir.Value, shape []int) *ir.Value {
	if slices.Equal(v.Spec.Shape, shape) {
		return v
	}
	return m.must("reshape", ir.Attrs{"shape": append([]int{}, shape...)}, v)
}

// ranked gives a value of at least the given rank.
func (m *maker) ranked(least int) *ir.Value {
	v := m.some()
	for v.Spec.Rank() < least {
		v = m.reshaped(v, append([]int{1}, v.Spec.Shape...))
	}
	return v
}

// floating gives a floating-point value of at least the given rank.
func (m *maker) floating(least int) *ir.Value {
	v := m.ranked(least)
	if !v.Spec.DType.IsFloat() {
		v = m.typed(v, m.float())
	}
	return v
}

// broadcastable gives a shape that broadcasts to the given one.
func (m *maker) broadcastable(shape []int) []int {
	if m.chance(2) {
		return shape
	}
	part := slices.Clone(shape[m.rng.IntN(len(shape)+1):])
	for i := range part {
		if m.chance(4) {
			part[i] = 1
		}
	}
	return part
}
