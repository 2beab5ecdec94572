package ir

import (
	"fmt"
	"slices"

	"forgekernel/forge/tensor"
)

// Spec is the static type of a value: element type, shape and device. A scalar
// has an empty shape.
type Spec struct {
	DType  tensor.DType
	Shape  []int
	Device Device
}

// SpecOf is the spec of a tensor, which is on the host.
func SpecOf(t *tensor.Tensor) Spec { return Spec{DType: t.DType(), Shape: t.Shape()} }

// F32 is the spec of a float32 value of the given shape.
func F32(shape ...int) Spec { return Spec{DType: tensor.F32, Shape: shape} }

// F64 is the spec of a float64 value of the given shape.
func F64(shape ...int) Spec { return Spec{DType: tensor.F64, Shape: shape} }

// String writes "f32[8,16]"; a scalar is "f32[]". A device other than the
// default follows: "f32[8,16] on cuda:0".
func (s Spec) String() string {
	text := s.DType.String() + tensor.FormatShape(s.Shape)
	if s.Device != CPU {
		text += " on " + s.Device.String()
	}
	return text
}

// Equal reports whether two specs are the same.
func (s Spec) Equal(t Spec) bool {
	return s.DType == t.DType && s.Device == t.Device && tensor.ShapeEqual(s.Shape, t.Shape)
}

// Clone returns a spec whose shape shares no memory with s.
func (s Spec) Clone() Spec {
	s.Shape = slices.Clone(s.Shape)
	return s
}

// Rank is the number of dimensions.
func (s Spec) Rank() int { return len(s.Shape) }

// Elements is the number of elements of a spec that [Spec.Check] accepts.
func (s Spec) Elements() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of a value of this spec.
func (s Spec) Bytes() int64 { return int64(s.Elements()) * int64(s.DType.Size()) }

// Check reports whether a tensor of this spec may exist: a known element type,
// a well-formed device and a shape within the limits of package tensor.
func (s Spec) Check() error {
	if !s.DType.Valid() {
		return fmt.Errorf("%v is not an element type", s.DType)
	}
	if err := s.Device.check(); err != nil {
		return err
	}
	_, err := tensor.Elements(s.Shape)
	return err
}
