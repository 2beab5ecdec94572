package fuzz

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/audit/generate"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// maxAttempts bounds the programs that shrinking tries.
const maxAttempts = 5000

// shrinker makes a failing program smaller while it fails in the same stage.
type shrinker struct {
	*Checker
	ctx      context.Context
	stage    string
	best     trial
	dead     bool // the failure needs nodes that no output needs
	attempts int
	err      error // the cause that ended ctx
}

// shrink returns the smallest program found that fails as failed does.
func (c *Checker) shrink(ctx context.Context, failed *subject) (trial, error) {
	only := *c
	only.Backends = slices.DeleteFunc(slices.Clone(c.Backends), func(b backend.Backend) bool {
		return !strings.HasPrefix(failed.verdict.stage, stageOf(b))
	})
	s := &shrinker{Checker: &only, ctx: ctx, stage: failed.verdict.stage, best: failed.trial}
	s.dead = !s.edit(func(*generate.Case) bool { return true })
	s.focus()
	steps := []func() bool{s.fewerDead, s.fewerOutputs, s.fewerNodes, s.fewerPasses, s.fewerAttrs, s.smallerDims, s.plainerInputs}
	for again := true; again && s.err == nil; {
		again = false
		for _, step := range steps {
			again = step() || again
		}
	}
	return s.best, s.err
}

// try takes a program if it is valid and still fails.
func (s *shrinker) try(t trial) bool {
	if s.attempts++; s.attempts > maxAttempts || s.err != nil {
		return false
	}
	if ir.Verify(t.Graph) != nil {
		return false
	}
	list, err := s.check(s.ctx, t)
	if err != nil {
		s.err = err
		return false
	}
	if list[0].verdict.stage != s.stage {
		return false
	}
	s.best = t
	return true
}

// edit tries a changed copy of the best program, without the nodes that no
// output needs unless the failure is about them. The change may refuse.
func (s *shrinker) edit(change func(c *generate.Case) bool) bool {
	c := &generate.Case{Graph: s.best.Graph.Clone(), Inputs: slices.Clone(s.best.Inputs)}
	if !change(c) {
		return false
	}
	if !s.dead {
		pruneNodes(c)
	}
	pruneInputs(c)
	return s.try(trial{c, s.best.seed, s.best.disabled})
}

// fewerDead drops all nodes that no output needs, or some whose results nothing
// reads.
func (s *shrinker) fewerDead() bool {
	if !s.dead {
		return false
	}
	if s.edit(func(c *generate.Case) bool { pruneNodes(c); return true }) {
		s.dead = false
		return true
	}
	done := false
	for i := len(s.best.Graph.Nodes) - 1; i >= 0; i-- {
		if g := s.best.Graph; !slices.ContainsFunc(g.Nodes[i].Out, func(v *ir.Value) bool { return g.IsOutput(v) || isRead(g, v) }) {
			done = s.edit(func(c *generate.Case) bool {
				c.Graph.Nodes = slices.Delete(c.Graph.Nodes, i, i+1)
				return true
			}) || done
		}
	}
	return done
}

func isRead(g *ir.Graph, v *ir.Value) bool {
	return slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return slices.Contains(n.In, v) })
}

// pruneNodes removes the nodes that no output needs.
func pruneNodes(c *generate.Case) {
	used := make(map[*ir.Value]bool)
	for _, v := range c.Graph.Outputs {
		used[v] = true
	}
	var nodes []*ir.Node
	for _, n := range slices.Backward(c.Graph.Nodes) {
		if !slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return used[v] }) {
			continue
		}
		for _, v := range n.In {
			used[v] = true
		}
		nodes = append(nodes, n)
	}
	slices.Reverse(nodes)
	c.Graph.Nodes = nodes
}

// pruneInputs removes the inputs that nothing reads.
func pruneInputs(c *generate.Case) {
	var inputs []*ir.Value
	var tensors []*tensor.Tensor
	for i, v := range c.Graph.Inputs {
		if c.Graph.IsOutput(v) || isRead(c.Graph, v) {
			inputs, tensors = append(inputs, v), append(tensors, c.Inputs[i])
		}
	}
	c.Graph.Inputs, c.Inputs = inputs, tensors
}

// focus returns the results of the first node that fails so, whether it is dead
// or not, in place of the outputs.
func (s *shrinker) focus() {
	for i := range s.best.Graph.Nodes {
		if s.edit(func(c *generate.Case) bool {
			c.Graph.Outputs = slices.Clone(c.Graph.Nodes[i].Out)
			return true
		}) {
			return
		}
	}
}

// fewerOutputs keeps one output, or drops one.
func (s *shrinker) fewerOutputs() bool {
	for i := range s.best.Graph.Outputs {
		if len(s.best.Graph.Outputs) > 1 && s.edit(func(c *generate.Case) bool {
			c.Graph.Outputs = c.Graph.Outputs[i : i+1]
			return true
		}) {
			return true
		}
	}
	for i := range s.best.Graph.Outputs {
		if len(s.best.Graph.Outputs) > 1 && s.edit(func(c *generate.Case) bool {
			c.Graph.Outputs = slices.Delete(slices.Clone(c.Graph.Outputs), i, i+1)
			return true
		}) {
			return true
		}
	}
	return false
}

// fewerNodes makes inputs of the results of nodes, with the values that they
// have, or lets an operand stand for a result, the last nodes first. It also
// returns operands in place of results.
func (s *shrinker) fewerNodes() bool {
	done := false
	for i := len(s.best.Graph.Nodes) - 1; i >= 0; i-- {
		if i >= len(s.best.Graph.Nodes) {
			continue // several went at once
		}
		known, err := valuesOf(s.ctx, s.best.Graph, s.best.Inputs)
		if err != nil {
			known = nil // the program stops: its values are unknown
		}
		done = s.bypass(i) || known != nil && s.edit(func(c *generate.Case) bool { return makeInputs(c, i, known) }) || s.returnOperands(i) || done
	}
	return done
}

// bypass lets an operand of node i stand for its result.
func (s *shrinker) bypass(i int) bool {
	n := s.best.Graph.Nodes[i]
	for k, v := range n.In {
		if len(n.Out) == 1 && v.Spec.Equal(n.Out[0].Spec) && s.edit(func(c *generate.Case) bool {
			m := c.Graph.Nodes[i]
			replaceValue(c.Graph, m.Out[0], m.In[k])
			c.Graph.Nodes = slices.Delete(c.Graph.Nodes, i, i+1)
			return true
		}) {
			return true
		}
	}
	return false
}

// returnOperands makes outputs of the operands of node i, whose result is one.
func (s *shrinker) returnOperands(i int) bool {
	if !slices.ContainsFunc(s.best.Graph.Nodes[i].Out, s.best.Graph.IsOutput) {
		return false
	}
	return s.edit(func(c *generate.Case) bool {
		n := c.Graph.Nodes[i]
		c.Graph.Outputs = slices.DeleteFunc(c.Graph.Outputs, func(v *ir.Value) bool { return slices.Contains(n.Out, v) })
		for _, v := range n.In {
			if !c.Graph.IsOutput(v) {
				c.Graph.Outputs = append(c.Graph.Outputs, v)
			}
		}
		return len(c.Graph.Outputs) > 0
	})
}

func replaceValue(g *ir.Graph, old, v *ir.Value) {
	for _, n := range g.Nodes {
		for i, u := range n.In {
			if u == old {
				n.In[i] = v
			}
		}
	}
	for i, u := range g.Outputs {
		if u == old {
			g.Outputs[i] = v
		}
	}
}

// makeInputs replaces node i by inputs with the values of its results.
func makeInputs(c *generate.Case, i int, known values) bool {
	names := make(map[string]bool)
	for v := range c.Graph.Values {
		names[v.Name] = true
	}
	for _, v := range c.Graph.Nodes[i].Out {
		x := known[v.Name]
		for k := 0; names[v.Name]; k++ {
			v.Name = fmt.Sprint("x", k)
		}
		names[v.Name] = true
		v.Def, v.InputPos = nil, ir.Pos{}
		c.Graph.Inputs, c.Inputs = append(c.Graph.Inputs, v), append(c.Inputs, x)
	}
	c.Graph.Nodes = slices.Delete(c.Graph.Nodes, i, i+1)
	return true
}

// fewerPasses leaves no pass out, or all but one of those left out so far.
func (s *shrinker) fewerPasses() bool {
	if len(s.best.disabled) == 0 {
		return false
	}
	copied := func() *generate.Case {
		return &generate.Case{Graph: s.best.Graph.Clone(), Inputs: s.best.Inputs}
	}
	if s.try(trial{copied(), s.best.seed, nil}) {
		return true
	}
	for i := range s.best.disabled {
		if s.try(trial{copied(), s.best.seed, slices.Delete(slices.Clone(s.best.disabled), i, i+1)}) {
			return true
		}
	}
	return false
}

// fewerAttrs drops attributes that have a default.
func (s *shrinker) fewerAttrs() bool {
	done := false
	for i, n := range s.best.Graph.Nodes {
		for name := range n.Attrs {
			done = s.edit(func(c *generate.Case) bool {
				delete(c.Graph.Nodes[i].Attrs, name)
				return infer(c.Graph)
			}) || done
		}
	}
	return done
}

// infer computes the specs of a changed graph again, and reports whether it is
// still well typed.
func infer(g *ir.Graph) bool {
	for _, n := range g.Nodes {
		specs, err := n.Infer()
		if err != nil || len(specs) != len(n.Out) {
			return false
		}
		n.Canonicalise()
		for i, v := range n.Out {
			v.Spec = specs[i]
		}
	}
	return true
}

// smallerDims makes dimensions shorter, wherever their length occurs.
func (s *shrinker) smallerDims() bool {
	done := false
	for d := 16; d > 1; d-- {
		for _, to := range []int{1, 2, d - 1} {
			if to < d && s.edit(func(c *generate.Case) bool { return shorten(c, d, to) }) {
				done = true
				break
			}
		}
	}
	return done
}

// shorten cuts every dimension of length d, and numbers d in attributes, to the
// given length. It reports whether there was any and the program is well typed.
func shorten(c *generate.Case, d, to int) bool {
	found := false
	for i, v := range c.Graph.Inputs {
		if slices.Contains(v.Spec.Shape, d) {
			c.Inputs[i] = cut(c.Inputs[i], d, to)
			v.Spec = ir.SpecOf(c.Inputs[i])
			found = true
		}
	}
	for _, n := range c.Graph.Nodes {
		for name, a := range n.Attrs {
			switch a := a.(type) {
			case []int64:
				if name != "axes" && name != "perm" && slices.Contains(a, int64(d)) {
					n.Attrs[name] = replaced(a, int64(d), int64(to))
				}
			case int64:
				if name == "length" && a == int64(d) {
					n.Attrs[name] = int64(to)
				}
			case *tensor.Tensor:
				if slices.Contains(a.Shape(), d) {
					n.Attrs[name] = cut(a, d, to)
					found = true
				}
			}
		}
	}
	return found && infer(c.Graph)
}

func replaced(list []int64, d, to int64) []int64 {
	list = slices.Clone(list)
	for i, v := range list {
		if v == d {
			list[i] = to
		}
	}
	return list
}

// cut keeps the first elements of every dimension of length d.
func cut(t *tensor.Tensor, d, to int) *tensor.Tensor {
	shape := t.Shape()
	for i := range shape {
		if shape[i] == d {
			shape[i] = to
		}
	}
	out, err := tensor.Zeros(t.DType(), shape...)
	if err != nil {
		return t // it does not become larger
	}
	index := make([]int, len(shape))
	for i := range out.Len() {
		rest := i
		for k := len(shape) - 1; k >= 0; k-- {
			index[k] = rest % shape[k]
			rest /= shape[k]
		}
		out.SetElem(i, t.At(index...))
	}
	return out
}

// plainerInputs makes inputs 1 or 0 everywhere, or else element by element.
func (s *shrinker) plainerInputs() bool {
	done := false
	for i := range s.best.Inputs {
		if len(s.best.Inputs) > i && !s.plainInput(i) {
			for k := range min(s.best.Inputs[i].Len(), 64) {
				done = s.plainElement(i, k) || done
			}
		}
	}
	return done
}

// plainInput tries the same plain number everywhere.
func (s *shrinker) plainInput(i int) bool {
	for _, v := range []float64{0, 1} {
		if isFilled(s.best.Inputs[i], v) || s.edit(func(c *generate.Case) bool {
			t, err := tensor.Full(c.Inputs[i].DType(), v, c.Inputs[i].Shape()...)
			c.Inputs[i] = t
			return err == nil
		}) {
			return true
		}
	}
	return false
}

func isFilled(t *tensor.Tensor, v float64) bool {
	return !slices.ContainsFunc(t.Values(), func(x float64) bool { return x != v })
}

func (s *shrinker) plainElement(i, k int) bool {
	for _, v := range []float64{0, 1, 2} {
		if s.best.Inputs[i].Elem(k) == v {
			return false
		}
		if s.edit(func(c *generate.Case) bool {
			c.Inputs[i] = c.Inputs[i].Clone()
			c.Inputs[i].SetElem(k, v)
			return true
		}) {
			return true
		}
	}
	return false
}
