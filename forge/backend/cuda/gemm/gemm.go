package gemm

import (
	"slices"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

// Matrix is an operand or the result: where its elements are.
type Matrix struct {
	Elem tensor.DType // F32, F16 or BF16
	// Batch has a step for each dimension of [Shape.Batch], and Row and Column are those
	// within a matrix; all in elements. 0 repeats what is there.
	Batch       []int
	Row, Column int
	// Align is the bytes that the address of the first element is a multiple of.
	Align int
}

// Shape describes products Out = finish(A x B), one for each point of Batch, of matrices
// [M,K] and [K,N].
type Shape struct {
	Batch   []int
	M, N, K int
	A, B    Matrix
	Out     Matrix  // its Column is 1
	Window  *Window // how elements of B are found; nil where they have places of their own
	Begin   Begin
	Finish  Finish
	// Early says that no kernel before this one writes B, so that a kernel may ask for
	// elements of it before those have ended. Such a kernel waits by itself, with
	// ENTER or AWAIT.
	Early bool
}

// Window is a B of images under a moving window: k counts channels, and taps of each row by
// row, and n the places of the window row by row. What is beyond an image is zero.
type Window struct {
	Channel, Row, Column int // steps of an image, in elements
	V, H                 Moves
}

// Moves is how a window moves along one dimension: place o has at tap k the input
// o*Stride - Before + k*Dilation.
type Moves struct{ In, Out, Taps, Stride, Dilation, Before int }

// Begin is how a kernel makes the elements of A, a row of f32, in CUDA C, in place of reading
// them; without a Body it reads them.
type Begin struct {
	Params []string // as those of [Finish]
	// Ahead is the body of a function that asks for what no kernel before writes, for k
	// from k0 up to k1, before those have ended.
	Ahead string
	// Body is that of a function which all of so many threads of a block call: it fills
	// float to[k - k0] for k from k0 up to k1, and zeros behind that up to slice.
	Body func(threads int) string
}

// Finish is what becomes of a sum, in CUDA C.
type Finish struct {
	Params []string // of the kernel, for what it reads: "const float *p3"
	// Body computes a float and returns it, from float sum at the point i0, i1, ... of
	// the batch, row m and column n. Empty returns the sum.
	Body string
}

// Arg is a parameter of a kernel.
type Arg int

// Arguments of kernels. From Extra on they are those of [Finish.Params] and [Begin.Params].
const (
	Out Arg = iota
	A
	B
	Scratch
	Counters
	Extra
)

// Kernel is one way to compute the products of a shape.
type Kernel struct {
	Name   string // "128x128x16 tiles, 256 threads"
	Reason string
	Pieces []Piece // which run one after another
	// Scratch and Counters are bytes of memory; those of counters are zero before and after.
	Scratch, Counters int64
}

// Piece is one launch.
type Piece struct {
	Shared        []string // text that goes before, each once in a file
	Text          string   // with @kernel@ for the name of the function
	Grid, Threads [3]uint32
	SharedBytes   int
	Args          []Arg
	Specific      bool // needs sm_90a
	Enters        bool // begins early; see [Shape.Early]
	// Boxes are of arguments that are no addresses: what the copy engine is told of the
	// matrix there.
	Boxes map[Arg]*driver.Boxes
}

// batches is the number of products.
func (s *Shape) batches() int {
	n := 1
	for _, d := range s.Batch {
		n *= d
	}
	return n
}

// whole reports whether units of so many elements, at multiples of the steps, can be
// moved at once.
func (m *Matrix) whole(unit int, step int, batch []int) bool {
	ok := m.Align%(unit*m.Elem.Size()) == 0 && step%unit == 0
	for _, b := range batch {
		ok = ok && b%unit == 0
	}
	return ok
}

// walk is how an operand with k along step along and others along step across is read:
// along k where memory is contiguous there, and in whole units of so many elements.
func (m *Matrix) walk(u units, along, across, sizeAlong, sizeAcross int) (isAlong, whole bool) {
	switch {
	case along == 1:
		return true, sizeAlong%u.along == 0 && m.whole(u.along, across, m.Batch)
	case across == 1:
		return false, sizeAcross%u.across == 0 && m.whole(u.across, along, m.Batch)
	}
	return along < across, false
}

// units are the elements that a kernel reads at once, along k and across it.
type units struct{ along, across int }

func (s *Shape) walkA(u units) (along, whole bool) { return s.A.walk(u, s.A.Column, s.A.Row, s.K, s.M) }

func (s *Shape) walkB(u units) (along, whole bool) {
	if s.Window != nil {
		return false, false
	}
	return s.B.walk(u, s.B.Row, s.B.Column, s.K, s.N)
}

func ceil(a, b int) int { return (a + b - 1) / b }

// params are those of the kernel beside the matrices.
func (s *Shape) params() []string { return slices.Concat(s.Finish.Params, s.Begin.Params) }

func withExtra(s *Shape, args ...Arg) []Arg {
	for i := range s.params() {
		args = append(args, Extra+Arg(i))
	}
	return args
}
