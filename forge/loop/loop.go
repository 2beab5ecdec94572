// Package loop is the kernel form between the graph and generated code: loop
// nests over affine accesses, scalar expressions and reductions, and templates
// where a nest is not enough, the contraction with an epilogue and attention.
//
// [Lower] turns a node into a [Kernel] once for all backends, which only print
// kernels and choose schedules. In text, the softmax of rows reads
//
//	kernel softmax(%y: out f32, %x: f32)
//	nest [4] x [10]
//	  s0 = max of load %x[10,1]
//	  s1 = sum of exp(sub(load %x[10,1], s0)) -> %y[10,1]
//	  each div(load %y[10,1], s1) -> %y[10,1]
//
// where "[10,1]" are the steps of an access, in elements, one for each
// dimension. A load of an f16 or bf16 element gives the f32 that it stands for, and
// a store rounds to it; other conversions are written out:
//
//	kernel fused(%y: out f16, %x: f16, %n: i64)
//	nest [] x [24]
//	  each mul(round_f16(exp(load %x[1])), cast_f32(load %n[1])) -> %y[1]
//
// Elementwise expressions keep the operations of the interpreter one by one, so
// that their results are equal to the last bit. Reductions and contractions may
// add in another order.
package loop

import "forgekernel/forge/ir"

// Kernel is the work of one node.
type Kernel struct {
	Op     string // the operator it was lowered from
	Params []Param
	// One of these is the work; the others are nil.
	Nest        *Nest
	Contraction *Contraction
	Attention   *Attention
}

// Param is a pointer to the first element of a value.
type Param struct {
	Value   *ir.Value
	Written bool
}

// Access is an affine walk over a parameter. Strides has a step in elements for
// each dimension of the loops around it.
type Access struct {
	Param   int
	Strides []int
	// Bits says that elements of half precision are moved as they are stored.
	Bits bool
}

// Nest runs its stages, one after another, at each point of the outer
// dimensions. A stage visits the line dimensions there in row-major order. Points
// are independent of one another, but that stages read what earlier ones stored.
type Nest struct {
	Outer, Line []int
	Stages      []Stage
}

// Stage is one sweep over the line, or a single step when Once is set.
type Stage struct {
	Expr   *Expr
	Once   bool      // evaluated once for each outer point
	Reduce Reduction // folds the line to a number, which later stages may use
	Store  *Access   // where the value of each visit goes; nil for nowhere
}

// Reduction is how the values of a line become one.
type Reduction string

// Reductions. The largest and smallest of anything and NaN are NaN.
const (
	NoReduction Reduction = ""
	Sum         Reduction = "sum"
	Max         Reduction = "max"
	Min         Reduction = "min"
)

// Contraction is Out = Epilogue(Bias + A x B) for a matrix [M,K] and a matrix
// [K,N] at each point of the batch dimensions. Sums run in order of k with one
// fused multiply-add each, beginning with the bias.
type Contraction struct {
	Batch   []int
	M, N, K int
	A       Access // over batch, M and K
	B       Access // over batch, K and N
	Out     Access // over batch, M and N; neighbouring columns are adjacent
	Bias    *Access
	// Epilogue is applied to each sum, which it names [Acc]; nil for none.
	Epilogue *Expr
}

// FLOPs counts two operations for each multiply-add.
func (c *Contraction) FLOPs() int64 {
	n := 2 * int64(c.M) * int64(c.N) * int64(c.K)
	for _, d := range c.Batch {
		n *= int64(d)
	}
	return n
}
