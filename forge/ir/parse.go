package ir

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"forgekernel/forge/tensor"
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
	return g, Verify(g)
}

type parser struct {
	scanner
	tok  token
	ops  *Registry
	data []dataRef    // constants that name a data entry
	at   []placedNode // every node, in order of definition
}

type dataRef struct {
	node  *Node
	attr  string
	spec  Spec
	label string
	off   int
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
// is written.
func (p *parser) check() error {
	for _, a := range p.at {
		specs, err := a.node.Infer()
		if err != nil {
			return p.errorf(a.off, "%v", err)
		}
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

func (p *parser) attrs(n *Node) error {
	n.Attrs = make(Attrs)
	for {
		if err := p.advance(); err != nil { // past "{" or ","
			return err
		}
		name, err := p.take(tokIdent, "an attribute name")
		if err != nil {
			return err
		}
		if _, ok := n.Attrs[name.text]; ok {
			return p.errorf(name.off, "attribute %s is given twice", name.text)
		}
		if err := p.punct("="); err != nil {
			return err
		}
		if n.Attrs[name.text], err = p.attr(n, name.text); err != nil {
			return err
		}
		if !p.isPunct(",") {
			return p.punct("}")
		}
	}
}

func (p *parser) attr(n *Node, name string) (any, error) {
	t := p.tok
	switch {
	case t.kind == tokString:
		return t.text, p.advance()
	case t.kind == tokIdent && (t.text == "true" || t.text == "false"):
		return t.text == "true", p.advance()
	case t.kind == tokIdent && (t.text == "nan" || t.text == "inf"):
		v, _ := strconv.ParseFloat(t.text, 64)
		return v, p.advance()
	case t.kind == tokIdent:
		return p.tensor(n, name)
	case p.isPunct("["):
		return p.ints()
	case t.kind == tokNumber:
		if i, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			return i, p.advance()
		}
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.errorf(t.off, "%v is not a number", t)
		}
		return v, p.advance()
	}
	return nil, p.errorf(t.off, "expected an attribute value, found %v", t)
}

func (p *parser) ints() ([]int64, error) {
	list := []int64{}
	if err := p.advance(); err != nil { // past "["
		return nil, err
	}
	for first := true; !p.isPunct("]"); first = false {
		if !first {
			if err := p.punct(","); err != nil {
				return nil, err
			}
		}
		i, err := p.integer(math.MinInt64)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, p.advance()
}

func (p *parser) spec() (Spec, error) {
	name, err := p.take(tokIdent, "an element type")
	if err != nil {
		return Spec{}, err
	}
	dtype, ok := tensor.ParseDType(name.text)
	if !ok {
		return Spec{}, p.errorf(name.off, "%s is not an element type", name.text)
	}
	if !p.isPunct("[") {
		return Spec{}, p.errorf(p.tok.off, "expected [ of a shape, found %v", p.tok)
	}
	dims, err := p.ints()
	if err != nil {
		return Spec{}, err
	}
	spec := Spec{DType: dtype}
	for _, d := range dims {
		spec.Shape = append(spec.Shape, int(d))
	}
	if err := spec.Check(); err != nil {
		return Spec{}, p.errorf(name.off, "%v", err)
	}
	return spec, nil
}

// pos reads `@ "source":line:col`.
func (p *parser) pos() (Pos, error) {
	if err := p.punct("@"); err != nil {
		return Pos{}, err
	}
	source, err := p.take(tokString, "the name of a source in quotes")
	if err != nil {
		return Pos{}, err
	}
	pos := Pos{Source: source.text}
	for i, field := range []*int{&pos.Line, &pos.Col} {
		if err := p.punct(":"); err != nil {
			return Pos{}, err
		}
		v, err := p.integer(int64(1 - i))
		if err != nil {
			return Pos{}, err
		}
		*field = int(v)
	}
	return pos, nil
}

// integer reads an integer of at least low.
func (p *parser) integer(low int64) (int64, error) {
	t, err := p.take(tokNumber, "an integer")
	if err != nil {
		return 0, err
	}
	i, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil || i < low {
		return 0, p.errorf(t.off, "%v is not an integer of the needed range", t)
	}
	return i, nil
}

// tensor reads a spec and its elements, or a reference to the data section.
func (p *parser) tensor(n *Node, attr string) (any, error) {
	off := p.tok.off
	spec, err := p.spec()
	if err != nil {
		return nil, err
	}
	if p.isPunct("@") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		label, err := p.take(tokNumber, "a data label")
		if err != nil {
			return nil, err
		}
		p.data = append(p.data, dataRef{n, attr, spec, label.text, label.off})
		return (*tensor.Tensor)(nil), nil
	}
	var words []token
	for p.tok.kind == tokNumber || p.tok.kind == tokIdent {
		words = append(words, p.tok)
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if len(words) != spec.Elements() {
		return nil, p.errorf(off, "%v has %d elements, found %d", spec, spec.Elements(), len(words))
	}
	t, err := tensor.Zeros(spec.DType, spec.Shape...)
	if err != nil {
		return nil, p.errorf(off, "%v", err)
	}
	for i, w := range words {
		if err := parseElement(t, i, w.text); err != nil {
			return nil, p.errorf(w.off, "%v is not a value of type %v", w, spec.DType)
		}
	}
	return t, nil
}

func parseElement(t *tensor.Tensor, i int, s string) (err error) {
	var v float64
	switch t.DType() {
	case tensor.I64:
		t.Int64()[i], err = strconv.ParseInt(s, 10, 64)
		return err
	case tensor.I32:
		var n int64
		n, err = strconv.ParseInt(s, 10, 32)
		t.Int32()[i] = int32(n)
		return err
	case tensor.Bool:
		t.Bool()[i], err = strconv.ParseBool(s)
		return err
	case tensor.F64:
		v, err = strconv.ParseFloat(s, 64)
	default:
		v, err = strconv.ParseFloat(s, 32)
	}
	t.SetElem(i, v)
	return err
}

// dataSection reads the entries after the graph and gives them to the
// constants that name them.
func (p *parser) dataSection() error {
	entries := make(map[string]string)
	for p.tok.kind != tokEOF {
		if err := p.word("data"); err != nil {
			return err
		}
		if err := p.punct("@"); err != nil {
			return err
		}
		label, err := p.take(tokNumber, "a data label")
		if err != nil {
			return err
		}
		if err := p.punct("="); err != nil {
			return err
		}
		text, err := p.take(tokString, "base64 data in quotes")
		if err != nil {
			return err
		}
		if _, ok := entries[label.text]; ok {
			return p.errorf(label.off, "data @%s is given twice", label.text)
		}
		entries[label.text] = text.text
	}
	for _, ref := range p.data {
		text, ok := entries[ref.label]
		if !ok {
			return p.errorf(ref.off, "there is no data @%s", ref.label)
		}
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return p.errorf(ref.off, "data @%s: %v", ref.label, err)
		}
		t, err := tensor.Decode(ref.spec.DType, ref.spec.Shape, raw)
		if err != nil {
			return p.errorf(ref.off, "data @%s: %v", ref.label, err)
		}
		ref.node.Attrs[ref.attr] = t
	}
	return nil
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
