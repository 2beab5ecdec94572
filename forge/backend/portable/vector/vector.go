// Package vector computes on slices of float32 with the vector instructions of
// the machine: elementwise functions, folds, and matrix multiplication.
//
// A [Set] is what one kind of machine has. Those for amd64 are assembly written by
// the program in folder gen; [Generic] is plain Go and runs everywhere.
// Elementwise results are those of package mathf to the last bit in every set.
// Slices of one call have equal lengths that are multiples of [Lanes], and may be
// the same memory, but not overlap otherwise. Conditions are lanes with all bits
// set for true and none for false.
package vector

//go:generate go run -C gen . -out ../vector_amd64.s -stubs ../stubs_amd64.go -pkg vector

// Lanes is the number of elements that every length is a multiple of, and the
// number of partial results of a fold.
const Lanes = 16

// Unary sets dst to a function of x.
type Unary func(dst, x []float32)

// Binary sets dst to a function of x and y.
type Binary func(dst, x, y []float32)

// Fold combines x into acc, lane by lane.
type Fold func(acc *[Lanes]float32, x []float32)

// Tile computes C = bias + A B for a few rows and columns. Element (r, k) of A is
// at a + r*lda + k*ska, row k of B begins at b + k*ldb, and row r of C at
// c + r*ldc, all in elements. The sums run over k in order, beginning with bias,
// a row of which nil stands for zeros.
type Tile func(a *float32, lda, ska int, b *float32, ldb, k int, bias, c *float32, ldc int)

// Shape is the extent of a [Tile]: Columns is in units of [Lanes].
type Shape struct{ Rows, Columns int }

// Set is the functions of one kind of machine, by the name of the operator.
type Set struct {
	Name string
	// Vectors is the number of registers that hold [Lanes] elements.
	Vectors int
	Unary   map[string]Unary
	Binary  map[string]Binary
	Folds   map[string]Fold // sum, max, min
	// Where takes x where c holds and y elsewhere.
	Where func(dst, c, x, y []float32)
	// Fill sets all of dst to x.
	Fill  func(dst []float32, x float32)
	Tiles map[Shape]Tile
}
