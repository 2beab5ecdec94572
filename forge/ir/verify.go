package ir

import (
	"errors"
	"fmt"
)

// Verify checks the invariants of a graph: names are unique and well formed,
// every value has one producer, operands are defined before use, result specs
// equal what inference computes from the operands, attributes are on the
// operator's whitelist and in canonical form, bodies are valid scalar programs,
// outputs exist, and nothing reads a value after an operator that [Op.Donates]
// took its storage.
func Verify(g *Graph) error {
	if err := verify(g); err != nil {
		return fmt.Errorf("graph %s: %w", g.Name, err)
	}
	return nil
}

// nodeError is what is wrong with a node; [Parse] knows where that is written.
type nodeError struct {
	node *Node
	err  error
}

func (e *nodeError) Error() string { return e.err.Error() }
func (e *nodeError) Unwrap() error { return e.err }

func verify(g *Graph) error {
	if !isIdent(g.Name) {
		return fmt.Errorf("name %q is not an identifier", g.Name)
	}
	defined := make(map[*Value]bool)
	names := make(map[string]bool)
	define := func(v *Value, by *Node) error {
		switch {
		case v == nil:
			return errors.New("a value is nil")
		case !isIdent(v.Name) && !isNumber(v.Name):
			return fmt.Errorf("value name %q is neither an identifier nor a number", v.Name)
		case defined[v]:
			return fmt.Errorf("%v has two producers", v)
		case names[v.Name]:
			return fmt.Errorf("two values are called %v", v)
		case v.Def != by:
			return fmt.Errorf("%v does not point to the node that defines it", v)
		}
		defined[v], names[v.Name] = true, true
		return nil
	}
	for _, v := range g.Inputs {
		if err := define(v, nil); err != nil {
			return err
		}
		if err := v.Spec.Check(); err != nil {
			return fmt.Errorf("input %v: %w", v, err)
		}
	}
	taken := make(donations)
	for _, n := range g.Nodes {
		if err := verifyNode(n, defined); err != nil {
			return &nodeError{n, err}
		}
		if err := taken.node(n); err != nil {
			return &nodeError{n, err}
		}
		for _, v := range n.Out {
			if err := define(v, n); err != nil {
				return err
			}
		}
	}
	if len(g.Outputs) == 0 {
		return errors.New("no outputs")
	}
	for _, v := range g.Outputs {
		if !defined[v] {
			return fmt.Errorf("output %v is not defined", v)
		}
		if by := taken[v.Owner()]; by != nil {
			return fmt.Errorf("output %v has no storage left: %s takes it", v, by.signature())
		}
	}
	return nil
}

func verifyNode(n *Node, defined map[*Value]bool) error {
	if n == nil || n.Op == nil {
		return errors.New("a node has no operator")
	}
	for _, v := range n.In {
		if v != nil && !defined[v] {
			return fmt.Errorf("%s reads %v before it is defined", n.Op.Name, v)
		}
	}
	for _, p := range n.Pos {
		if !p.valid() {
			return fmt.Errorf("%s has the impossible source position %d:%d", n.Op.Name, p.Line, p.Col)
		}
	}
	if (n.Body != nil) != (n.Op.Class == Fused) {
		return fmt.Errorf("%s: a node has a body exactly when it is fused", n.Op.Name)
	}
	if n.Body != nil {
		if n.Body.Name != BodyName {
			return fmt.Errorf("the body of a fused node is called %q, not %q", n.Body.Name, BodyName)
		}
		if err := verify(n.Body); err != nil {
			return fmt.Errorf("body of %s: %w", n.signature(), err)
		}
	}
	specs, err := n.Infer()
	if err != nil {
		return err
	}
	if canonical := n.canonicalAttrs(); !n.Attrs.Equal(canonical) {
		return fmt.Errorf("%s has the attributes %v, whose canonical form is %v", n.signature(), map[string]any(n.Attrs), map[string]any(canonical))
	}
	if len(specs) != len(n.Out) {
		return fmt.Errorf("%s has %d results, inference gives %d", n.signature(), len(n.Out), len(specs))
	}
	for i, v := range n.Out {
		if v != nil && !v.Spec.Equal(specs[i]) {
			return fmt.Errorf("%v is declared %v, but %s gives %v", v, v.Spec, n.signature(), specs[i])
		}
	}
	return nil
}

// donations maps the owner of storage to the node that took it.
type donations map[*Value]*Node

// node checks the operands of n and records what it takes. A constant keeps its
// storage: the operator works on a copy.
func (d donations) node(n *Node) error {
	for i, v := range n.In {
		if by := d[v.Owner()]; by != nil {
			return fmt.Errorf("%s reads %v after %s has taken its storage", n.signature(), v, by.signature())
		}
		if n.Op.Donates && i > 0 && v.Owner() == n.In[0].Owner() && !v.isConstant() {
			return fmt.Errorf("%s takes the storage of %v and reads it as operand %d", n.signature(), n.In[0], i)
		}
	}
	if n.Op.Donates && !n.In[0].isConstant() {
		d[n.In[0].Owner()] = n
	}
	return nil
}

func (v *Value) isConstant() bool {
	def := v.Owner().Def
	return def != nil && def.Op.Class == Constant
}
