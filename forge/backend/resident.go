package backend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Resident is a backend whose device has memory of its own, in which tensors can stay
// from one run to the next: weights, caches, and what one program leaves for another.
//
// A tensor is held, programs are bound to what is held, and only the tensors that are
// not cross the bus:
//
//	pool, err := b.Hold(ctx, spec)
//	exe, err := b.Compile(ctx, graph)
//	step, err := exe.(Bindable).Bind(ctx, []Held{nil, pool}, []Held{nil, pool})
//	err = step.Run(ctx, []*tensor.Tensor{logits, nil}, []*tensor.Tensor{tokens, nil})
type Resident interface {
	Backend
	// Hold takes memory of the device for a tensor, whose elements are zeros.
	Hold(ctx context.Context, spec ir.Spec) (Held, error)
	// Room is the bytes of the device that nobody has taken, and all that there are.
	Room(ctx context.Context) (free, total int64, err error)
}

// Held is a tensor in the memory of a device. Uploads, downloads and runs of programs
// that are bound to it take turns, so that it may be used by several goroutines.
type Held interface {
	Spec() ir.Spec
	// Upload fills it with a tensor of the same type and shape.
	Upload(ctx context.Context, t *tensor.Tensor) error
	// Download fills a tensor of the same type and shape.
	Download(ctx context.Context, t *tensor.Tensor) error
	// Close gives the memory back. Programs that are bound to it must have been
	// closed before.
	Close() error
}

// Bindable is an [Executable] of a [Resident] backend.
type Bindable interface {
	Executable
	// Bind ties inputs and outputs, by index, to memory that is held; those that are
	// nil come with each run. An output may be held where the input is that the
	// program updates to give it, a cache, and nothing is copied then; no other two
	// may be the same if the run writes one of them. The context has the groups of
	// ranks that the program uses ([WithGroup]).
	Bind(ctx context.Context, inputs, outputs []Held) (Bound, error)
	// Close gives back what the program holds of the device, weights first of all, once
	// runs and bindings of it have ended.
	Close() error
}

// Bound is a program that is bound to held memory. It is safe for concurrent use; runs
// take turns.
type Bound interface {
	// Run computes the outputs. The tensors have the positions of the graph's inputs
	// and outputs; those of bound ones are nil. After an error the contents of outputs
	// and of caches that the program updates are undefined. When ctx ends, Run stops
	// within a few milliseconds and returns the cause.
	Run(ctx context.Context, outputs, inputs []*tensor.Tensor) error
	// Close gives back what the binding needs; the held memory stays.
	Close() error
}

// Timed is a [Bound] of a device with a clock of its own.
type Timed interface {
	Bound
	// Time is Run, and gives the time from the beginning of the first piece of work to
	// the end of the last by the clock of the device.
	Time(ctx context.Context, outputs, inputs []*tensor.Tensor) (time.Duration, error)
}

// CheckHeld compares held tensors with the inputs and outputs of a graph that is to be
// bound to them, and refuses an output where another output is held, or an input that
// the program does not update to give it.
func CheckHeld(g *ir.Graph, inputs, outputs []Held) error {
	if err := checkSpecs(g, "input", g.Inputs, inputs); err != nil {
		return err
	}
	if err := checkSpecs(g, "output", g.Outputs, outputs); err != nil {
		return err
	}
	names := make(map[Held]string)
	for i, h := range outputs {
		if h == nil {
			continue
		}
		v := g.Outputs[i]
		for k, in := range g.Inputs {
			if inputs[k] == h && updated(v) != in {
				return fmt.Errorf("%s: %s and %s are held in the same memory, and the run would write it", g.Name, v.Name, in.Name)
			}
		}
		if other := names[h]; other != "" {
			return fmt.Errorf("%s: %s and %s are held in the same memory, and the run would write it", g.Name, other, v.Name)
		}
		names[h] = v.Name
	}
	return nil
}

func checkSpecs(g *ir.Graph, kind string, values []*ir.Value, held []Held) error {
	if len(held) != len(values) {
		return fmt.Errorf("%s has %d %ss, and %d were bound", g.Name, len(values), kind, len(held))
	}
	for i, v := range values {
		if h := held[i]; h != nil && (h.Spec().DType != v.Spec.DType || !slices.Equal(h.Spec().Shape, v.Spec.Shape)) {
			return fmt.Errorf("%s: %s %s is held as %v, the program was compiled for %v", g.Name, kind, v.Name, h.Spec(), v.Spec)
		}
	}
	return nil
}

// updated is the input that the program updates to give a value, or the value itself.
func updated(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Op.Donates {
		v = v.Def.In[0]
	}
	return v
}

// CheckUnbound compares the tensors that come with a run of a bound program with the
// specs of the graph's inputs or outputs.
func CheckUnbound(g *ir.Graph, kind string, tensors []*tensor.Tensor, bound func(i int) bool) error {
	values := g.Inputs
	if kind == "output" {
		values = g.Outputs
	}
	if len(tensors) != len(values) {
		return countError(g, kind, len(values), len(tensors))
	}
	for i, v := range values {
		switch {
		case !bound(i):
			if err := checkOne(g, kind, v, tensors[i]); err != nil {
				return err
			}
		case tensors[i] != nil:
			return fmt.Errorf("%s: %s %s is held on the device, and the run brings another", g.Name, kind, v.Name)
		}
	}
	return nil
}
