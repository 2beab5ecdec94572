// Package tensor holds dense tensors in host memory.
//
// A [Tensor] is an element type, a shape and row-major storage: element
// (i, j) of a [R,C] tensor is at i*C+j. Storage is a plain Go slice of the
// matching type (f16 and bf16 are stored as their 16 bits), which the typed
// accessors return without copying. [Tensor.Reshape] and [Tensor.Window] share
// storage; nothing else does. A tensor is safe for concurrent reading.
//
// Every constructor checks [MaxRank] and [MaxElements] before it allocates.
package tensor

import (
	"fmt"
	"math"
	"slices"
)

// Tensor is a dense row-major tensor. The zero value is not usable.
type Tensor struct {
	dtype DType
	shape []int
	n     int
	data  any // []float32, []float64, []uint16, []int64, []int32 or []bool
}

// DType is the element type.
func (t *Tensor) DType() DType { return t.dtype }

// Shape returns a copy of the shape.
func (t *Tensor) Shape() []int { return slices.Clone(t.shape) }

// Rank is the number of dimensions.
func (t *Tensor) Rank() int { return len(t.shape) }

// Dim is the length of dimension i; a negative i counts from the end.
func (t *Tensor) Dim(i int) int {
	if i < 0 {
		i += len(t.shape)
	}
	return t.shape[i]
}

// Len is the number of elements.
func (t *Tensor) Len() int { return t.n }

// Bytes is the size of the storage.
func (t *Tensor) Bytes() int { return t.n * t.dtype.Size() }

// Strides returns the row-major strides, in elements.
func (t *Tensor) Strides() []int { return Strides(t.shape) }

// Values returns the elements in row-major order as float64, whatever the
// element type (true is 1). It is a copy. An i64 beyond 2^53 is rounded.
func (t *Tensor) Values() []float64 {
	out := make([]float64, t.n)
	for i := range out {
		out[i] = t.at(i)
	}
	return out
}

// Float32 returns the storage of an f32 tensor itself, not a copy. Like the
// other accessors of storage it panics when the element type is another;
// [Tensor.Values] converts.
func (t *Tensor) Float32() []float32 { return storage[float32](t, "Float32") }

// Float64 returns the storage of an f64 tensor; see [Tensor.Float32].
func (t *Tensor) Float64() []float64 { return storage[float64](t, "Float64") }

// Bits16 returns the storage of an f16 or bf16 tensor; see [Tensor.Float32].
func (t *Tensor) Bits16() []uint16 { return storage[uint16](t, "Bits16") }

// Int64 returns the storage of an i64 tensor; see [Tensor.Float32].
func (t *Tensor) Int64() []int64 { return storage[int64](t, "Int64") }

// Int32 returns the storage of an i32 tensor; see [Tensor.Float32].
func (t *Tensor) Int32() []int32 { return storage[int32](t, "Int32") }

// Bool returns the storage of a bool tensor; see [Tensor.Float32].
func (t *Tensor) Bool() []bool { return storage[bool](t, "Bool") }

func storage[T Element | uint16](t *Tensor, accessor string) []T {
	s, ok := t.data.([]T)
	if !ok {
		panic(fmt.Sprintf("tensor: %s is the storage of another element type, and this tensor is %v%s: "+
			"Values() returns its elements converted to float64", accessor, t.dtype, FormatShape(t.shape)))
	}
	return s
}

// Zeros returns a tensor of zeros (false for bool).
func Zeros(dtype DType, shape ...int) (*Tensor, error) {
	n, err := Elements(shape)
	if err != nil {
		return nil, err
	}
	t := &Tensor{dtype: dtype, shape: slices.Clone(shape), n: n}
	switch dtype {
	case F32:
		t.data = make([]float32, n)
	case F64:
		t.data = make([]float64, n)
	case F16, BF16:
		t.data = make([]uint16, n)
	case I64:
		t.data = make([]int64, n)
	case I32:
		t.data = make([]int32, n)
	case Bool:
		t.data = make([]bool, n)
	default:
		return nil, fmt.Errorf("%d is not an element type", dtype)
	}
	return t, nil
}

// Full returns a tensor whose elements are all v, converted as [Tensor.Convert]
// converts.
func Full(dtype DType, v float64, shape ...int) (*Tensor, error) {
	t, err := Zeros(dtype, shape...)
	if err != nil {
		return nil, err
	}
	for i := range t.n {
		t.set(i, v)
	}
	return t, nil
}

// Scalar returns the rank-0 tensor of v. An invalid dtype gives nil.
func Scalar(dtype DType, v float64) *Tensor {
	t, err := Full(dtype, v)
	if err != nil {
		return nil
	}
	return t
}

// Element is a Go type that is the storage of one element type.
type Element interface {
	float32 | float64 | int64 | int32 | bool
}

func dtypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int64:
		return I64
	case int32:
		return I32
	}
	return Bool
}

// From returns a tensor with a copy of data, whose length must be the number
// of elements of shape. The element type follows from T.
func From[T Element](shape []int, data []T) (*Tensor, error) {
	if err := checkLength(shape, len(data)); err != nil {
		return nil, err
	}
	return Over(shape, append(make([]T, 0, len(data)), data...))
}

// Over is [From] without the copy: data is the storage of the tensor.
func Over[T Element](shape []int, data []T) (*Tensor, error) {
	return over(dtypeOf[T](), shape, data)
}

func over[T Element | uint16](dtype DType, shape []int, data []T) (*Tensor, error) {
	if err := checkLength(shape, len(data)); err != nil {
		return nil, err
	}
	return &Tensor{dtype: dtype, shape: slices.Clone(shape), n: len(data), data: data}, nil
}

// FromFloat32 is [From] for float32, for callers that cannot use type
// parameters.
func FromFloat32(shape []int, data []float32) (*Tensor, error) { return From(shape, data) }

// FromFloat64 is [From] for float64.
func FromFloat64(shape []int, data []float64) (*Tensor, error) { return From(shape, data) }

// FromBits16 returns an f16 or bf16 tensor with a copy of the element bits.
func FromBits16(dtype DType, shape []int, bits []uint16) (*Tensor, error) {
	if err := checkLength(shape, len(bits)); err != nil {
		return nil, err
	}
	return OverBits16(dtype, shape, append(make([]uint16, 0, len(bits)), bits...))
}

// OverBits16 is [FromBits16] without the copy: bits are the storage of the tensor.
func OverBits16(dtype DType, shape []int, bits []uint16) (*Tensor, error) {
	if dtype != F16 && dtype != BF16 {
		return nil, fmt.Errorf("16-bit patterns make an f16 or bf16 tensor, not %v", dtype)
	}
	return over(dtype, shape, bits)
}

func checkLength(shape []int, have int) error {
	n, err := Elements(shape)
	if err != nil {
		return err
	}
	if n != have {
		return fmt.Errorf("shape %s needs %d elements, got %d", FormatShape(shape), n, have)
	}
	return nil
}

// Reshape returns a view with another shape of the same number of elements.
// One dimension may be -1, to be computed from the others. Like a conversion of
// a slice to an array it panics when the lengths differ; [ResolveShape] tells
// beforehand.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	resolved, err := ResolveShape(t.n, shape)
	if err != nil {
		panic(fmt.Sprintf("tensor: cannot reshape %v%s: %v", t.dtype, FormatShape(t.shape), err))
	}
	return &Tensor{dtype: t.dtype, shape: resolved, n: t.n, data: t.data}
}

// Window returns a view of consecutive elements, those from offset on, under a
// shape.
func (t *Tensor) Window(offset int, shape ...int) (*Tensor, error) {
	n, err := Elements(shape)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		offset = 0 // an empty slice may start one past the end
	}
	if offset < 0 || offset > t.n-n {
		return nil, fmt.Errorf("%d elements from %d on are not in %v%s", n, offset, t.dtype, FormatShape(t.shape))
	}
	w := &Tensor{dtype: t.dtype, shape: slices.Clone(shape), n: n}
	switch s := t.data.(type) {
	case []float32:
		w.data = s[offset : offset+n : offset+n]
	case []float64:
		w.data = s[offset : offset+n : offset+n]
	case []uint16:
		w.data = s[offset : offset+n : offset+n]
	case []int64:
		w.data = s[offset : offset+n : offset+n]
	case []int32:
		w.data = s[offset : offset+n : offset+n]
	case []bool:
		w.data = s[offset : offset+n : offset+n]
	}
	return w, nil
}

// ResolveShape replaces a single -1 in shape so that it has n elements.
func ResolveShape(n int, shape []int) ([]int, error) {
	out := slices.Clone(shape)
	hole := slices.Index(out, -1)
	if hole >= 0 {
		out[hole] = 1
		rest, err := Elements(out)
		switch {
		case err != nil:
			return nil, fmt.Errorf("target shape %s: %w", FormatShape(shape), err)
		case rest == 0 || n%rest != 0:
			return nil, fmt.Errorf("%d elements do not divide into %s", n, FormatShape(shape))
		}
		out[hole] = n / rest
	}
	m, err := Elements(out)
	if err != nil {
		return nil, err
	}
	if m != n {
		return nil, fmt.Errorf("%s has %d elements, not %d", FormatShape(shape), m, n)
	}
	return out, nil
}

// Clone returns a copy with storage of its own.
func (t *Tensor) Clone() *Tensor {
	c := &Tensor{dtype: t.dtype, shape: slices.Clone(t.shape), n: t.n}
	switch s := t.data.(type) {
	case []float32:
		c.data = slices.Clone(s)
	case []float64:
		c.data = slices.Clone(s)
	case []uint16:
		c.data = slices.Clone(s)
	case []int64:
		c.data = slices.Clone(s)
	case []int32:
		c.data = slices.Clone(s)
	case []bool:
		c.data = slices.Clone(s)
	}
	return c
}

// Copy copies the elements of src, which must have the type and shape of dst.
func Copy(dst, src *Tensor) error {
	if dst.dtype != src.dtype || !ShapeEqual(dst.shape, src.shape) {
		return fmt.Errorf("cannot copy %v%s to %v%s", src.dtype, FormatShape(src.shape), dst.dtype, FormatShape(dst.shape))
	}
	switch s := src.data.(type) {
	case []float32:
		copy(dst.Float32(), s)
	case []float64:
		copy(dst.Float64(), s)
	case []uint16:
		copy(dst.Bits16(), s)
	case []int64:
		copy(dst.Int64(), s)
	case []int32:
		copy(dst.Int32(), s)
	case []bool:
		copy(dst.Bool(), s)
	}
	return nil
}

// At returns one element as a float64 (true is 1). Like indexing a slice, it
// panics when an index is out of range or their number is not the rank. An i64
// beyond 2^53 is rounded; use [Tensor.Int64] for exact values.
func (t *Tensor) At(index ...int) float64 { return t.at(t.offset(index)) }

// Set stores v, converted as [Tensor.Convert] converts. It panics like
// [Tensor.At].
func (t *Tensor) Set(v float64, index ...int) { t.set(t.offset(index), v) }

// Item returns the only element of a tensor with one element, and panics when
// there are more or none.
func (t *Tensor) Item() float64 {
	if t.n != 1 {
		panic(fmt.Sprintf("tensor: Item of a tensor of shape %s, which has %d elements", FormatShape(t.shape), t.n))
	}
	return t.at(0)
}

func (t *Tensor) offset(index []int) int {
	if len(index) != len(t.shape) {
		panic(fmt.Sprintf("tensor: %d indices for shape %s", len(index), FormatShape(t.shape)))
	}
	off := 0
	for i, x := range index {
		if x < 0 || x >= t.shape[i] {
			panic(fmt.Sprintf("tensor: index %d out of range for dimension %d of shape %s", x, i, FormatShape(t.shape)))
		}
		off = off*t.shape[i] + x
	}
	return off
}

func (t *Tensor) at(i int) float64 {
	switch s := t.data.(type) {
	case []float32:
		return float64(s[i])
	case []float64:
		return s[i]
	case []uint16:
		return float64(halfToFloat32(t.dtype, s[i]))
	case []int64:
		return float64(s[i])
	case []int32:
		return float64(s[i])
	case []bool:
		if s[i] {
			return 1
		}
	}
	return 0
}

func (t *Tensor) set(i int, v float64) {
	switch s := t.data.(type) {
	case []float32:
		s[i] = float32(v)
	case []float64:
		s[i] = v
	case []uint16:
		s[i] = halfFromFloat64(t.dtype, v)
	case []int64:
		s[i] = Saturate64(v)
	case []int32:
		s[i] = int32(min(max(Saturate64(v), math.MinInt32), math.MaxInt32))
	case []bool:
		s[i] = v != 0
	}
}

// Saturate64 truncates toward zero, clamps to the range and maps NaN to 0, so
// that the result does not depend on the processor.
func Saturate64(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v <= -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

// Convert returns the tensor in another element type; floating-point results
// are rounded to nearest even, integers are truncated toward zero and
// saturated (NaN gives 0), and bool is "not zero". The same type gives a copy.
func (t *Tensor) Convert(dtype DType) (*Tensor, error) {
	if dtype == t.dtype {
		return t.Clone(), nil
	}
	out, err := Zeros(dtype, t.shape...)
	if err != nil {
		return nil, err
	}
	if t.dtype == I64 && dtype == I32 {
		dst := out.Int32()
		for i, v := range t.Int64() {
			dst[i] = int32(min(max(v, math.MinInt32), math.MaxInt32))
		}
		return out, nil
	}
	if t.dtype == I64 { // a float64 in between could round twice
		src := t.Int64()
		switch dst := out.data.(type) {
		case []float32:
			for i, v := range src {
				dst[i] = float32(v)
			}
			return out, nil
		case []uint16:
			for i, v := range src {
				dst[i] = halfFromFloat64(dtype, OddFloat64(v))
			}
			return out, nil
		}
	}
	if t.dtype == F32 && dtype == F64 {
		dst := out.Float64()
		for i, v := range t.Float32() {
			dst[i] = float64(v)
		}
		return out, nil
	}
	for i := range t.n {
		out.set(i, t.at(i))
	}
	return out, nil
}

// Elem returns element i of the row-major storage as [Tensor.At] does.
func (t *Tensor) Elem(i int) float64 { return t.at(i) }

// SetElem stores element i of the row-major storage as [Tensor.Set] does.
func (t *Tensor) SetElem(i int, v float64) { t.set(i, v) }
