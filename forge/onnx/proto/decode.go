package proto

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Decode reads a ModelProto. Errors name the byte where the file is wrong.
func Decode(b []byte) (*Model, error) {
	d := &decoder{}
	m := &Model{}
	err := d.each(message{bytes: b}, func(f field) error {
		switch f.number {
		case 1:
			return f.int(&m.IRVersion)
		case 2:
			return f.text(&m.Producer)
		case 7:
			m.Graph = &Graph{}
			return d.graph(f, m.Graph)
		case 8:
			return d.opset(f, &m.Opsets)
		case 25:
			return d.function(f, &m.Functions)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("not an ONNX model: %w", err)
	}
	if m.Graph == nil {
		return nil, fmt.Errorf("not an ONNX model: there is no graph")
	}
	return m, nil
}

// DecodeTensor reads a file that holds one TensorProto.
func DecodeTensor(b []byte) (*Tensor, error) {
	d := &decoder{}
	t := &Tensor{}
	if err := d.tensor(message{bytes: b}, t); err != nil {
		return nil, fmt.Errorf("not an ONNX tensor: %w", err)
	}
	return t, nil
}

// sub reads a field that is a message.
func (d *decoder) sub(f field, visit func(field) error) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	return d.each(f.message(), visit)
}

func (d *decoder) opset(f field, to *[]Opset) error {
	var o Opset
	err := d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&o.Domain)
		case 2:
			return f.int(&o.Version)
		}
		return nil
	})
	o.Domain = domain(o.Domain)
	*to = append(*to, o)
	return err
}

// domain gives the default domain its short name.
func domain(name string) string {
	if name == "ai.onnx" {
		return ""
	}
	return name
}

func (d *decoder) function(f field, to *[]*Function) error {
	fn := &Function{}
	*to = append(*to, fn)
	err := d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&fn.Name)
		case 4:
			return f.texts(&fn.Inputs)
		case 5:
			return f.texts(&fn.Outputs)
		case 6:
			return f.texts(&fn.Attrs)
		case 7:
			return d.node(f, &fn.Nodes)
		case 9:
			return d.opset(f, &fn.Opsets)
		case 10:
			return f.text(&fn.Domain)
		case 11:
			return d.attribute(f, &fn.Defaults)
		case 13:
			return f.text(&fn.Overload)
		}
		return nil
	})
	fn.Domain = domain(fn.Domain)
	return err
}

func (d *decoder) graph(f field, g *Graph) error {
	return d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return d.node(f, &g.Nodes)
		case 2:
			return f.text(&g.Name)
		case 5:
			t := &Tensor{}
			g.Initializers = append(g.Initializers, t)
			return d.tensorField(f, t)
		case 11:
			return d.valueInfo(f, &g.Inputs)
		case 12:
			return d.valueInfo(f, &g.Outputs)
		case 13:
			return d.valueInfo(f, &g.ValueInfo)
		case 15:
			g.Sparse++
		}
		return nil
	})
}

func (d *decoder) node(f field, to *[]*Node) error {
	n := &Node{}
	*to = append(*to, n)
	err := d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return f.texts(&n.Inputs)
		case 2:
			return f.texts(&n.Outputs)
		case 3:
			return f.text(&n.Name)
		case 4:
			return f.text(&n.Op)
		case 5:
			return d.attribute(f, &n.Attrs)
		case 7:
			return f.text(&n.Domain)
		case 8:
			return f.text(&n.Overload)
		}
		return nil
	})
	n.Domain = domain(n.Domain)
	return err
}

func (d *decoder) attribute(f field, to *[]*Attribute) error {
	a := &Attribute{}
	*to = append(*to, a)
	return d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&a.Name)
		case 2:
			a.F = asFloat(f.word)
			return f.want(protowire.Fixed32Type)
		case 3:
			return f.int(&a.I)
		case 4:
			return f.raw(&a.S)
		case 5:
			a.T = &Tensor{}
			return d.tensorField(f, a.T)
		case 6:
			a.G = &Graph{}
			return d.graph(f, a.G)
		case 7:
			return f.floats(&a.Floats)
		case 8:
			return f.ints(&a.Ints)
		case 9:
			return f.strings(&a.Strings)
		case 20:
			return f.int((*int64)(&a.Type))
		case 21:
			return f.text(&a.Ref)
		}
		return nil
	})
}

func (d *decoder) valueInfo(f field, to *[]*ValueInfo) error {
	v := &ValueInfo{}
	*to = append(*to, v)
	return d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&v.Name)
		case 2:
			v.Type = &Type{}
			return d.typ(f, v.Type)
		}
		return nil
	})
}

// kinds are the cases of a TypeProto's value.
var kinds = map[protowire.Number]string{1: "tensor", 4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}

func (d *decoder) typ(f field, t *Type) error {
	return d.sub(f, func(f field) error {
		kind, ok := kinds[f.number]
		if !ok {
			return nil
		}
		*t = Type{Kind: kind}
		if kind != "tensor" {
			return f.want(protowire.BytesType)
		}
		return d.sub(f, func(f field) error {
			switch f.number {
			case 1:
				t.Elem = DataType(f.word)
				return f.want(protowire.VarintType)
			case 2:
				t.HasShape = true
				return d.sub(f, func(f field) error {
					if f.number != 1 {
						return nil
					}
					return d.dim(f, &t.Dims)
				})
			}
			return nil
		})
	})
}

func (d *decoder) dim(f field, to *[]Dim) error {
	var dim Dim
	err := d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			dim = Dim{Known: true}
			return f.int(&dim.Value)
		case 2:
			dim = Dim{}
			return f.text(&dim.Param)
		}
		return nil
	})
	*to = append(*to, dim)
	return err
}

func (d *decoder) tensorField(f field, t *Tensor) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	return d.tensor(f.message(), t)
}

func (d *decoder) tensor(m message, t *Tensor) error {
	return d.each(m, func(f field) error {
		switch f.number {
		case 1:
			return f.ints(&t.Dims)
		case 2:
			t.Type = DataType(f.word)
			return f.want(protowire.VarintType)
		case 3:
			t.Segment = true
		case 4:
			return f.floats(&t.Floats)
		case 5:
			return numbers(f, protowire.VarintType, 0, func(w uint64) int32 { return int32(w) }, &t.Int32s)
		case 6:
			return f.strings(&t.Strings)
		case 7:
			return f.ints(&t.Int64s)
		case 8:
			return f.text(&t.Name)
		case 9:
			t.HasRaw = true
			return f.raw(&t.Raw)
		case 10:
			return numbers(f, protowire.Fixed64Type, 8, math.Float64frombits, &t.Doubles)
		case 11:
			return numbers(f, protowire.VarintType, 0, func(w uint64) uint64 { return w }, &t.Uint64s)
		case 13:
			return d.entry(f, &t.External)
		case 14:
			return f.int(&t.Location)
		}
		return nil
	})
}

func (d *decoder) entry(f field, to *[]Entry) error {
	var e Entry
	err := d.sub(f, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&e.Key)
		case 2:
			return f.text(&e.Value)
		}
		return nil
	})
	*to = append(*to, e)
	return err
}
