package ir

import (
	"encoding/base64"
	"math"
	"strconv"

	"forgekernel/forge/tensor"
)

// dataRef is a constant whose elements stand in the data section.
type dataRef struct {
	node  *Node
	attr  string
	spec  Spec
	label string
	off   int
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
	if p.tok.kind == tokIdent && p.tok.text == "on" {
		if spec.Device, err = p.device(); err != nil {
			return Spec{}, err
		}
	}
	if err := spec.Check(); err != nil {
		return Spec{}, p.errorf(name.off, "%v", err)
	}
	return spec, nil
}

// device reads `on kind:number` or `on kind`.
func (p *parser) device() (Device, error) {
	if err := p.advance(); err != nil { // past "on"
		return "", err
	}
	kind, err := p.take(tokIdent, "a device")
	if err != nil {
		return "", err
	}
	name := kind.text
	if p.isPunct(":") {
		if err := p.advance(); err != nil {
			return "", err
		}
		number, err := p.take(tokNumber, "the number of a device")
		if err != nil {
			return "", err
		}
		name += ":" + number.text
	}
	d, err := ParseDevice(name)
	if err != nil {
		return "", p.errorf(kind.off, "%v", err)
	}
	return d, nil
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
