package formula

import (
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Reshape gives v a shape of the same number of elements.
func (f Builder) Reshape(v *ir.Value, shape ...int) *ir.Value {
	if slices.Equal(v.Spec.Shape, shape) {
		return v
	}
	return f.Op("reshape", ir.Attrs{"shape": Int64s(shape)}, v)
}

// Transpose permutes the dimensions of v.
func (f Builder) Transpose(v *ir.Value, perm ...int) *ir.Value {
	for i, p := range perm {
		if i != p {
			return f.Op("transpose", ir.Attrs{"perm": Int64s(perm)}, v)
		}
	}
	return v
}

// Swap exchanges two dimensions.
func (f Builder) Swap(v *ir.Value, a, b int) *ir.Value {
	perm := make([]int, v.Spec.Rank())
	for i := range perm {
		perm[i] = i
	}
	perm[a], perm[b] = b, a
	return f.Transpose(v, perm...)
}

// Expand broadcasts v to a shape.
func (f Builder) Expand(v *ir.Value, shape ...int) *ir.Value {
	if slices.Equal(v.Spec.Shape, shape) {
		return v
	}
	return f.Op("expand", ir.Attrs{"shape": Int64s(shape)}, v)
}

// Narrow takes length elements from start on along an axis.
func (f Builder) Narrow(v *ir.Value, axis, start, length int) *ir.Value {
	if start == 0 && length == v.Spec.Shape[axis] {
		return v
	}
	return f.Op("narrow", ir.Attrs{"axis": axis, "start": start, "length": length}, v)
}

// Slice takes every step-th element from start up to, not including, end. Both are
// clamped as Python does.
func (f Builder) Slice(v *ir.Value, axis int, start, end, step int64) *ir.Value {
	n := int64(v.Spec.Shape[axis])
	clamp := func(at, low, high int64) int64 {
		if at < 0 && at >= -n {
			at += n
		} else if at < 0 {
			at = low
		}
		return max(low, min(at, high))
	}
	var length int64
	step = max(-math.MaxInt32, min(step, math.MaxInt32)) // beyond every dimension
	if step > 0 {
		start, end = clamp(start, 0, n), clamp(end, 0, n)
		length = ceilDiv(end-start, step)
	} else {
		start, end = clamp(start, -1, n-1), clamp(end, -1, n-1)
		length = ceilDiv(start-end, -step)
	}
	length = max(0, length)
	if length == 0 {
		start, step = 0, 1
	}
	if start == 0 && length == n && step == 1 {
		return v
	}
	if length <= 1 {
		step = 1
	}
	return f.Op("narrow", ir.Attrs{"axis": axis, "start": start, "length": length, "step": step}, v)
}

// ceilDiv is a/b rounded up, for positive b.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// Tile gives each dimension a neighbour of the repeats, expands it and merges the
// two.
func (f Builder) Tile(v *ir.Value, repeats []int) *ir.Value {
	for i, r := range repeats {
		if r == 1 {
			continue
		}
		wide := slices.Insert(slices.Clone(v.Spec.Shape), i, 1)
		v = f.Reshape(v, wide...)
		wide[i] = r
		v = f.Expand(v, wide...)
		merged := slices.Delete(slices.Clone(wide), i, i+1)
		merged[i] *= r
		v = f.Reshape(v, merged...)
	}
	return v
}

// Pad cuts where a length is negative and adds elements of the value elsewhere.
func (f Builder) Pad(v *ir.Value, low, high []int64, value float64) *ir.Value {
	shape := v.Spec.Shape
	grow := false
	above, below := make([]int64, len(low)), make([]int64, len(low))
	for i := range low {
		v = f.Slice(v, i, max(0, -low[i]), int64(shape[i])-max(0, -high[i]), 1)
		above[i], below[i] = max(0, low[i]), max(0, high[i])
		grow = grow || above[i]+below[i] > 0
	}
	if !grow {
		return v
	}
	return f.Op("pad", ir.Attrs{"low": above, "high": below, "value": value}, v)
}

// How elements outside a dimension are made of those inside.
const (
	Edge    = "edge"    // the last one again
	Wrap    = "wrap"    // from the other end
	Reflect = "reflect" // back again, without the last one
)

// PadBy repeats elements of v along an axis.
func (f Builder) PadBy(v *ir.Value, axis int, low, high int64, mode string) *ir.Value {
	if low == 0 && high == 0 {
		return v
	}
	n := int64(v.Spec.Shape[axis])
	if n == 0 || max(low, high) > tensor.MaxElements || n+low+high < 0 || n+low+high > tensor.MaxElements {
		f.Fail("pads %d and %d of %d elements", low, high, n)
	}
	f.room(int(n + low + high))
	index := make([]int64, n+low+high)
	for i := range index {
		index[i] = source(int64(i)-low, n, mode)
	}
	return f.GatherAlong(v, axis, index)
}

// source is the element that stands at a place outside 0 … n-1.
func source(at, n int64, mode string) int64 {
	switch {
	case mode == Edge:
		return max(0, min(at, n-1))
	case mode == Wrap:
		return (at%n + n) % n
	case n == 1:
		return 0
	}
	period := 2 * (n - 1)
	at = (at%period + period) % period
	return min(at, period-at)
}

// GatherAlong picks elements along an axis by constant indices.
func (f Builder) GatherAlong(v *ir.Value, axis int, index []int64) *ir.Value {
	return f.Op("gather", ir.Attrs{"axis": axis}, v, f.Constant(tensor.From([]int{len(index)}, index)))
}

// FromFront counts indices into n entries that are below zero from the end.
func (f Builder) FromFront(index *ir.Value, n int) *ir.Value {
	index = f.Cast(index, tensor.I64)
	return f.Where(f.Compare("lt", index, 0), f.Shift(index, float64(n)), index)
}

// along is 0, step, 2 step, … along one dimension of a rank.
func (f Builder) along(axis, rank, n int, step float64) *ir.Value {
	shape := slices.Repeat([]int{1}, rank)
	shape[axis] = n
	return f.Reshape(f.Iota(n, tensor.I64, 0, step), shape...)
}

// GatherElements picks, at each place of index, the element of v with the coordinate
// along the axis replaced: a gather from the flat v.
func (f Builder) GatherElements(v, index *ir.Value, axis int) *ir.Value {
	shape, at := v.Spec.Shape, index.Spec.Shape
	if len(shape) != len(at) || len(shape) == 0 {
		f.Fail("indices %v and data %v differ in rank", index.Spec, v.Spec)
	}
	strides := tensor.Strides(shape)
	flat := f.Scale(index, float64(strides[axis]))
	for d := range at {
		if d != axis && at[d] > 1 {
			flat = f.Add(flat, f.along(d, len(at), at[d], float64(strides[d])))
		}
	}
	return f.Op("gather", nil, f.Reshape(v, Product(shape)), flat)
}

// Triangle keeps the elements on one side of a diagonal, which is k columns to the
// right of the main one, and zeroes the others.
func (f Builder) Triangle(v *ir.Value, k int64, upper bool) *ir.Value {
	rank := v.Spec.Rank()
	if rank < 2 {
		f.Fail("%v has no rows and columns", v.Spec)
	}
	row := f.Shift(f.along(0, 2, v.Spec.Shape[rank-2], 1), float64(k))
	column := f.along(1, 2, v.Spec.Shape[rank-1], 1)
	kept := f.Op("le", nil, column, row)
	if upper {
		kept = f.Op("ge", nil, column, row)
	}
	return f.Where(kept, v, f.zero(v))
}

// zero is a scalar zero of the type of v, false for bool.
func (f Builder) zero(v *ir.Value) *ir.Value {
	return f.Constant(tensor.Scalar(v.Spec.DType, 0), nil)
}
