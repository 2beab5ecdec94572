package onnx

import (
	"fmt"
	"slices"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer"
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// operator imports the nodes of an operator.
type operator struct {
	since int64 // the first version of the operator set that has it
	build func(c *call)
}

// operators are those that can be imported, by "domain.name" or, of the default
// domain, by name alone. Each family adds its own.
var operators = make(map[string]operator)

// nests are the operators with graphs of their own. Those are imported node by
// node, in the scope of the operator, and so is what follows from known values.
var nests = map[string]bool{"If": true, "Loop": true, "Scan": true}

// register adds a family of operators; since is the version that introduced them.
func register(family map[string]operator) struct{} {
	for name, o := range family {
		if _, ok := operators[name]; ok {
			panic("onnx: operator " + name + " is registered twice")
		}
		operators[name] = o
	}
	return struct{}{}
}

// call is the import of one node. Its methods end the import of the node as those of
// [formula.Builder] do.
type call struct {
	formula.Builder // where nodes are added; that of a scratch graph while folding
	*imports
	node  *proto.Node
	scope *scope
	opset int64 // version of the node's domain
	in    []*value
	out   []*value
	seen  *seen
}

// seen is what of a node its import function has asked for.
type seen struct {
	operands uint64
	attrs    map[string]bool
}

// importNode sets the outputs of the node.
func (c *call) importNode() (err error) {
	name := c.node.Op
	if c.node.Domain != "" {
		name = c.node.Domain + "." + name
	}
	f := c.functions[functionKey(c.node.Domain, c.node.Op, c.node.Overload)]
	o, ok := operators[name]
	// An operator that is not supported is refused also where its operands are missing,
	// so that an error tells all of them.
	if f == nil && (!ok || c.opset < o.since) {
		c.refuse(ok, o)
		return nil
	}
	if slices.ContainsFunc(c.in, func(v *value) bool { return v != nil && v.missing }) {
		c.setMissing()
		return nil
	}
	if f != nil {
		return c.inline(f)
	}
	if c.allKnown() && !nests[name] {
		if done, err := c.fold(o); done || err != nil {
			return err
		}
	}
	return c.build(o)
}

func (c *call) build(o operator) error {
	c.seen = &seen{attrs: make(map[string]bool)}
	return formula.Try(func() {
		o.build(c)
		c.checkSeen()
		c.typeOutputs()
	})
}

// harmless are attributes that change nothing here: those that guide training or an
// implementation, and those for types that are not supported.
var harmless = map[string]bool{
	"consumed_inputs": true, "is_test": true, "momentum": true, "round_mode": true, "saturate": true, "seed": true, "sorted": true, "stash_type": true,
}

// checkSeen refuses operands that were not asked for: the operator gives them a
// meaning that its import function does not know. Attributes of that kind are noted,
// since writers leave some that mean nothing.
func (c *call) checkSeen() {
	refused := slices.ContainsFunc(c.out, func(v *value) bool { return v != nil && v.missing })
	if refused || nests[c.node.Op] || c.node.Op == "Dropout" {
		return
	}
	for i, v := range c.in {
		if v != nil && (i >= 64 || c.seen.operands>>i&1 == 0) && c.seen.operands != allOperands {
			c.Fail("operand %d, %q, is not supported", i, c.node.Inputs[i])
		}
	}
	for _, a := range c.node.Attrs {
		if !c.seen.attrs[a.Name] && !harmless[a.Name] {
			c.note("%s: the attribute %s is not looked at", describe(c.node), a.Name)
		}
	}
}

func (c *call) setMissing() {
	for i := range c.out {
		c.out[i] = &value{missing: true}
	}
}

// refuse records an unsupported node.
func (c *call) refuse(known bool, o operator) {
	domain := c.node.Domain
	if domain == "" {
		domain = "ai.onnx"
	}
	text := fmt.Sprintf("%s, domain %s, operator set %d", describe(c.node), domain, c.opset)
	switch {
	case c.opset == 0:
		text += ": the model does not import that domain"
	case known:
		text += fmt.Sprintf(": the operator is supported from version %d on", o.since)
	}
	c.unsupported = append(c.unsupported, text)
	c.setMissing()
}

// unsupportedf records the node as one whose operator is supported, but not in
// this form.
func (c *call) unsupportedf(format string, args ...any) {
	c.refuse(false, operator{})
	last := len(c.unsupported) - 1
	c.unsupported[last] += ": " + fmt.Sprintf(format, args...)
}

func (c *call) allKnown() bool {
	return len(c.in) > 0 && !slices.ContainsFunc(c.in, func(v *value) bool { return v != nil && v.known == nil })
}

// fold evaluates a node of known operands. It is not done when the results are
// large.
func (c *call) fold(o operator) (done bool, err error) {
	scratch := *c
	scratch.B = ir.NewBuilder(op.Registry, "fold")
	scratch.in = make([]*value, len(c.in))
	for i, v := range c.in {
		if v != nil {
			scratch.in[i] = &value{known: v.known, elem: v.elem}
		}
	}
	scratch.out = make([]*value, len(c.out))
	before := len(c.unsupported)
	if err := scratch.build(o); err != nil {
		return false, err
	}
	var results []*ir.Value
	var at []int
	for i, v := range scratch.out {
		if v != nil && v.known == nil && v.computed != nil {
			results, at = append(results, v.computed), append(at, i)
		}
	}
	if len(results) > 0 {
		g, err := scratch.B.Finish(results...)
		if err != nil {
			return false, err
		}
		if !c.foldable(g) {
			c.unsupported = c.unsupported[:before]
			return false, nil
		}
		values, err := c.evaluate(g)
		if err != nil {
			return false, err
		}
		for k, i := range at {
			scratch.out[i] = &value{known: values[k], elem: scratch.out[i].elem}
		}
	}
	for i, v := range scratch.out {
		if v != nil {
			c.out[i] = &value{known: v.known, elem: v.elem, missing: v.missing}
		}
	}
	return true, nil
}

func (c *call) evaluate(g *ir.Graph) ([]*tensor.Tensor, error) {
	x, err := interp.New().Compile(c.ctx, g)
	if err != nil {
		return nil, err
	}
	return x.Run(c.ctx)
}

// inline imports the body of a function of the model.
func (c *call) inline(f *proto.Function) error {
	inner := &scope{values: make(map[string]*value), opsets: f.Opsets, attrs: make(map[string]*proto.Attribute), depth: c.scope.depth + 1}
	if inner.depth > MaxNesting {
		return fmt.Errorf("functions call one another more than %d deep", MaxNesting)
	}
	if len(c.in) > len(f.Inputs) || len(c.out) > len(f.Outputs) {
		return fmt.Errorf("the function takes %d inputs and gives %d outputs", len(f.Inputs), len(f.Outputs))
	}
	for i, name := range f.Inputs {
		if i < len(c.in) && c.in[i] != nil {
			if err := inner.define(name, c.in[i]); err != nil {
				return fmt.Errorf("function input %w", err)
			}
		}
	}
	for _, a := range f.Defaults {
		inner.attrs[a.Name] = a
	}
	for _, a := range c.node.Attrs {
		if a = c.scope.resolve(a); a != nil {
			inner.attrs[a.Name] = a
		}
	}
	if err := c.nodes(inner, f.Nodes); err != nil {
		return err
	}
	for i := range c.out {
		if c.out[i] = inner.values[f.Outputs[i]]; c.out[i] == nil && c.node.Outputs[i] != "" {
			return fmt.Errorf("the function does not define its output %q", f.Outputs[i])
		}
	}
	return nil
}

// resolve is an attribute with the value that a reference to an attribute of the
// enclosing function stands for; nil when that has none.
func (s *scope) resolve(a *proto.Attribute) *proto.Attribute {
	if a == nil || a.Ref == "" {
		return a
	}
	for ; s != nil; s = s.outer {
		if s.attrs != nil {
			if of := s.attrs[a.Ref]; of != nil {
				renamed := *of
				renamed.Name = a.Name
				return &renamed
			}
			return nil
		}
	}
	return nil
}

// need ends the import because operand i is not known.
func (c *call) need(i int, purpose string) {
	name := c.node.Inputs[i]
	purpose = fmt.Sprintf("%s of %s", purpose, describe(c.node))
	input := c.inputBehind(c.in[i].computed)
	e := &importer.NeedError{Input: input, Purpose: purpose}
	switch {
	case input != "":
		e.Err = fmt.Errorf("%q, %s, must be known when the program is compiled: give a value for input %q", name, purpose, input)
	default:
		e.Err = fmt.Errorf("%q, %s, must be known when the program is compiled; it is computed when the program runs", name, purpose)
	}
	c.Check(e)
}

// bindAtHand ends the import so that operand i is known in the next, if that takes
// nothing but values of small inputs of whole numbers, and these are at hand.
func (c *call) bindAtHand(i int, purpose string) {
	behind, all := c.inputsBehind(c.in[i].computed, MaxBehind)
	if !all {
		return
	}
	for _, name := range behind {
		t := c.values[name]
		if t == nil || t.DType().IsFloat() || t.Len() > MaxActing {
			return
		}
	}
	if len(behind) > 0 {
		c.need(i, purpose)
	}
}

// inputBehind is an input, not bound yet, that a value is computed from; empty
// when there is none.
func (c *call) inputBehind(v *ir.Value) string {
	if list, _ := c.inputsBehind(v, MaxGraph); len(list) > 0 {
		return list[0]
	}
	return ""
}

// inputsBehind are all of them, in the order in which they are met; all is false when
// more values than a limit are behind v.
func (c *call) inputsBehind(v *ir.Value, limit int) (found []string, all bool) {
	seen := make(map[*ir.Value]bool)
	var visit func(*ir.Value)
	visit = func(v *ir.Value) {
		if v == nil || seen[v] || len(seen) > limit {
			return
		}
		seen[v] = true
		if name := c.origin[v]; name != "" {
			found = append(found, name)
			return
		}
		if v.Def != nil {
			for _, u := range v.Def.In {
				visit(u)
			}
		}
	}
	visit(v)
	return found, len(seen) <= limit
}
