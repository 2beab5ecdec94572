package ir

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/tensor"
)

// InlineElements is the largest constant that the text form writes as numbers
// in place; larger ones go to a data section after the graph.
const InlineElements = 16

// String returns the text form, which [Parse] reads back. The grammar, with
// the body of a fused node nested:
//
//	graph   = "graph" name params "{" { node } return "}" { data }
//	params  = "(" [ param { "," param } ] ")"
//	param   = "%"name ":" spec [ pos ]
//	spec    = dtype "[" [ int { "," int } ] "]" [ "on" device [ ":" int ] ]
//	node    = result { "," result } "=" op [ operands ] [ attrs ] [ body ] [ pos { "," pos } ]
//	result  = "%"name ":" spec
//	attrs   = "{" name "=" value { "," name "=" value } "}"
//	value   = bool | int | float | string | "[" ints "]" | spec numbers | spec "@"label
//	body    = params "{" { node } return "}"
//	return  = "return" "%"name { "," "%"name }
//	pos     = "@" string ":" line ":" column
//	data    = "data" "@"label "=" base64 string
//
// A comment runs from # to the end of its line.
func (g *Graph) String() string {
	p := &printer{withData: true}
	p.b.WriteString("graph " + g.Name)
	p.scope(g, "")
	p.b.WriteByte('\n')
	for i, t := range p.data {
		fmt.Fprintf(&p.b, "data @%d = %q\n", i, base64.StdEncoding.EncodeToString(t.Encode()))
	}
	return p.b.String()
}

type printer struct {
	b        strings.Builder
	withData bool
	data     []*tensor.Tensor
	notes    *noteWriter // of a listing; nil in the exact form
}

// scope writes parameters and the block of a graph or body.
func (p *printer) scope(g *Graph, indent string) {
	p.b.WriteByte('(')
	for i, v := range g.Inputs {
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.define(v)
		if p.notes == nil {
			p.pos(v.InputPos)
		}
	}
	p.b.WriteString(") {")
	if p.notes != nil && indent == "" {
		p.b.WriteString(p.notes.header())
	}
	p.b.WriteByte('\n')
	for _, n := range g.Nodes {
		p.node(n, indent+"  ")
	}
	p.b.WriteString(indent + "  return ")
	p.list(g.Outputs)
	p.b.WriteString("\n" + indent + "}")
}

func (p *printer) node(n *Node, indent string) {
	p.b.WriteString(indent)
	for i, v := range n.Out {
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.define(v)
	}
	p.b.WriteString(" = " + n.Op.Name)
	if len(n.In) > 0 {
		p.b.WriteByte(' ')
		p.list(n.In)
	}
	p.attrs(n.Attrs)
	if n.Body != nil {
		p.b.WriteByte(' ')
		p.scope(n.Body, indent)
	}
	p.places(n.Pos)
	p.b.WriteByte('\n')
}

func (p *printer) define(v *Value) { p.b.WriteString(v.String() + ": " + v.Spec.String()) }

func (p *printer) list(values []*Value) {
	for i, v := range values {
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.b.WriteString(v.String())
	}
}

// places writes the positions of a node.
func (p *printer) places(list []Pos) {
	if p.notes != nil {
		p.b.WriteString(p.notes.places(list))
		return
	}
	for i, pos := range list {
		if i > 0 {
			p.b.WriteByte(',')
		}
		p.pos(pos)
	}
}

func (p *printer) pos(pos Pos) {
	if pos.IsKnown() {
		fmt.Fprintf(&p.b, " @ %s:%d:%d", strconv.Quote(pos.Source), pos.Line, pos.Col)
	}
}

func (p *printer) attrs(attrs Attrs) {
	if len(attrs) == 0 {
		return
	}
	p.b.WriteString(" {")
	for i, name := range slices.Sorted(maps.Keys(attrs)) {
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.b.WriteString(name + " = ")
		p.attr(attrs[name])
	}
	p.b.WriteByte('}')
}

func (p *printer) attr(v any) {
	switch v := v.(type) {
	case float64:
		p.b.WriteString(formatFloat(v, 64))
	case string:
		p.b.WriteString(strconv.Quote(v))
	case []int64:
		p.b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				p.b.WriteString(", ")
			}
			p.b.WriteString(strconv.FormatInt(x, 10))
		}
		p.b.WriteByte(']')
	case *tensor.Tensor:
		p.tensor(v)
	default: // bool, int64
		fmt.Fprint(&p.b, v)
	}
}

func (p *printer) tensor(t *tensor.Tensor) {
	p.b.WriteString(SpecOf(t).String())
	if t.Len() > InlineElements || !inlineExact(t) {
		if p.withData {
			fmt.Fprintf(&p.b, " @%d", len(p.data))
			p.data = append(p.data, t)
		} else {
			p.b.WriteString(" ...")
		}
		return
	}
	for i := range t.Len() {
		p.b.WriteByte(' ')
		p.b.WriteString(formatElement(t, i))
	}
}

// inlineExact reports whether numbers can stand for the elements: the text
// form has one NaN, so any other NaN pattern goes to the data section.
func inlineExact(t *tensor.Tensor) bool {
	switch t.DType() {
	case tensor.F32:
		for _, v := range t.Float32() {
			if v != v && math.Float32bits(v) != math.Float32bits(float32(math.NaN())) {
				return false
			}
		}
	case tensor.F64:
		for _, v := range t.Float64() {
			if v != v && math.Float64bits(v) != math.Float64bits(math.NaN()) {
				return false
			}
		}
	case tensor.F16, tensor.BF16:
		nan := tensor.Scalar(t.DType(), math.NaN()).Bits16()[0]
		for i, bits := range t.Bits16() {
			if v := t.Elem(i); v != v && bits != nan {
				return false
			}
		}
	}
	return true
}

// formatElement writes one element so that reading it back gives equal bits.
func formatElement(t *tensor.Tensor, i int) string {
	switch t.DType() {
	case tensor.F32:
		return formatFloat(float64(t.Float32()[i]), 32)
	case tensor.F64:
		return formatFloat(t.Float64()[i], 64)
	case tensor.I64:
		return strconv.FormatInt(t.Int64()[i], 10)
	case tensor.I32:
		return strconv.FormatInt(int64(t.Int32()[i]), 10)
	case tensor.Bool:
		return strconv.FormatBool(t.Bool()[i])
	}
	return formatFloat(t.Elem(i), 32) // f16 and bf16 are exact in float32
}

// formatFloat writes the shortest decimal that reads back exactly, always
// recognisable as a float.
func formatFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
