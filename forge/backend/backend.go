// Package backend declares what runs a compiled graph.
//
// A [Backend] turns a verified graph into an [Executable]. All backends pass
// the suite in package conformance, which compares every operator with the
// float64 reference.
package backend

import (
	"context"
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Backend compiles graphs for one kind of machine.
type Backend interface {
	// Name is a short identifier such as "interp".
	Name() string
	// Compile checks that the backend can run g and prepares it. It does not
	// change g and keeps no reference to memory that the caller may change. The
	// tensors of constants are not to be changed: programs keep and share them.
	Compile(ctx context.Context, g *ir.Graph) (Executable, error)
}

// Executable is a program ready to run. It is safe for concurrent use.
type Executable interface {
	// Run computes the outputs of the graph. The inputs must match the graph's
	// input specs; they are only read. The outputs belong to the caller: no
	// later run writes to them and they share no memory with the inputs.
	//
	// When ctx ends, Run stops within a few milliseconds and returns the
	// cause, [context.Cause].
	Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error)
	// Graph is the program that runs.
	Graph() *ir.Graph
	// Kernels tells how each node of the graph that is not a constant is run, in
	// order of execution.
	Kernels() []Kernel
}

// Kernel is what a backend chose for a node.
type Kernel struct {
	Value  string `json:"value"`  // the first result of the node: "%h"
	Kernel string `json:"kernel"` // in the backend's own words; empty when nothing runs
	Reason string `json:"reason"` // why it was chosen, one clause
}

// Into is an [Executable] that can leave its results where the caller wants them,
// for loops that run a program over and over.
type Into interface {
	Executable
	// RunInto is Run with tensors for the outputs, which must match the graph's
	// output specs and share no memory with the inputs or one another. There is
	// one exception: where the program updates a cache, the tensor that goes in
	// may be the one for what comes out, which saves a copy of all of it. After
	// an error the contents of the outputs are undefined.
	RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error
}

// RunInto runs a program and leaves its results in tensors of the caller; see [Into].
// An executable that cannot do so has them copied there.
func RunInto(ctx context.Context, x Executable, outputs, inputs []*tensor.Tensor) error {
	if into, ok := x.(Into); ok {
		return into.RunInto(ctx, outputs, inputs)
	}
	if err := CheckOutputs(x.Graph(), outputs); err != nil {
		return err
	}
	results, err := x.Run(ctx, inputs...)
	if err != nil {
		return err
	}
	for i, t := range results {
		fill(outputs[i], t)
	}
	return nil
}

// fill copies the elements of a tensor of the same type and shape.
func fill(to, from *tensor.Tensor) {
	switch to.DType() {
	case tensor.F32:
		copy(to.Float32(), from.Float32())
	case tensor.F64:
		copy(to.Float64(), from.Float64())
	case tensor.I64:
		copy(to.Int64(), from.Int64())
	case tensor.I32:
		copy(to.Int32(), from.Int32())
	case tensor.Bool:
		copy(to.Bool(), from.Bool())
	default:
		copy(to.Bits16(), from.Bits16())
	}
}

// CheckInputs compares tensors with the input specs of a graph.
func CheckInputs(g *ir.Graph, inputs []*tensor.Tensor) error {
	return check(g, "input", g.Inputs, inputs)
}

// CheckOutputs compares tensors that are to be filled with the output specs of a
// graph.
func CheckOutputs(g *ir.Graph, outputs []*tensor.Tensor) error {
	return check(g, "output", g.Outputs, outputs)
}

func check(g *ir.Graph, kind string, values []*ir.Value, tensors []*tensor.Tensor) error {
	if len(tensors) != len(values) {
		return countError(g, kind, len(values), len(tensors))
	}
	for i, v := range values {
		if err := checkOne(g, kind, v, tensors[i]); err != nil {
			return err
		}
	}
	return nil
}

func countError(g *ir.Graph, kind string, want, got int) error {
	verb := map[string]string{"input": "takes", "output": "gives"}[kind]
	return fmt.Errorf("%s %s %d %ss, got %d", g.Name, verb, want, kind, got)
}

func checkOne(g *ir.Graph, kind string, v *ir.Value, t *tensor.Tensor) error {
	if t == nil {
		return fmt.Errorf("%s: %s %s is missing", g.Name, kind, v.Name)
	}
	if !fits(t, v.Spec) {
		have := ir.SpecOf(t)
		have.Device = v.Spec.Device // the backend moves host tensors there
		return fmt.Errorf("%s: %s %s is %v, the program was compiled for %v", g.Name, kind, v.Name, have, v.Spec)
	}
	return nil
}

// fits compares the element type and the shape, without an allocation.
func fits(t *tensor.Tensor, s ir.Spec) bool {
	if t.DType() != s.DType || t.Rank() != len(s.Shape) {
		return false
	}
	for i, d := range s.Shape {
		if t.Dim(i) != d {
			return false
		}
	}
	return true
}
