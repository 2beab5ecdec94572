package ir

import (
	"errors"
	"fmt"
)

// MaxText is the largest text form that [Parse] reads, in bytes.
const MaxText = 1 << 30

// Parse reads the text form of a graph and verifies it. Mistakes are reported
// as a [*SyntaxError] with the place.
func Parse(ops *Registry, src string) (*Graph, error) {
	if len(src) > MaxText {
		return nil, fmt.Errorf("the text has %d bytes; the limit is %d", len(src), MaxText)
	}
	p := &parser{scanner: scanner{src: src}, ops: ops}
	g, err := p.graph()
	if err != nil {
		return nil, err
	}
	if err := Verify(g); err != nil {
		return nil, p.placed(err)
	}
	return g, nil
}

// placed is an error of the verifier with the place of the node that it is about.
func (p *parser) placed(err error) error {
	var wrong *nodeError
	if !errors.As(err, &wrong) {
		return err
	}
	for _, a := range p.at {
		if a.node == wrong.node {
			return p.errorf(a.off, "%v", wrong.err)
		}
	}
	return err
}

type parser struct {
	scanner
	tok  token
	ops  *Registry
	data []dataRef    // constants that name a data entry
	at   []placedNode // every node, in order of definition
}

type placedNode struct {
	node *Node
	off  int
}

func (p *parser) graph() (*Graph, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.word("graph"); err != nil {
		return nil, err
	}
	name, err := p.take(tokIdent, "a graph name")
	if err != nil {
		return nil, err
	}
	g := &Graph{Name: name.text}
	if err := p.scope(g, 0); err != nil {
		return nil, err
	}
	if err := p.dataSection(); err != nil {
		return nil, err
	}
	return g, p.check()
}

// check runs inference at each node, so that a wrong spec is reported where it
// is written, and brings attributes to canonical form.
func (p *parser) check() error {
	for _, a := range p.at {
		specs, err := a.node.Infer()
		if err != nil {
			return p.errorf(a.off, "%v", err)
		}
		a.node.Canonicalise()
		if len(specs) != len(a.node.Out) {
			return p.errorf(a.off, "%s has %d results, not %d", a.node.Op.Name, len(specs), len(a.node.Out))
		}
		for i, v := range a.node.Out {
			if !v.Spec.Equal(specs[i]) {
				return p.errorf(a.off, "%v is declared %v, but %s gives %v", v, v.Spec, a.node.signature(), specs[i])
			}
		}
	}
	return nil
}

// scope reads parameters and a block into g.
func (p *parser) scope(g *Graph, depth int) error {
	values := make(map[string]*Value)
	if err := p.punct("("); err != nil {
		return err
	}
	for first := true; !p.isPunct(")"); first = false {
		if !first {
			if err := p.punct(","); err != nil {
				return err
			}
		}
		v, err := p.define(values)
		if err != nil {
			return err
		}
		if p.isPunct("@") {
			if v.InputPos, err = p.pos(); err != nil {
				return err
			}
		}
		g.Inputs = append(g.Inputs, v)
	}
	if err := p.advance(); err != nil {
		return err
	}
	if err := p.punct("{"); err != nil {
		return err
	}
	for p.tok.kind == tokValue {
		n, err := p.node(values, depth)
		if err != nil {
			return err
		}
		g.Nodes = append(g.Nodes, n)
	}
	if err := p.word("return"); err != nil {
		return err
	}
	var err error
	if g.Outputs, err = p.uses(values); err != nil {
		return err
	}
	return p.punct("}")
}

// define reads "%name: spec" and adds it to the scope.
func (p *parser) define(values map[string]*Value) (*Value, error) {
	name, err := p.take(tokValue, "a value")
	if err != nil {
		return nil, err
	}
	if values[name.text] != nil {
		return nil, p.errorf(name.off, "%v is defined twice", name)
	}
	if err := p.punct(":"); err != nil {
		return nil, err
	}
	spec, err := p.spec()
	if err != nil {
		return nil, err
	}
	v := &Value{Name: name.text, Spec: spec}
	values[name.text] = v
	return v, nil
}

func (p *parser) node(values map[string]*Value, depth int) (*Node, error) {
	n := &Node{}
	off := p.tok.off
	// Results enter the scope after the operands are read.
	results := make(map[string]*Value)
	for {
		if p.tok.kind == tokValue && values[p.tok.text] != nil {
			return nil, p.errorf(p.tok.off, "%v is defined twice", p.tok)
		}
		v, err := p.define(results)
		if err != nil {
			return nil, err
		}
		v.Def = n
		n.Out = append(n.Out, v)
		if !p.isPunct(",") {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if err := p.punct("="); err != nil {
		return nil, err
	}
	name, err := p.take(tokIdent, "an operator name")
	if err != nil {
		return nil, err
	}
	if n.Op, err = p.ops.Lookup(name.text); err != nil {
		return nil, p.errorf(name.off, "%v", err)
	}
	if p.tok.kind == tokValue {
		if n.In, err = p.uses(values); err != nil {
			return nil, err
		}
	}
	if err := p.tail(n, depth); err != nil {
		return nil, err
	}
	for name, v := range results {
		values[name] = v
	}
	p.at = append(p.at, placedNode{n, off})
	return n, nil
}

// tail reads what may follow the operands: attributes, body and positions.
func (p *parser) tail(n *Node, depth int) error {
	if p.isPunct("{") {
		if err := p.attrs(n); err != nil {
			return err
		}
	}
	if n.Op.Class == Fused {
		if depth > 0 {
			return p.errorf(p.tok.off, "a body cannot hold a fused node")
		}
		n.Body = &Graph{Name: BodyName}
		if err := p.scope(n.Body, depth+1); err != nil {
			return err
		}
	}
	for more := p.isPunct("@"); more; {
		pos, err := p.pos()
		if err != nil {
			return err
		}
		n.Pos = append(n.Pos, pos)
		if more = p.isPunct(","); more {
			if err := p.advance(); err != nil {
				return err
			}
		}
	}
	return nil
}

// BodyName is the name of the body graph of every fused node.
const BodyName = "body"

// uses reads a list of defined values.
func (p *parser) uses(values map[string]*Value) ([]*Value, error) {
	var list []*Value
	for {
		name, err := p.take(tokValue, "a value")
		if err != nil {
			return nil, err
		}
		v := values[name.text]
		if v == nil {
			return nil, p.errorf(name.off, "%v is not defined before this use", name)
		}
		list = append(list, v)
		if !p.isPunct(",") {
			return list, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

func (p *parser) isPunct(s string) bool { return p.tok.kind == tokPunct && p.tok.text == s }

func (p *parser) take(kind tokenKind, what string) (token, error) {
	t := p.tok
	if t.kind != kind {
		return t, p.errorf(t.off, "expected %s, found %v", what, t)
	}
	return t, p.advance()
}

func (p *parser) word(w string) error {
	if p.tok.kind != tokIdent || p.tok.text != w {
		return p.errorf(p.tok.off, "expected %q, found %v", w, p.tok)
	}
	return p.advance()
}

func (p *parser) punct(s string) error {
	if !p.isPunct(s) {
		return p.errorf(p.tok.off, "expected %q, found %v", s, p.tok)
	}
	return p.advance()
}
