package fuzz

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
)

// TestPrograms checks random programs.
func TestPrograms(t *testing.T) {
	t.Parallel()
	count := 2000
	if testing.Short() {
		count = 100
	}
	r, err := NewChecker().Run(t.Context(), Options{Count: count, Seed: DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil {
		t.Error(r.Text())
	}
	if r.Programs != count || r.Nodes < 5*count || r.Stopped > count/20 {
		t.Errorf("of %d programs %s", count, r.Text())
	}
}

func FuzzPrograms(f *testing.F) {
	f.Add(uint64(1))
	c := NewChecker()
	f.Fuzz(func(t *testing.T, seed uint64) {
		r, err := c.Run(t.Context(), Options{Count: 1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if r.Err() != nil {
			t.Error(r.Text())
		}
	})
}

// Every rule that may round differently has a bound.
func TestBounds(t *testing.T) {
	inexact := 0
	for _, r := range pass.Rules() {
		if !r.Exact {
			inexact++
			if ruleBounds[r.Name] == nil {
				t.Errorf("there is no bound for %s", r.Name)
			}
		}
	}
	if inexact != len(ruleBounds) {
		t.Errorf("%d bounds for %d rules", len(ruleBounds), inexact)
	}
}

// afterPass applies a wrong rewrite to every node of the program as it is after
// a pass, and to all later snapshots, as a wrong rule in that pass would.
func afterPass(name string, rewrite func(g *ir.Graph, n *ir.Node) bool) func(*ir.Graph, pass.Options) (*pass.Result, error) {
	return func(g *ir.Graph, opts pass.Options) (*pass.Result, error) {
		r, err := pass.Run(g, opts)
		if err != nil {
			return nil, err
		}
		if slices.Contains(opts.Disable, name) {
			return r, nil
		}
		first, err := pass.Run(g, pass.Options{Disable: opts.Disable, Until: name})
		if err != nil {
			return nil, err
		}
		changed := false
		for _, n := range slices.Clone(first.Graph.Nodes) {
			changed = rewrite(first.Graph, n) || changed
		}
		if !changed {
			return r, nil
		}
		first.Snapshots[len(first.Snapshots)-1].Graph = first.Graph
		rest, err := pass.Run(first.Graph, pass.Options{Disable: opts.Disable, After: name})
		if err != nil {
			return nil, err
		}
		first.Snapshots = append(first.Snapshots, rest.Snapshots[1:]...)
		first.Rewrites = append(first.Rewrites, rest.Rewrites...)
		first.Graph = rest.Graph
		return first, nil
	}
}

func rename(n *ir.Node, name string) bool {
	o, err := op.Registry.Lookup(name)
	if err != nil {
		return false
	}
	n.Op = o
	return true
}

// wrongRules are defects that a pass might have.
var wrongRules = map[string]struct {
	pass    string
	rewrite func(g *ir.Graph, n *ir.Node) bool
}{
	"operands of a difference are exchanged": {"simplify", func(_ *ir.Graph, n *ir.Node) bool {
		if n.Op.Name != "sub" || n.In[0] == n.In[1] {
			return false
		}
		n.In[0], n.In[1] = n.In[1], n.In[0]
		return true
	}},
	"x + 0 is x also for -0": {"simplify", func(g *ir.Graph, n *ir.Node) bool {
		if n.Op.Name != "add" || n.In[1].Def == nil || n.In[1].Def.Tensor("value") == nil || !n.In[0].Spec.Equal(n.Out[0].Spec) {
			return false
		}
		if t := n.In[1].Def.Tensor("value"); slices.ContainsFunc(t.Values(), func(v float64) bool { return v != 0 }) {
			return false
		}
		replaceValue(g, n.Out[0], n.In[0])
		g.Nodes = slices.DeleteFunc(g.Nodes, func(m *ir.Node) bool { return m == n })
		return true
	}},
	"a slice starts at the front": {"common-subexpressions", func(_ *ir.Graph, n *ir.Node) bool {
		if n.Op.Name != "narrow" || n.Int("start") == 0 || n.Int("step") != 1 {
			return false
		}
		n.Attrs["start"] = int64(0)
		return true
	}},
	"maximum ignores NaN like minimum": {"move-views", func(_ *ir.Graph, n *ir.Node) bool {
		return n.Op.Name == "maximum" && rename(n, "minimum")
	}},
	"softmax runs along the first dimension": {"schedule", func(_ *ir.Graph, n *ir.Node) bool {
		if n.Op.Name != "softmax" || n.Int("axis") == 0 {
			return false
		}
		n.Attrs = ir.Attrs{"axis": int64(0)}
		return true
	}},
}

// TestWrongRules injects defects into passes, which must be found and shrunk to
// a few nodes.
func TestWrongRules(t *testing.T) {
	for name, wrong := range wrongRules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewChecker()
			c.Passes = afterPass(wrong.pass, wrong.rewrite)
			f := find(t, c)
			if f.Stage != "pass "+wrong.pass {
				t.Errorf("it is found in %s", f.Stage)
			}
			if f.Nodes > 5 {
				t.Errorf("it is shrunk to %d nodes:\n%s", f.Nodes, f.Program)
			}
			t.Logf("seed %d, %d nodes -> %d: %s\n%s%s", f.Seed, f.Was, f.Nodes, f.Detail, f.Program, f.Inputs)
		})
	}
}

// find returns the first failure.
func find(t *testing.T, c *Checker) Failure {
	t.Helper()
	return findThat(t, c, func(Failure) bool { return true })
}

// findThat returns the first failure that suits a test.
func findThat(t *testing.T, c *Checker, suits func(Failure) bool) Failure {
	t.Helper()
	for seed := uint64(1); seed < 4000; seed += 50 {
		r, err := c.Run(t.Context(), Options{Count: 50, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Failures {
			if suits(f) {
				return f
			}
		}
	}
	t.Fatal("the defect is not found")
	return Failure{}
}

// wrongPlans are defects that a planner might have.
var wrongPlans = map[string]func(p *plan.Plan) bool{
	"a value dies too early": func(p *plan.Plan) bool {
		for i := range p.Values {
			if e := &p.Values[i]; e.Place == plan.InSlot && e.End > e.Start {
				e.End = e.Start
				return true
			}
		}
		return false
	},
	"two values that live together share bytes": func(p *plan.Plan) bool {
		for i := range p.Values {
			for j := range p.Values[:i] {
				a, b := &p.Values[i], &p.Values[j]
				if a.Place == plan.InSlot && b.Place == plan.InSlot && a.Spec.DType == b.Spec.DType && a.ViewOf+b.ViewOf+a.Donated+b.Donated == "" && a.Start < b.End && b.Start < a.End {
					a.Slot, a.Offset = b.Slot, b.Offset
					return true
				}
			}
		}
		return false
	},
}

func TestWrongPlans(t *testing.T) {
	for name, spoil := range wrongPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewChecker()
			c.Plan = func(g *ir.Graph, opts plan.Options) (*plan.Plan, error) {
				p, err := plan.New(g, opts)
				if err == nil {
					spoil(p)
				}
				return p, err
			}
			f := find(t, c)
			if f.Stage != "plan" || f.Nodes > 5 {
				t.Errorf("it is found in %s and shrunk to %d nodes:\n%s", f.Stage, f.Nodes, f.Program)
			}
			t.Logf("seed %d, %d nodes -> %d: %s\n%s", f.Seed, f.Was, f.Nodes, f.Detail, f.Program)
		})
	}
}

// A failure may be about a node that no output needs. Shrinking keeps what it is
// about and drops the rest.
func TestDeadNodes(t *testing.T) {
	c := NewChecker()
	c.Passes = func(g *ir.Graph, opts pass.Options) (*pass.Result, error) {
		for _, n := range g.Nodes {
			if n.Op.Name == "kv_append" && !slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return g.IsOutput(v) || isRead(g, v) }) {
				return nil, errors.New("a cache that nothing reads")
			}
		}
		return pass.Run(g, opts)
	}
	f := findThat(t, c, func(f Failure) bool { return f.Stage == "passes" })
	if f.Nodes != 1 {
		t.Errorf("%d nodes are shrunk to %d:\n%s", f.Was, f.Nodes, f.Program)
	}
}

// A report names the program, its inputs and how to make it again.
func TestReport(t *testing.T) {
	c := NewChecker()
	c.Passes = afterPass("simplify", wrongRules["operands of a difference are exchanged"].rewrite)
	f := findThat(t, c, func(f Failure) bool { return f.Language == "forgescript" })
	r := &Report{Seed: 1, Programs: 1, Failures: []Failure{f}}
	if !strings.HasPrefix(f.Program, "def fuzz(") {
		t.Errorf("the program is\n%s", f.Program)
	}
	if text := r.Text(); !strings.Contains(text, f.Command) || !strings.Contains(text, "fails in pass simplify") || r.Err() == nil {
		t.Errorf("the report is\n%s", text)
	}
}

func TestStopped(t *testing.T) {
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := NewChecker().Run(ctx, Options{Count: 1, Seed: 1}); !errors.Is(err, stopped) {
		t.Errorf("a run that was cancelled returned %v", err)
	}
}
