package capture

import (
	"context"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// Subject is a program to measure and the inputs to run it on.
type Subject struct {
	Name      string
	Written   *ir.Graph // as traced
	Optimised *ir.Graph
	Plan      *plan.Plan // of the optimised program
	Inputs    []*tensor.Tensor
}

// NewSubject compiles a program as far as all backends do, and makes inputs for
// it from a seed.
func NewSubject(name string, g *ir.Graph, seed uint64) (*Subject, error) {
	result, err := pass.Run(g, pass.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &Subject{Name: name, Written: g, Optimised: result.Graph}
	if s.Plan, err = plan.New(result.Graph, plan.Options{}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if s.Inputs, err = suite.Inputs(g, seed); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Candidate is one way to run a program.
type Candidate interface {
	// Label tells it from the other candidates of a run.
	Label() Label
	// Prepare gets ready to run the program of a subject, and tells whether it
	// found what it needed in a cache. What this takes is reported apart from the
	// runs.
	Prepare(ctx context.Context, s *Subject) (Runner, CacheState, error)
}

// Runner runs a prepared program on the inputs of its subject. The results
// belong to the caller.
type Runner interface {
	Run(ctx context.Context) ([]*tensor.Tensor, error)
}

// OnBackend is the candidate that runs a variant of the program on a backend,
// which uses the given number of threads.
func OnBackend(b backend.Backend, v Variant, threads int) Candidate {
	return &compiled{b, Label{b.Name(), v, threads}}
}

// compiled is a candidate on a backend.
type compiled struct {
	backend backend.Backend
	label   Label
}

func (c *compiled) Label() Label { return c.label }

func (c *compiled) Prepare(ctx context.Context, s *Subject) (Runner, CacheState, error) {
	g := s.Optimised
	if c.label.Variant == Written {
		g = s.Written
	}
	exe, err := c.backend.Compile(ctx, g)
	if err != nil {
		return nil, NoCache, err
	}
	return &execution{exe, s.Inputs}, NoCache, nil
}

// execution is an executable with its inputs.
type execution struct {
	exe    backend.Executable
	inputs []*tensor.Tensor
}

func (e *execution) Run(ctx context.Context) ([]*tensor.Tensor, error) {
	return e.exe.Run(ctx, e.inputs...)
}

// outline reads a recorded program.
func outline(raw []byte) (*ir.Graph, error) { return ir.ParseOutline(op.Registry, raw) }
