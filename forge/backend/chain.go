package backend

import (
	"context"
	"fmt"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Chainable is a [Bindable] whose runs can follow one another on the device, before the
// host knows what the first of them gave.
type Chainable interface {
	Bindable
	// Chain is Bind for runs of which each may take inputs from results of the one before.
	Chain(ctx context.Context, inputs, outputs []Held, fed []Feed) (Chain, error)
}

// Feed says which result of a run is which input of the next, by index. Neither is held,
// and both have one type and shape.
type Feed struct{ Output, Input int }

// Chain is a program that is bound to held memory, with up to two runs under way. It is
// for one goroutine at a time.
type Chain interface {
	// Start puts a run behind the one that is under way, if there is one, and returns.
	// Inputs that are fed are nil when they are what the run before gives; they must be
	// while that is under way. The tensors are the caller's again.
	Start(ctx context.Context, inputs []*tensor.Tensor) error
	// Wait waits for the oldest run under way and gives its outputs; without outputs it
	// drops them. When ctx ends first, it returns the cause, and the run is still under
	// way.
	Wait(ctx context.Context, outputs []*tensor.Tensor) error
	// Close waits for what is under way, and gives back what the chain needs.
	Close() error
}

// CheckFeeds compares what is fed with the specs of a graph, and with what is held.
func CheckFeeds(g *ir.Graph, inputs, outputs []Held, fed []Feed) error {
	for _, f := range fed {
		if f.Output < 0 || f.Output >= len(g.Outputs) || f.Input < 0 || f.Input >= len(g.Inputs) {
			return fmt.Errorf("%s has no result %d or no input %d", g.Name, f.Output, f.Input)
		}
		from, to := g.Outputs[f.Output], g.Inputs[f.Input]
		if outputs[f.Output] != nil || inputs[f.Input] != nil {
			return fmt.Errorf("%s: what is fed from %s to %s is not held as well", g.Name, from.Name, to.Name)
		}
		if from.Spec.DType != to.Spec.DType || !slices.Equal(from.Spec.Shape, to.Spec.Shape) {
			return fmt.Errorf("%s: %s is %v and cannot be %s, which is %v", g.Name, from.Name, from.Spec, to.Name, to.Spec)
		}
	}
	return nil
}
