// Package loop is the kernel form between the graph and generated code: loop
// nests over affine accesses, scalar expressions and reductions, and templates
// where a nest is not enough: the contraction with an epilogue, the convolution and
// attention.
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
//	nest [4] x [6]
//	  each mul(round_f16(exp(load %x[6,1])), round_f16(odd(load %n[0,1]))) -> %y[6,1]
//
// Beside loads there are the loop variables i0, i1 and so on, those of the line
// last. An access may depend on more than they do: "where" gives the ranges that an
// affine index must be in, outside which nothing is touched and "else" is the value;
// "at" adds an index that is itself an expression, times a step:
//
//	kernel pad(%y: out f32, %x: f32)
//	nest [] x [10]
//	  each load %x[1] -2 where i0-2 below 6 else 0 -> %y[1]
//
//	kernel gather(%y: out f32, %table: f32, %index: i64)
//	nest [7] x [8]
//	  each load %table[0,1] at 8 * (load %index[1,0]) below 100 -> %y[8,1]
//
// Attention over the queries of 4 heads, two for each key head, and a cache whose
// keys there are is known when the program runs, reads
//
//	kernel cached_attention(%y: out f32, %q: f32, %k: f32, %v: f32, %p: i64, %n: i32)
//	attend [2,4/2] x [3,9] of 4 and 4 channels, causal from %p[1] below %n[0]
//	  softmax(0.5 * %q[48,12,4,1] * %k[72,36,4,1]) * %v[72,36,4,1] -> %y[48,12,4,1]
//
// A kernel faults where an index is not below its bound, a divisor is the integer 0,
// or the condition of a require stage is false: it stops, having touched nothing
// out of bounds, and the operator's own evaluation of the node gives the error.
//
// A node may need several kernels, which run one after another, and memory of its
// own, written $name, for what one leaves to the next.
//
// Elementwise expressions keep the operations of the interpreter one by one, so
// that their results are equal to the last bit. Reductions and contractions may
// add in another order.
package loop

import (
	"math"

	"forgekernel/forge/tensor"
)

// Kernel is work that runs without waiting for other work of its node.
type Kernel struct {
	Op     string // the operator it was lowered from
	Params []Param
	// One of these is the work; the others are nil.
	Nest        *Nest
	Contraction *Contraction
	Convolution *Convolution
	Attention   *Attention
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
	// Running stores what the fold is at each visit, in order, in place of the value.
	Running Running
	// Ordered says that visits find what earlier ones stored.
	Ordered bool
	// Require says that the value, a condition, must be true. The kernel faults
	// where it is not.
	Require bool
	// When is a condition on the outer point; where it is false the stage, whose
	// value no other uses, is left out. Nil for always.
	When *Expr
}

// Reduction is how the values of a line become one.
type Reduction string

// Reductions. The largest and smallest of anything and NaN are NaN.
const (
	NoReduction Reduction = ""
	Sum         Reduction = "sum"
	Max         Reduction = "max"
	Min         Reduction = "min"
	Prod        Reduction = "prod" // only of [LowerWide]
)

// Running is when a fold is stored while it goes on.
type Running string

// Kinds of running folds: with the value of the visit, and without it.
const (
	NotRunning Running = ""
	Through    Running = "through"
	Before     Running = "before"
)

// Combine is the operation that makes one value of two.
func (r Reduction) Combine() Opcode {
	return map[Reduction]Opcode{Sum: "add", Prod: "mul", Max: "maximum", Min: "minimum"}[r]
}

// Start is the value of a type that changes nothing: zero, one, or the end of its range.
func (r Reduction) Start(t tensor.DType) *Expr {
	e := &Expr{Op: Const, Type: t}
	switch r {
	case Prod:
		e.Value, e.Int = 1, 1
	case Max:
		e.Value, e.Int = math.Inf(-1), math.MinInt32
		if t == tensor.I64 {
			e.Int = math.MinInt64
		}
	case Min:
		e.Value, e.Int = math.Inf(1), math.MaxInt32
		if t == tensor.I64 {
			e.Int = math.MaxInt64
		}
	}
	return e
}

// Contraction is Out = Epilogue(Bias + A x B) for a matrix [M,K] and a matrix
// [K,N] at each point of the batch dimensions. Each product is added with one fused
// multiply-add; the bias is what a sum begins with. Long sums may be split.
type Contraction struct {
	Batch   []int
	M, N, K int
	Elem    tensor.DType // of A, the bias and Out
	Weight  tensor.DType // of B: Elem, or of half precision where that is f32
	A       Access       // over batch, M and K
	B       Access       // over batch, K and N
	Out     Access       // over batch, M and N
	Bias    *Access      // over batch, M and N; nil for none
	// Epilogue is applied to each sum, which it names [Acc]; nil for none. Its
	// loads are over batch, M and N.
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
