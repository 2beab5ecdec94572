package cpu

import (
	"context"
	"fmt"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Share is the part of one kernel in the time of a program.
type Share struct {
	Value string // the first result of the node: "%h"
	// Shape is that of the kernel, as in [Step]; the operator where the node runs by
	// its own evaluation.
	Shape string
	Words string // how it is cut
	// Time is that of the quickest of the runs, in the place that the kernel has in
	// the program. The call of native code, some hundred nanoseconds, is a part of it.
	Time  time.Duration
	FLOPs int64
	Bytes int64 // of operands and results
}

// Profile runs a graph several times on one thread, kernel by kernel, and times
// each of them.
func (b *Backend) Profile(ctx context.Context, g *ir.Graph, runs int, inputs ...*tensor.Tensor) ([]Share, error) {
	x, err := b.compileApart(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := backend.CheckInputs(x.Graph(), inputs); err != nil {
		return nil, err
	}
	outputs, err := x.Outputs()
	if err != nil {
		return nil, err
	}
	f := x.frame()
	defer x.release(f)
	list := x.shares()
	whole := x.calls
	for range runs {
		x.fill(f, outputs, inputs)
		for i := range whole {
			x.calls = whole[i : i+1]
			start := time.Now()
			if err := x.execute(ctx, f, inputs); err != nil {
				return nil, err
			}
			if took := time.Since(start); list[i].Time == 0 || took < list[i].Time {
				list[i].Time = took
			}
		}
	}
	return list, nil
}

// compileApart makes a program in which each kernel is a native function.
func (b *Backend) compileApart(ctx context.Context, g *ir.Graph) (*executable, error) {
	p, err := b.prepare(g, func(program []string) Schedules { return b.choose(ctx, program) })
	if err != nil {
		return nil, err
	}
	p.apart = true
	u := newUnit(b.Target)
	u.add(p, 0)
	code := u.text()
	var lib *library
	if u.calls > 0 {
		if lib, err = b.build(ctx, code); err != nil {
			return nil, fmt.Errorf("backend cpu: %w", err)
		}
	}
	return newExecutable(p, lib, code)
}

// shares describes the steps, which have no times yet.
func (x *executable) shares() []Share {
	list := make([]Share, len(x.steps))
	for i, s := range x.steps {
		list[i] = Share{Value: s.node.Out[0].String(), Shape: s.node.Op.Name}
		if s.kernel != nil {
			list[i].Shape = s.shape
		}
		if s.told >= 0 && s.kernel != nil {
			list[i].Words = x.kernels[s.told].Reason
		}
		if i > 0 && x.steps[i-1].node == s.node {
			continue // the whole cost stands beside the first kernel of a node
		}
		cost := s.node.Cost()
		list[i].FLOPs, list[i].Bytes = cost.FLOPs, cost.Bytes
	}
	return list
}
