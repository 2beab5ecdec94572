// Package audit finds out where a program loses accuracy.
//
// [Numerics] runs a program twice, in its own types and in float64, and
// compares every value on the way. Of each node it tells two errors. The
// accumulated one is how far its result is from that of the float64 run; it
// contains what the operands brought along. The node's own error is that of its
// kernel alone: its result on the float64 operands rounded to the program's
// types, against float64 arithmetic on the same rounded operands. A node whose
// accumulated error is large and whose own error is small has inherited the
// error or, as a difference of close numbers does, magnified it.
//
// Errors are relative to the largest element of the value: max|x-y| / max|y|
// over the elements that are finite in both runs. An element that is lost, not
// finite although the float64 result has a place in the type, makes the error
// infinite.
package audit

import (
	"context"
	"fmt"
	"math"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// DefaultBudget is about sixteen roundings in float32.
const DefaultBudget = 1e-6

// Options adjust [Numerics].
type Options struct {
	// Budget is the largest error that a node may have accumulated; 0 stands
	// for [DefaultBudget].
	Budget float64
}

// Numerics audits a graph on the given inputs, which must have the types and
// shapes that it declares. Every node is evaluated alone, so the graph should be
// the program as it was written, where each row has one place in the source. It
// fails where a run of the program fails, and for a program whose values need
// more memory than the interpreter's limit.
func Numerics(ctx context.Context, g *ir.Graph, inputs []*tensor.Tensor, opts Options) (*Report, error) {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	if !(opts.Budget > 0) || math.IsInf(opts.Budget, 1) {
		return nil, fmt.Errorf("the budget is %v; it must be finite and above 0", opts.Budget)
	}
	for _, b := range []backend.Backend{interp.New(), interp.Reference()} {
		if _, err := b.Compile(ctx, g); err != nil { // checks the graph and its need of memory
			return nil, err
		}
	}
	if err := backend.CheckInputs(g, inputs); err != nil {
		return nil, err
	}
	a := &auditor{ctx: ctx, runs: make(map[*ir.Value]pair), report: newReport(g, opts.Budget)}
	for i, v := range g.Inputs {
		wide, err := widen(inputs[i])
		if err != nil {
			return nil, err
		}
		a.runs[v] = pair{inputs[i], wide}
	}
	last := lastUses(g)
	for i, n := range g.Nodes {
		if err := a.node(n); err != nil {
			return nil, fmt.Errorf("%s: %w", g.Name, err)
		}
		for _, v := range last[i] {
			delete(a.runs, v)
		}
	}
	for _, v := range g.Outputs {
		a.report.output(v, a.runs[v])
	}
	return a.report, nil
}

// lastUses lists for each node the values that nothing needs after it.
func lastUses(g *ir.Graph) [][]*ir.Value {
	last := make(map[*ir.Value]int)
	for i, n := range g.Nodes {
		for _, v := range n.In {
			last[v] = i
		}
		for _, v := range n.Out {
			last[v] = i
		}
	}
	for _, v := range g.Outputs {
		delete(last, v)
	}
	dead := make([][]*ir.Value, len(g.Nodes))
	for v, i := range last {
		dead[i] = append(dead[i], v)
	}
	return dead
}

// pair is a value in both runs.
type pair struct{ narrow, wide *tensor.Tensor }

// widen converts floating-point tensors to f64.
func widen(t *tensor.Tensor) (*tensor.Tensor, error) {
	if !t.DType().IsFloat() {
		return t, nil
	}
	return t.Convert(tensor.F64)
}

type auditor struct {
	ctx    context.Context
	runs   map[*ir.Value]pair
	report *Report
}

// node evaluates n in both runs and adds a row for each result.
func (a *auditor) node(n *ir.Node) error {
	in := make([]pair, len(n.In))
	for i, v := range n.In {
		in[i] = a.runs[v]
	}
	out, err := a.evaluate(n, in)
	if err != nil {
		return err
	}
	for i, v := range n.Out {
		a.runs[v] = out[i]
	}
	if n.Op.Class == ir.Constant {
		return nil
	}
	own, err := a.own(n, in)
	if err != nil {
		return err
	}
	for i, v := range n.Out {
		a.report.row(v, measure(out[i]), own[i])
	}
	a.report.findOrigin(n, in, out)
	return nil
}

// evaluate computes n in the program's types and in float64.
func (a *auditor) evaluate(n *ir.Node, in []pair) ([]pair, error) {
	var narrow, wide []*tensor.Tensor
	for _, p := range in {
		narrow, wide = append(narrow, p.narrow), append(wide, p.wide)
	}
	narrow, err := interp.Node(a.ctx, n, false, narrow...)
	if err != nil {
		return nil, err
	}
	if wide, err = interp.Node(a.ctx, n, true, wide...); err != nil {
		return nil, fmt.Errorf("in float64: %w", err)
	}
	out := make([]pair, len(n.Out))
	for i := range out {
		out[i] = pair{narrow[i], wide[i]}
	}
	return out, nil
}

// own is the error of the kernel alone, for each result.
func (a *auditor) own(n *ir.Node, in []pair) ([]Error, error) {
	list := make([]Error, len(n.Out))
	if n.Op.View {
		return list, nil
	}
	rounded := make([]pair, len(in))
	for i, p := range in {
		narrow, err := p.wide.Convert(n.In[i].Spec.DType)
		if err != nil {
			return nil, err
		}
		wide, err := widen(narrow)
		if err != nil {
			return nil, err
		}
		rounded[i] = pair{narrow, wide}
	}
	out, err := a.evaluate(n, rounded)
	if err != nil {
		return nil, err
	}
	for i, p := range out {
		list[i] = measure(p)
	}
	return list, nil
}
