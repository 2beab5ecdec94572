// Package generate makes random programs that are well typed, over all
// operators and element types, together with inputs for them.
//
// A program grows step by step. A step applies an operator, or a pattern that
// passes look for, to operands that fit it: values that exist already, brought
// into shape by views, casts, cuts and padding, so that steps depend on one
// another, and new inputs and constants. Dimensions are small, 0 and 1 among
// them; one program in four also has some that fill vectors and register tiles,
// with and without a rest. Inputs mix ordinary numbers of several magnitudes with NaN, infinities,
// zeros of both signs, denormals and the largest numbers. Equal seeds give
// equal programs. Operators that exchange tensors have one rank, or a second one
// that [WithPeer] stands for.
package generate

import (
	"fmt"
	"math/rand/v2"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Case is a program and inputs to run it on.
type Case struct {
	Graph  *ir.Graph
	Inputs []*tensor.Tensor
}

// Limits of a program.
const (
	maxSteps    = 24
	maxElements = 1600 // of a value that later steps may read
	maxRank     = 4
)

// New makes the program of a seed. The error tells of a defect of the generator
// or of package ir.
func New(seed uint64) (*Case, error) {
	m := &maker{rng: rand.New(rand.NewPCG(seed, 17)), b: ir.NewBuilder(op.Registry, "fuzz"), wide: seed%4 == 0}
	m.magnitude = []float64{1, 1, 1, 1e-20, 1e-38, 1e19, 1e30}[m.rng.IntN(7)]
	m.special = []int{0, 0, 12, 3}[m.rng.IntN(4)]
	for range 1 + m.rng.IntN(3) {
		m.keep(m.input(m.dtype(), m.shape(), m.fill))
	}
	for range 1 + m.rng.IntN(maxSteps) {
		m.step()
	}
	outputs := []*ir.Value{m.values[len(m.values)-1]}
	for range m.rng.IntN(3) {
		outputs = append(outputs, m.pick(m.values))
	}
	if m.err != nil {
		return nil, fmt.Errorf("program %d: %w", seed, m.err)
	}
	g, err := m.b.Finish(outputs...)
	if err != nil {
		return nil, fmt.Errorf("program %d: %w", seed, err)
	}
	return &Case{Graph: g, Inputs: m.inputs}, nil
}

// maker is a program in the making.
type maker struct {
	rng       *rand.Rand
	b         *ir.Builder
	values    []*ir.Value // those that later steps may read
	inputs    []*tensor.Tensor
	magnitude float64 // of ordinary numbers
	special   int     // one special number in so many; 0 for none
	wide      bool    // some dimensions are long
	err       error   // the first failure of what cannot fail
}

// step applies an operator or a pattern.
func (m *maker) step() {
	if m.chance(4) {
		m.idiom()
		return
	}
	o := operators[m.rng.IntN(len(operators))]
	apply := recipes[o.Name]
	if apply == nil {
		apply = classRecipes[o.Class]
	}
	apply(m, o)
}

// operators are those that a program may apply.
var operators = func() []*ir.Op {
	var list []*ir.Op
	for _, o := range op.Registry.All() {
		if !o.PassOnly {
			list = append(list, o)
		}
	}
	return list
}()

// apply adds a node if it type-checks, and keeps its results for later steps.
func (m *maker) apply(o *ir.Op, attrs ir.Attrs, in ...*ir.Value) bool {
	out, err := m.b.ApplyN(o.Name, attrs, in...)
	if err != nil {
		return false
	}
	if o.Donates {
		m.forget(in[0].Owner())
	}
	for _, v := range out {
		m.keep(v)
	}
	return true
}

// must adds a node that type-checks.
func (m *maker) must(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v, err := m.b.Apply(name, attrs, in...)
	if err != nil {
		if m.err == nil {
			m.err = err
		}
		return in[0]
	}
	return v
}

// keep lets later steps read v.
func (m *maker) keep(v *ir.Value) {
	if v.Spec.Elements() <= maxElements {
		m.values = append(m.values, v)
	}
}

// forget keeps later steps from reading storage that a node has taken over.
func (m *maker) forget(owner *ir.Value) {
	kept := m.values[:0]
	for _, v := range m.values {
		if v.Owner() != owner {
			kept = append(kept, v)
		}
	}
	m.values = kept
}

// chance is true once in n.
func (m *maker) chance(n int) bool { return m.rng.IntN(n) == 0 }

// pick prefers recent values, which makes chains.
func (m *maker) pick(list []*ir.Value) *ir.Value {
	n := len(list)
	if m.chance(2) {
		return list[n-1-m.rng.IntN(min(n, 4))]
	}
	return list[m.rng.IntN(n)]
}

// some gives an existing value, or a new input when there is none.
func (m *maker) some() *ir.Value {
	if len(m.values) == 0 {
		m.keep(m.input(m.dtype(), m.shape(), m.fill))
	}
	return m.pick(m.values)
}

func (m *maker) dtype() tensor.DType {
	return choose(m, tensor.F32, tensor.F32, tensor.F32, tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32, tensor.Bool)
}

// float gives a floating-point type.
func (m *maker) float() tensor.DType {
	return choose(m, tensor.F32, tensor.F32, tensor.F32, tensor.F32, tensor.F64, tensor.F16, tensor.BF16)
}

// index gives a type of indices.
func (m *maker) index() tensor.DType { return choose(m, tensor.I64, tensor.I32) }

func choose[T any](m *maker, list ...T) T { return list[m.rng.IntN(len(list))] }

// dim gives a length: mostly 2 to 4, sometimes 1, rarely 0.
func (m *maker) dim() int {
	switch k := m.rng.IntN(24); {
	case k == 0:
		return 0
	case k < 6:
		return 1
	default:
		return 2 + k%3
	}
}

// size is a length that is not 0.
func (m *maker) size() int { return max(1, m.dim()) }

// long is a length that fills vectors, in some programs, or else the given one.
func (m *maker) long(dim int) int {
	if m.wide && m.chance(2) {
		return choose(m, 7, 8, 9, 15, 16, 17, 24, 31, 33, 40)
	}
	return dim
}

func (m *maker) shape() []int {
	shape := make([]int, m.rng.IntN(maxRank))
	for i := range shape {
		shape[i] = m.dim()
	}
	if m.wide && len(shape) > 0 {
		i := m.rng.IntN(len(shape))
		shape[i] = m.long(shape[i])
	}
	return shape
}

// axis gives an axis of a value that has one, counted from either end.
func (m *maker) axis(v *ir.Value) int {
	axis := m.rng.IntN(v.Spec.Rank())
	if m.chance(2) {
		axis -= v.Spec.Rank()
	}
	return axis
}

func (m *maker) name() string { return fmt.Sprint("in", len(m.inputs)) }
