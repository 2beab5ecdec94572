package fuzz

import (
	"context"
	"fmt"
	"math"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// NewChecker checks the compiler's passes and plans, and the given backends.
func NewChecker(backends ...backend.Backend) *Checker {
	return &Checker{Passes: pass.Run, Plan: plan.New, Backends: backends}
}

// verdict is the outcome of a check; no stage means that all is well.
type verdict struct{ stage, detail string }

func wrong(stage, format string, args ...any) verdict {
	return verdict{stage: stage, detail: fmt.Sprintf(format, args...)}
}

// subject is a program under check.
type subject struct {
	trial
	verdict verdict
	stopped bool    // the program itself ends with an error
	last    outcome // after all passes
}

// check compares everything. The error is the cause that ended ctx.
func (c *Checker) check(ctx context.Context, trials ...trial) ([]*subject, error) {
	list := make([]*subject, len(trials))
	for i, t := range trials {
		if list[i] = c.compile(ctx, t); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	c.checkBackends(ctx, list)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return list, nil
}

// compile checks passes and plans, and the interpreter on several goroutines.
func (c *Checker) compile(ctx context.Context, t trial) *subject {
	s := &subject{trial: t}
	want, err := interpret(ctx, t.Graph, t.Inputs)
	s.stopped = err != nil
	s.verdict, s.last = c.checkPasses(ctx, t, want, s.stopped)
	if s.verdict.stage == "" {
		s.verdict = c.checkPlans(ctx, t, s.last)
	}
	if s.verdict.stage == "" && !s.stopped {
		s.verdict = checkWorkers(ctx, t, s.last)
	}
	return s
}

// interpret runs a program on one goroutine.
func interpret(ctx context.Context, g *ir.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	b := interp.New()
	b.Workers = 1
	return runOn(ctx, b, g, inputs)
}

func runOn(ctx context.Context, b backend.Backend, g *ir.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	exe, err := b.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return exe.Run(ctx, inputs...)
}

// outcome is a program after some passes, with its results.
type outcome struct {
	graph   *ir.Graph
	results []*tensor.Tensor // nil when the program stops with an error
}

// checkPasses compares the program after each pass with the one before.
func (c *Checker) checkPasses(ctx context.Context, t trial, want []*tensor.Tensor, stopped bool) (verdict, outcome) {
	now := outcome{t.Graph, want}
	r, err := c.Passes(t.Graph, pass.Options{Disable: t.disabled})
	if err != nil {
		return wrong("passes", "%v", err), now
	}
	for _, s := range r.Snapshots {
		if ir.Equal(s.Graph, now.graph) {
			continue
		}
		if v := checkText(s.Graph); v.stage != "" {
			return v, now
		}
		if stopped {
			now.graph = s.Graph
			continue
		}
		got, err := interpret(ctx, s.Graph, t.Inputs)
		if err != nil {
			return wrong("pass "+s.Pass, "the program now fails: %v", err), now
		}
		sites := boundedSites(r.Rewrites, s.Pass)
		var detail string
		if len(sites) > 0 {
			detail = compareSites(ctx, t, now.graph, s.Graph, sites)
		} else {
			detail = compareResults(s.Graph, got, now.results)
		}
		if detail != "" {
			return wrong("pass "+s.Pass, "%s", detail), now
		}
		now = outcome{s.Graph, got}
	}
	return verdict{}, now
}

// boundedSites are the values at which a pass applied rules that are not exact,
// with the rules.
func boundedSites(rewrites []pass.Rewrite, name string) map[string]string {
	sites := make(map[string]string)
	for _, w := range rewrites {
		if w.Pass == name && w.Action == pass.Applied && !w.Exact {
			value, _, _ := strings.Cut(strings.TrimPrefix(w.Site, "%"), " ")
			sites[value] = w.Rule
		}
	}
	return sites
}

// checkText reads a program back from its text form.
func checkText(g *ir.Graph) verdict {
	again, err := ir.Parse(op.Registry, g.String())
	switch {
	case err != nil:
		return wrong("text form", "%v", err)
	case !ir.Equal(again, g):
		return wrong("text form", "the text gives another graph")
	}
	return verdict{}
}

// compareResults says where results differ in bits; all NaNs are equal.
func compareResults(g *ir.Graph, got, want []*tensor.Tensor) string {
	if len(got) != len(want) {
		return fmt.Sprintf("there are %d results, not %d", len(got), len(want))
	}
	for k := range want {
		if detail := compareBits(got[k], want[k]); detail != "" {
			return fmt.Sprintf("output %d, %v: %s", k, g.Outputs[k], detail)
		}
	}
	return ""
}

func compareBits(got, want *tensor.Tensor) string {
	if !ir.SpecOf(got).Equal(ir.SpecOf(want)) {
		return fmt.Sprintf("it is %v, not %v", ir.SpecOf(got), ir.SpecOf(want))
	}
	if tensor.Identical(got, want) {
		return ""
	}
	for i := range want.Len() {
		x, y := got.Elem(i), want.Elem(i)
		if math.Float64bits(x) != math.Float64bits(y) && (x == x || y == y) {
			return fmt.Sprintf("element %d is %v, was %v", i, x, y)
		}
	}
	return ""
}

// checkPlans verifies the plans of the program, as written and optimised, and
// runs it in memory that is laid out as they say.
func (c *Checker) checkPlans(ctx context.Context, t trial, last outcome) verdict {
	for _, g := range []*ir.Graph{t.Graph, last.graph} {
		for _, opts := range []plan.Options{{}, {NoReuseInPlace: true}} {
			p, err := c.Plan(g, opts)
			if err != nil {
				return wrong("plan", "%v", err)
			}
			if err := plan.Verify(p); err != nil {
				return wrong("plan", "%v", err)
			}
			if g != last.graph || last.results == nil {
				continue
			}
			got, err := plan.Simulate(ctx, p, t.Inputs...)
			if err != nil {
				return wrong("planned run", "%v", err)
			}
			if detail := compareResults(g, got, last.results); detail != "" {
				return wrong("planned run", "%s", detail)
			}
		}
	}
	return verdict{}
}

// checkWorkers runs the optimised program on several goroutines.
func checkWorkers(ctx context.Context, t trial, last outcome) verdict {
	several := interp.New()
	several.Workers = 3
	got, err := runOn(ctx, several, last.graph, t.Inputs)
	if err != nil {
		return wrong("backend interp", "%v", err)
	}
	if detail := compareResults(last.graph, got, last.results); detail != "" {
		return wrong("backend interp", "on several goroutines, %s", detail)
	}
	return verdict{}
}
