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
	// change g and keeps no reference to memory that the caller may change.
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

// CheckInputs compares tensors with the input specs of a graph.
func CheckInputs(g *ir.Graph, inputs []*tensor.Tensor) error {
	if len(inputs) != len(g.Inputs) {
		return fmt.Errorf("%s takes %d inputs, got %d", g.Name, len(g.Inputs), len(inputs))
	}
	for i, v := range g.Inputs {
		t := inputs[i]
		if t == nil {
			return fmt.Errorf("%s: input %s is missing", g.Name, v.Name)
		}
		have := ir.SpecOf(t)
		have.Device = v.Spec.Device // the backend moves host tensors there
		if !have.Equal(v.Spec) {
			return fmt.Errorf("%s: input %s is %v, the program was compiled for %v", g.Name, v.Name, have, v.Spec)
		}
	}
	return nil
}
