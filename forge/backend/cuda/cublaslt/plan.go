package cublaslt

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

// Shape is D = A B + C, for each of a batch of matrices: A is M by K, B is K by N, D is
// M by N, and C, if there is one, a row of N that is added to every row.
type Shape struct {
	DType   tensor.DType // of all: F32, F64, F16 or BF16
	M, N, K int
	Batch   int // at least 1
	A, B, D Matrix
	Bias    bool // whether there is a C
	// Workspace is the bytes of memory that a product may use besides.
	Workspace int64
}

// Matrix is where the elements of a matrix are, in elements.
type Matrix struct {
	Row, Column int   // from one row, and column, to the next; one of them is 1
	Batch       int   // from one matrix of a batch to the next; 0 when they are the same
	Align       int64 // what the address is a multiple of, in bytes
}

func (s Shape) String() string {
	text := fmt.Sprintf("%v[%d,%d] by [%d,%d]", s.DType, s.M, s.K, s.K, s.N)
	if s.Batch > 1 {
		text = fmt.Sprintf("%d times %s", s.Batch, text)
	}
	if s.Bias {
		text += " and a bias"
	}
	return text
}

// most bounds sizes and strides.
const most = 1<<31 - 1

// Check says what is wrong with a shape.
func (s Shape) Check() error {
	for _, n := range []int{s.M, s.N, s.K, s.Batch} {
		if n < 1 || n > most {
			return fmt.Errorf("%v: a size of %d", s, n)
		}
	}
	for _, m := range []struct {
		name       string
		rows, cols int
		Matrix
	}{{"A", s.M, s.K, s.A}, {"B", s.K, s.N, s.B}, {"D", s.M, s.N, s.D}} {
		byRow := m.Column == 1 && m.Row >= m.cols
		byColumn := m.Row == 1 && m.Column >= m.rows
		if !byRow && !byColumn || m.Row > most || m.Column > most || m.Batch < 0 || m.Align < 1 {
			return fmt.Errorf("%v: the elements of %s lie %d and %d apart", s, m.name, m.Row, m.Column)
		}
	}
	if s.Workspace < 0 {
		return fmt.Errorf("%v: a workspace of %d bytes", s, s.Workspace)
	}
	if s.D.Column != 1 || s.Batch > 1 && s.D.Batch < s.M*s.N {
		return fmt.Errorf("%v: D has to be stored by rows, without overlaps", s)
	}
	return nil
}

// kinds are what the library calls element types, types of sums and of factors.
type kinds struct{ data, compute, scale uintptr }

const (
	real16F  = 2
	real16BF = 14
	real32F  = 0
	real64F  = 1

	compute32F         = 68
	compute32FPedantic = 69
	compute64F         = 70
)

func kindsOf(d tensor.DType) (kinds, error) {
	switch d {
	case tensor.F32:
		return kinds{real32F, compute32FPedantic, real32F}, nil
	case tensor.F64:
		return kinds{real64F, compute64F, real64F}, nil
	case tensor.F16:
		return kinds{real16F, compute32F, real32F}, nil
	case tensor.BF16:
		return kinds{real16BF, compute32F, real32F}, nil
	}
	return kinds{}, fmt.Errorf("cuBLASLt has no products of %v", d)
}

// Plan is a shape with the ways to compute it, at least one.
type Plan struct {
	Shape    Shape
	Products []*Product
	objects
	lib    *Library
	handle uintptr
	one    [1]float64 // the factors of the product and of D before it, as the library reads them
	zero   [1]float64
}

// objects are those of the library that describe a product, which is of columns: its
// A is our B and its rows are our columns.
type objects struct{ desc, a, b, d uintptr }

// Attributes, of several enumerations.
const (
	descTransA    = 3
	descTransB    = 4
	descEpilogue  = 7
	descBias      = 8
	layoutBatch   = 5
	layoutStride  = 6
	prefWorkspace = 1
	prefAlignA    = 5
	prefAlignB    = 6
	prefAlignC    = 7
	prefAlignD    = 8

	transposed   = 1 // CUBLAS_OP_T
	epilogueBias = 4
)

// Plan asks the library for ways to multiply on a device. It is called within Do of the
// device's context. The error is [NotSupported] when the library has none.
func (l *Library) Plan(device *driver.Context, s Shape) (*Plan, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	k, err := kindsOf(s.DType)
	if err != nil {
		return nil, err
	}
	p := &Plan{Shape: s, lib: l}
	p.setFactors()
	if p.handle, err = l.handle(device.Ordinal); err != nil {
		return nil, err
	}
	if err := p.describe(k); err != nil {
		return nil, errors.Join(err, l.destroy(p.objects))
	}
	runtime.AddCleanup(p, func(o objects) { _ = l.destroy(o) }, p.objects) // what was made can be destroyed
	return p, p.search()
}

// setFactors writes 1 and 0 in the type of the factors.
func (p *Plan) setFactors() {
	if p.Shape.DType == tensor.F64 {
		p.one[0] = 1
		return
	}
	*(*float32)(unsafe.Pointer(&p.one)) = 1
}

// destroy gives up the objects that there are.
func (l *Library) destroy(o objects) error {
	var err error
	if o.desc != 0 {
		err = l.call("", "cublasLtMatmulDescDestroy", o.desc)
	}
	for _, layout := range []uintptr{o.a, o.b, o.d} {
		if layout != 0 {
			err = errors.Join(err, l.call("", "cublasLtMatrixLayoutDestroy", layout))
		}
	}
	return err
}

// describe makes the objects.
func (p *Plan) describe(k kinds) error {
	s := p.Shape
	if err := p.lib.call(s.String(), "cublasLtMatmulDescCreate", uintptr(unsafe.Pointer(&p.desc)), k.compute, k.scale); err != nil {
		return err
	}
	// Rows of ours are columns of the library's: what is stored by rows needs no turn.
	if err := p.turn(descTransA, s.B); err != nil {
		return err
	}
	if err := p.turn(descTransB, s.A); err != nil {
		return err
	}
	if s.Bias {
		if err := p.set32(descEpilogue, epilogueBias); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		into       *uintptr
		rows, cols int
		Matrix
	}{{&p.a, s.K, s.N, s.B}, {&p.b, s.M, s.K, s.A}, {&p.d, s.M, s.N, s.D}} {
		if err := p.layout(m.into, k.data, m.rows, m.cols, m.Matrix); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) turn(attribute uintptr, m Matrix) error {
	if m.Column == 1 {
		return nil
	}
	return p.set32(attribute, transposed)
}

func (p *Plan) set32(attribute uintptr, value int32) error {
	return p.lib.call(fmt.Sprintf("%v, attribute %d", p.Shape, attribute), "cublasLtMatmulDescSetAttribute", p.desc, attribute, uintptr(unsafe.Pointer(&value)), 4)
}

// layout describes a matrix of ours as the library stores matrices: by columns.
func (p *Plan) layout(into *uintptr, data uintptr, rows, cols int, m Matrix) error {
	lead, rows, cols := m.Row, cols, rows // the turned matrix is stored by columns
	if m.Column != 1 {
		lead, rows, cols = m.Column, cols, rows
	}
	detail := p.Shape.String()
	if err := p.lib.call(detail, "cublasLtMatrixLayoutCreate", uintptr(unsafe.Pointer(into)), data, uintptr(rows), uintptr(cols), uintptr(lead)); err != nil {
		return err
	}
	if p.Shape.Batch == 1 {
		return nil
	}
	count, stride := int32(p.Shape.Batch), int64(m.Batch)
	return errors.Join(
		p.lib.call(detail, "cublasLtMatrixLayoutSetAttribute", *into, layoutBatch, uintptr(unsafe.Pointer(&count)), 4),
		p.lib.call(detail, "cublasLtMatrixLayoutSetAttribute", *into, layoutStride, uintptr(unsafe.Pointer(&stride)), 8),
	)
}
