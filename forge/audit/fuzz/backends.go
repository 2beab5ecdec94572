package fuzz

import (
	"context"
	"fmt"

	"forgekernel/forge/audit/bound"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// unitPrograms is how many programs a backend compiles at once, if it can.
const unitPrograms = 100

// unitCompiler is a backend that compiles several programs in less time than one
// by one.
type unitCompiler interface {
	CompileAll(ctx context.Context, graphs ...*ir.Graph) ([]backend.Executable, error)
}

// build is the outcome of compiling a program.
type build struct {
	exe backend.Executable
	err error
}

// compileAll compiles graphs together or, where that fails, one by one, to learn
// which of them is to blame.
func compileAll(ctx context.Context, b backend.Backend, graphs []*ir.Graph) []build {
	builds := make([]build, len(graphs))
	if u, ok := b.(unitCompiler); ok && len(graphs) > 1 {
		if list, err := u.CompileAll(ctx, graphs...); err == nil {
			for i, exe := range list {
				builds[i].exe = exe
			}
			return builds
		}
	}
	for i, g := range graphs {
		builds[i].exe, builds[i].err = b.Compile(ctx, g)
	}
	return builds
}

// checkBackends runs optimised programs on every backend, each in two forms: as it
// is, and with every value returned. In the second every node is compared on the
// operands that the backend itself has computed, and the first must give the
// same bits, as only the places of values differ.
func (c *Checker) checkBackends(ctx context.Context, list []*subject) {
	for _, b := range c.Backends {
		var run []*subject
		var graphs []*ir.Graph
		for _, s := range list {
			if s.verdict.stage != "" || s.stopped {
				continue
			}
			open, err := revealed(s.last.graph)
			if err != nil {
				s.verdict = wrong(stageOf(b), "%v", err)
				continue
			}
			run, graphs = append(run, s), append(graphs, s.last.graph, open)
		}
		builds := compileAll(ctx, b, graphs)
		for i, s := range run {
			if ctx.Err() != nil {
				return
			}
			s.verdict = s.compareBackend(ctx, stageOf(b), builds[2*i], builds[2*i+1])
		}
	}
}

// stageOf is where a program fails that a backend gets wrong.
func stageOf(b backend.Backend) string { return "backend " + b.Name() }

// revealed is a program that returns every value that it computes. An operator
// that takes over storage gets a copy, so that what was in it is left.
func revealed(g *ir.Graph) (*ir.Graph, error) {
	g = g.Clone()
	pad, err := op.Registry.Lookup("pad")
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool)
	for v := range g.Values {
		taken[v.Name] = true
	}
	var nodes []*ir.Node
	var outputs []*ir.Value
	for _, n := range g.Nodes {
		if n.Op.Donates {
			none := make([]int64, n.In[0].Spec.Rank())
			m, err := ir.NewNode(pad, ir.Attrs{"low": none, "high": none}, n.In[0])
			if err != nil {
				return nil, err
			}
			for k := 0; m.Out[0].Name == "" || taken[m.Out[0].Name]; k++ {
				m.Out[0].Name = fmt.Sprint("copy", k)
			}
			taken[m.Out[0].Name] = true
			nodes, n.In[0] = append(nodes, m), m.Out[0]
		}
		if nodes = append(nodes, n); n.Op.Class != ir.Constant {
			outputs = append(outputs, n.Out...)
		}
	}
	if g.Nodes = nodes; len(outputs) > 0 {
		g.Outputs = outputs
	}
	return g, ir.Verify(g)
}

// compareBackend runs both forms of a program.
func (s *subject) compareBackend(ctx context.Context, stage string, whole, open build) verdict {
	for _, b := range []build{whole, open} {
		if b.err != nil {
			return wrong(stage, "%v", b.err)
		}
	}
	all, err := open.exe.Run(ctx, s.Inputs...)
	if err != nil {
		return wrong(stage, "%v", err)
	}
	got, err := whole.exe.Run(ctx, s.Inputs...)
	if err != nil {
		return wrong(stage, "%v", err)
	}
	known := make(values)
	for i, v := range s.last.graph.Inputs {
		known[v.Name] = s.Inputs[i]
	}
	for i, v := range open.exe.Graph().Outputs {
		known[v.Name] = all[i]
	}
	for _, n := range s.last.graph.Nodes {
		if n.Op.Class == ir.Constant {
			known[n.Out[0].Name] = n.Tensor("value")
		} else if detail := compareNode(ctx, n, known.of(n.In), known.of(n.Out)); detail != "" {
			return wrong(stage, "%s", detail)
		}
	}
	if detail := compareResults(s.last.graph, got, known.of(s.last.graph.Outputs)); detail != "" {
		return wrong(stage+" in planned memory", "%s", detail)
	}
	return verdict{}
}

// compareNode compares what a backend made of a node's operands with the
// interpreter, and where sums may run in another order with float64.
func compareNode(ctx context.Context, n *ir.Node, in, got []*tensor.Tensor) string {
	want, err := interp.Node(ctx, n, false, in...)
	if err != nil {
		return err.Error()
	}
	var exact []*tensor.Tensor
	for k, v := range n.Out {
		detail := compareBits(got[k], want[k])
		if detail != "" && !bound.SameBits(n) {
			if exact == nil {
				if exact, err = inFloat64(ctx, n, in); err != nil {
					return err.Error()
				}
			}
			detail = ""
			if err := bound.Check(v, in, got[k], exact[k]); err != nil {
				detail = err.Error()
			}
		}
		if detail != "" {
			return fmt.Sprintf("%v = %s: %s", v, n.Op.Name, detail)
		}
	}
	return ""
}

// inFloat64 evaluates a node on widened operands.
func inFloat64(ctx context.Context, n *ir.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	wide := make([]*tensor.Tensor, len(in))
	for i, t := range in {
		wide[i] = t
		if t.DType().IsFloat() {
			var err error
			if wide[i], err = t.Convert(tensor.F64); err != nil {
				return nil, err
			}
		}
	}
	return interp.Node(ctx, n, true, wide...)
}
