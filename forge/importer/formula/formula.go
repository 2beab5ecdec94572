// Package formula is the arithmetic that importers share: it builds what operators
// of model files mean out of those of the IR.
//
// A [Builder] adds nodes to a graph. Its methods end by a panic when something
// does not fit, which [Try] turns into an error, so that import functions read as
// formulas.
package formula

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Builder adds the nodes of formulas to a graph.
type Builder struct {
	B      *ir.Builder
	Budget Budget // nil for no bounds
}

// Budget bounds what an untrusted file can have made of it. An error ends the import.
type Budget interface {
	// Node is called before a node is added.
	Node() error
	// Room is called before a constant of these dimensions is made.
	Room(dims ...int) error
}

func (f Builder) count() {
	if f.Budget != nil {
		f.Check(f.Budget.Node())
	}
}

func (f Builder) room(dims ...int) {
	if f.Budget != nil {
		f.Check(f.Budget.Room(dims...))
	}
}

type bailout struct{ err error }

// Try runs the import of something and returns the error that ended it.
func Try(run func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bailout)
			if !ok {
				panic(r)
			}
			err = b.err
		}
	}()
	run()
	return nil
}

// Fail ends the function that [Try] runs with an error.
func (f Builder) Fail(format string, args ...any) { f.Check(fmt.Errorf(format, args...)) }

// Check ends the function that [Try] runs with err unless that is nil.
func (f Builder) Check(err error) {
	if err != nil {
		panic(bailout{err})
	}
}

// Op adds a node with one result.
func (f Builder) Op(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	f.count()
	v, err := f.B.Apply(name, attrs, in...)
	f.Check(err)
	return v
}

// Ops adds a node and returns its results.
func (f Builder) Ops(name string, attrs ir.Attrs, in ...*ir.Value) []*ir.Value {
	f.count()
	v, err := f.B.ApplyN(name, attrs, in...)
	f.Check(err)
	return v
}

// Number is a scalar of the element type of v.
func (f Builder) Number(v *ir.Value, x float64) *ir.Value {
	f.count()
	s, err := f.B.Scalar(v.Spec.DType, x)
	f.Check(err)
	return s
}

// Constant is a tensor as a value of the program; err is that of making the tensor.
func (f Builder) Constant(t *tensor.Tensor, err error) *ir.Value {
	f.Check(err)
	f.count()
	v, err := f.B.Const(t)
	f.Check(err)
	return v
}

// Iota is the constant start, start+step, … of n elements.
func (f Builder) Iota(n int, dtype tensor.DType, start, step float64) *ir.Value {
	f.room(n)
	t, err := tensor.Zeros(dtype, n)
	f.Check(err)
	for i := range n {
		t.SetElem(i, start+float64(i)*step)
	}
	return f.Constant(t, nil)
}

// Cast converts v.
func (f Builder) Cast(v *ir.Value, to tensor.DType) *ir.Value {
	if v.Spec.DType == to {
		return v
	}
	return f.Op("cast", ir.Attrs{"dtype": to.String()}, v)
}

// Short names for formulas.
func (f Builder) Add(a, b *ir.Value) *ir.Value { return f.Op("add", nil, a, b) }
func (f Builder) Sub(a, b *ir.Value) *ir.Value { return f.Op("sub", nil, a, b) }
func (f Builder) Mul(a, b *ir.Value) *ir.Value { return f.Op("mul", nil, a, b) }
func (f Builder) Div(a, b *ir.Value) *ir.Value { return f.Op("div", nil, a, b) }

// Scale and Shift take a number instead of a value.
func (f Builder) Scale(a *ir.Value, by float64) *ir.Value { return f.Mul(a, f.Number(a, by)) }
func (f Builder) Shift(a *ir.Value, by float64) *ir.Value { return f.Add(a, f.Number(a, by)) }

// Compare applies lt, eq and the like to a and a number.
func (f Builder) Compare(op string, a *ir.Value, with float64) *ir.Value {
	return f.Op(op, nil, a, f.Number(a, with))
}

// Where picks from a where cond holds, else from b.
func (f Builder) Where(cond, a, b *ir.Value) *ir.Value { return f.Op("where", nil, cond, a, b) }

// Truncate rounds towards zero.
func (f Builder) Truncate(x *ir.Value) *ir.Value {
	return f.Where(f.Compare("lt", x, 0), f.Op("ceil", nil, x), f.Op("floor", nil, x))
}

// IsNaN and IsInf tell which elements are no numbers and which are infinite.
func (f Builder) IsNaN(x *ir.Value) *ir.Value { return f.Op("ne", nil, x, x) }
func (f Builder) IsInf(x *ir.Value) *ir.Value {
	return f.Compare("eq", f.Op("abs", nil, x), math.Inf(1))
}

// Axis brings an axis into 0 … rank-1.
func (f Builder) Axis(axis int64, rank int) int {
	if axis < -int64(rank) || axis >= int64(rank) {
		f.Fail("axis %d is outside rank %d", axis, rank)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis)
}

// Axes brings axes into ascending order of 0 … rank-1; one that is named twice is an
// error.
func (f Builder) Axes(list []int64, rank int) []int64 {
	out := make([]int64, len(list))
	for i, a := range list {
		out[i] = int64(f.Axis(a, rank))
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		f.Fail("axes %v name one twice", list)
	}
	return out
}

// Lengths are integers as lengths or other small numbers.
func (f Builder) Lengths(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		if n < 0 || n > math.MaxInt32 {
			f.Fail("%d is no length", n)
		}
		out[i] = int(n)
	}
	return out
}

// Int64s are lengths as an attribute.
func Int64s(list []int) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}

// Product is the number of elements of dimensions.
func Product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
