package onnx

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"forgekernel/forge/onnx/proto"
)

// The functions of this file write models in the wire format, so that tests state
// them as values.

type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) {
	if s != "" {
		m.bytes(field, []byte(s))
	}
}

func (m *message) int(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) float(field protowire.Number, v float32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(v))
}

func encode(p *proto.Model) []byte {
	var m message
	m.int(1, 10)
	m.text(2, p.Producer)
	if p.Graph != nil {
		m.bytes(7, encodeGraph(p.Graph))
	}
	for _, o := range p.Opsets {
		m.bytes(8, encodeOpset(o))
	}
	for _, f := range p.Functions {
		var e message
		e.text(1, f.Name)
		for _, s := range f.Inputs {
			e.bytes(4, []byte(s))
		}
		for _, s := range f.Outputs {
			e.bytes(5, []byte(s))
		}
		for _, s := range f.Attrs {
			e.text(6, s)
		}
		for _, n := range f.Nodes {
			e.bytes(7, encodeNode(n))
		}
		for _, o := range f.Opsets {
			e.bytes(9, encodeOpset(o))
		}
		e.text(10, f.Domain)
		for _, a := range f.Defaults {
			e.bytes(11, encodeAttribute(a))
		}
		m.bytes(25, e)
	}
	return m
}

func encodeOpset(o proto.Opset) []byte {
	var e message
	e.text(1, o.Domain)
	e.int(2, o.Version)
	return e
}

func encodeGraph(g *proto.Graph) []byte {
	var m message
	for _, n := range g.Nodes {
		m.bytes(1, encodeNode(n))
	}
	m.text(2, "g")
	for _, t := range g.Initializers {
		m.bytes(5, encodeTensor(t))
	}
	for _, v := range g.Inputs {
		m.bytes(11, encodeValueInfo(v))
	}
	for _, v := range g.Outputs {
		m.bytes(12, encodeValueInfo(v))
	}
	for _, v := range g.ValueInfo {
		m.bytes(13, encodeValueInfo(v))
	}
	return m
}

func encodeNode(n *proto.Node) []byte {
	var m message
	for _, s := range n.Inputs {
		m.bytes(1, []byte(s))
	}
	for _, s := range n.Outputs {
		m.bytes(2, []byte(s))
	}
	m.text(3, n.Name)
	m.text(4, n.Op)
	for _, a := range n.Attrs {
		m.bytes(5, encodeAttribute(a))
	}
	m.text(7, n.Domain)
	return m
}

func encodeAttribute(a *proto.Attribute) []byte {
	var m message
	m.text(1, a.Name)
	m.int(20, int64(a.Type))
	m.text(21, a.Ref)
	switch a.Type {
	case proto.FloatType:
		m.float(2, a.F)
	case proto.IntType:
		m.int(3, a.I)
	case proto.StringType:
		m.bytes(4, a.S)
	case proto.TensorType:
		m.bytes(5, encodeTensor(a.T))
	case proto.GraphType:
		m.bytes(6, encodeGraph(a.G))
	}
	for _, v := range a.Floats {
		m.float(7, v)
	}
	for _, v := range a.Ints {
		m.int(8, v)
	}
	for _, v := range a.Strings {
		m.bytes(9, v)
	}
	return m
}

func encodeTensor(t *proto.Tensor) []byte {
	var m message
	for _, d := range t.Dims {
		m.int(1, d)
	}
	m.int(2, int64(t.Type))
	for _, v := range t.Floats {
		m.float(4, v)
	}
	for _, v := range t.Int32s {
		m.int(5, int64(v))
	}
	for _, v := range t.Int64s {
		m.int(7, v)
	}
	m.text(8, t.Name)
	if t.HasRaw {
		m.bytes(9, t.Raw)
	}
	for _, e := range t.External {
		var kv message
		kv.text(1, e.Key)
		kv.text(2, e.Value)
		m.bytes(13, kv)
	}
	if t.Location != 0 {
		m.int(14, t.Location)
	}
	return m
}

func encodeValueInfo(v *proto.ValueInfo) []byte {
	var m, typ, tensor, shape message
	m.text(1, v.Name)
	if v.Type == nil {
		return m
	}
	tensor.int(1, int64(v.Type.Elem))
	for _, d := range v.Type.Dims {
		var dim message
		if d.Known {
			dim.int(1, d.Value)
		} else {
			dim.text(2, d.Param)
		}
		shape.bytes(1, dim)
	}
	if v.Type.HasShape {
		tensor.bytes(2, shape)
	}
	field := protowire.Number(1)
	if v.Type.Kind == "sequence" {
		field = 4
	}
	typ.bytes(field, tensor)
	m.bytes(2, typ)
	return m
}

// Short forms of the parts of a model.

func modelOf(opset int64, g *proto.Graph, functions ...*proto.Function) *proto.Model {
	opsets := []proto.Opset{{Version: opset}, {Domain: "com.microsoft", Version: 1}, {Domain: "local", Version: 1}}
	return &proto.Model{Opsets: opsets, Graph: g, Functions: functions}
}

func info(name string, elem proto.DataType, dims ...int64) *proto.ValueInfo {
	t := &proto.Type{Kind: "tensor", Elem: elem, HasShape: true}
	for _, d := range dims {
		t.Dims = append(t.Dims, proto.Dim{Known: true, Value: d})
	}
	return &proto.ValueInfo{Name: name, Type: t}
}

func untyped(names ...string) []*proto.ValueInfo {
	var list []*proto.ValueInfo
	for _, n := range names {
		list = append(list, &proto.ValueInfo{Name: n})
	}
	return list
}

func names(list ...string) []string { return list }

func node(op string, in, out []string, attrs ...*proto.Attribute) *proto.Node {
	return &proto.Node{Op: op, Inputs: in, Outputs: out, Attrs: attrs}
}

func intAttr(name string, v int64) *proto.Attribute {
	return &proto.Attribute{Name: name, Type: proto.IntType, I: v}
}

func intsAttr(name string, v ...int64) *proto.Attribute {
	return &proto.Attribute{Name: name, Type: proto.IntsType, Ints: v}
}

func floatAttr(name string, v float32) *proto.Attribute {
	return &proto.Attribute{Name: name, Type: proto.FloatType, F: v}
}

func textAttr(name, v string) *proto.Attribute {
	return &proto.Attribute{Name: name, Type: proto.StringType, S: []byte(v)}
}

func graphAttr(name string, g *proto.Graph) *proto.Attribute {
	return &proto.Attribute{Name: name, Type: proto.GraphType, G: g}
}

func ints(name string, v ...int64) *proto.Tensor {
	return &proto.Tensor{Name: name, Type: proto.Int64, Dims: []int64{int64(len(v))}, Int64s: v}
}

func scalar(name string, v int64) *proto.Tensor {
	return &proto.Tensor{Name: name, Type: proto.Int64, Int64s: []int64{v}}
}

func floats(name string, v ...float32) *proto.Tensor {
	return &proto.Tensor{Name: name, Type: proto.Float, Dims: []int64{int64(len(v))}, Floats: v}
}

// read opens a model that is stated as a value.
func read(t *testing.T, p *proto.Model) *Model {
	t.Helper()
	m, err := Read("test.onnx", encode(p))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
