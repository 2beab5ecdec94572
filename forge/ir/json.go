package ir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"forgekernel/forge/tensor"
)

// JSONVersion is the version of the JSON form. It changes whenever a reader of
// the previous version could misread a graph.
const JSONVersion = 1

const jsonFormat = "forge.ir"

// The JSON form mirrors the graph. Value names carry no %; a tensor attribute
// is a [jsonTensor].
type jsonGraph struct {
	Format  string      `json:"format,omitempty"` // "forge.ir"; absent in bodies
	Version int         `json:"version,omitempty"`
	Name    string      `json:"name"`
	Inputs  []jsonValue `json:"inputs"`
	Nodes   []jsonNode  `json:"nodes"`
	Outputs []string    `json:"outputs"`
}

type jsonValue struct {
	Name   string   `json:"name"`
	DType  string   `json:"dtype"`
	Shape  []int    `json:"shape"`
	Device string   `json:"device,omitempty"` // absent for the host
	Pos    *jsonPos `json:"pos,omitempty"`    // of graph inputs
}

type jsonNode struct {
	Op    string                     `json:"op"`
	In    []string                   `json:"in"`
	Out   []jsonValue                `json:"out"`
	Attrs map[string]json.RawMessage `json:"attrs,omitempty"`
	Body  *jsonGraph                 `json:"body,omitempty"`
	Pos   []jsonPos                  `json:"pos,omitempty"`
}

type jsonPos struct {
	Source string `json:"source"`
	Line   int    `json:"line"`
	Col    int    `json:"col"`
}

type jsonTensor struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  []byte `json:"data,omitempty"` // little-endian elements in base64; absent in [Graph.Outline]
}

// MarshalJSON returns the JSON form with all constants, for [ParseJSON].
func (g *Graph) MarshalJSON() ([]byte, error) { return encodeJSON(g, true) }

// Outline returns the JSON form without the elements of constants.
func (g *Graph) Outline() ([]byte, error) { return encodeJSON(g, false) }

func encodeJSON(g *Graph, withData bool) ([]byte, error) {
	out, err := toJSON(g, withData)
	if err != nil {
		return nil, err
	}
	out.Format, out.Version = jsonFormat, JSONVersion
	return json.Marshal(out)
}

func toJSON(g *Graph, withData bool) (*jsonGraph, error) {
	out := &jsonGraph{Name: g.Name, Inputs: []jsonValue{}, Nodes: []jsonNode{}, Outputs: names(g.Outputs)}
	for _, v := range g.Inputs {
		w := valueToJSON(v)
		if v.InputPos.IsKnown() {
			w.Pos = (*jsonPos)(&v.InputPos)
		}
		out.Inputs = append(out.Inputs, w)
	}
	for _, n := range g.Nodes {
		m := jsonNode{Op: n.Op.Name, In: names(n.In)}
		for _, v := range n.Out {
			m.Out = append(m.Out, valueToJSON(v))
		}
		for _, p := range n.Pos {
			m.Pos = append(m.Pos, jsonPos(p))
		}
		for name, v := range n.Attrs {
			raw, err := attrToJSON(v, withData)
			if err != nil {
				return nil, fmt.Errorf("attribute %s of %s: %w", name, n.Op.Name, err)
			}
			if m.Attrs == nil {
				m.Attrs = make(map[string]json.RawMessage)
			}
			m.Attrs[name] = raw
		}
		if n.Body != nil {
			body, err := toJSON(n.Body, withData)
			if err != nil {
				return nil, err
			}
			m.Body = body
		}
		out.Nodes = append(out.Nodes, m)
	}
	return out, nil
}

func names(values []*Value) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.Name
	}
	return list
}

func valueToJSON(v *Value) jsonValue {
	return jsonValue{Name: v.Name, DType: v.Spec.DType.String(), Shape: append([]int{}, v.Spec.Shape...), Device: string(v.Spec.Device)}
}

func attrToJSON(v any, withData bool) (json.RawMessage, error) {
	switch x := v.(type) {
	case *tensor.Tensor:
		t := jsonTensor{DType: x.DType().String(), Shape: append([]int{}, x.Shape()...)}
		if withData {
			t.Data = x.Encode()
		}
		v = t
	case float64: // JSON has no NaN and no infinities
		if math.IsNaN(x) || math.IsInf(x, 0) {
			v = formatFloat(x, 64)
		}
	}
	return json.Marshal(v)
}

// ParseJSON reads the JSON form that [Graph.MarshalJSON] wrote and verifies
// the graph.
func ParseJSON(ops *Registry, raw []byte) (*Graph, error) {
	return (&jsonReader{ops: ops}).parse(raw)
}

// MaxOutlineBytes bounds the constants of a graph that [ParseOutline] makes.
const MaxOutlineBytes = 1 << 30

// ParseOutline reads what [Graph.Outline] wrote. The constants are zeros: the
// graph tells what is computed and where it stands, not the results.
func ParseOutline(ops *Registry, raw []byte) (*Graph, error) {
	return (&jsonReader{ops: ops, outline: true, left: MaxOutlineBytes}).parse(raw)
}

// jsonReader makes a graph of its JSON form.
type jsonReader struct {
	ops     *Registry
	outline bool  // tensors have no elements
	left    int64 // bytes that further tensors of an outline may have
}

func (r *jsonReader) parse(raw []byte) (*Graph, error) {
	var in jsonGraph
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("graph JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("graph JSON: something follows the graph")
	}
	if in.Format != jsonFormat {
		return nil, fmt.Errorf("graph JSON: format is %q, not %q", in.Format, jsonFormat)
	}
	if in.Version != JSONVersion {
		return nil, fmt.Errorf("graph JSON: version %d; this program reads version %d", in.Version, JSONVersion)
	}
	g, err := r.graph(&in, 0)
	if err != nil {
		return nil, fmt.Errorf("graph JSON: %w", err)
	}
	canonicalise(g)
	return g, Verify(g)
}

// canonicalise brings the attributes of all valid nodes to canonical form.
func canonicalise(g *Graph) {
	for _, n := range g.Nodes {
		if n.Body != nil {
			canonicalise(n.Body)
		}
		if _, err := n.Infer(); err == nil {
			n.Canonicalise()
		}
	}
}

func (r *jsonReader) graph(in *jsonGraph, depth int) (*Graph, error) {
	g := &Graph{Name: in.Name}
	values := make(map[string]*Value)
	define := func(j jsonValue, def *Node) (*Value, error) {
		spec, err := specFromJSON(j.DType, j.Shape, j.Device)
		if err != nil {
			return nil, fmt.Errorf("value %s: %w", j.Name, err)
		}
		if values[j.Name] != nil {
			return nil, fmt.Errorf("value %s is defined twice", j.Name)
		}
		v := &Value{Name: j.Name, Spec: spec, Def: def}
		values[j.Name] = v
		return v, nil
	}
	lookup := func(list []string) ([]*Value, error) {
		var out []*Value
		for _, name := range list {
			v := values[name]
			if v == nil {
				return nil, fmt.Errorf("value %s is not defined before its use", name)
			}
			out = append(out, v)
		}
		return out, nil
	}
	for _, j := range in.Inputs {
		v, err := define(j, nil)
		if err != nil {
			return nil, err
		}
		if j.Pos != nil {
			if v.InputPos = Pos(*j.Pos); !v.InputPos.valid() {
				return nil, fmt.Errorf("value %s: bad position", j.Name)
			}
		}
		g.Inputs = append(g.Inputs, v)
	}
	for i := range in.Nodes {
		n, err := r.node(&in.Nodes[i], depth, lookup)
		if err != nil {
			return nil, fmt.Errorf("node %d (%s): %w", i, in.Nodes[i].Op, err)
		}
		for _, j := range in.Nodes[i].Out {
			v, err := define(j, n)
			if err != nil {
				return nil, fmt.Errorf("node %d (%s): %w", i, in.Nodes[i].Op, err)
			}
			n.Out = append(n.Out, v)
		}
		g.Nodes = append(g.Nodes, n)
	}
	var err error
	g.Outputs, err = lookup(in.Outputs)
	return g, err
}

func (r *jsonReader) node(in *jsonNode, depth int, lookup func([]string) ([]*Value, error)) (*Node, error) {
	op, err := r.ops.Lookup(in.Op)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: op}
	if n.In, err = lookup(in.In); err != nil {
		return nil, err
	}
	for _, p := range in.Pos {
		n.Pos = append(n.Pos, Pos(p))
	}
	for name, raw := range in.Attrs {
		v, err := r.attr(op, name, raw)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		if n.Attrs == nil {
			n.Attrs = make(Attrs)
		}
		n.Attrs[name] = v
	}
	if in.Body != nil {
		if depth > 0 {
			return nil, errors.New("a body cannot hold a fused node")
		}
		if n.Body, err = r.graph(in.Body, depth+1); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	return n, nil
}

func specFromJSON(name string, shape []int, device string) (Spec, error) {
	dtype, ok := tensor.ParseDType(name)
	if !ok {
		return Spec{}, fmt.Errorf("%q is not an element type", name)
	}
	spec := Spec{DType: dtype, Shape: shape, Device: Device(device)}
	return spec.Clone(), spec.Check()
}

// attr decodes an attribute by its declared kind.
func (r *jsonReader) attr(op *Op, name string, raw json.RawMessage) (any, error) {
	i := op.attrIndex(name)
	if i < 0 {
		return nil, fmt.Errorf("%s has no such attribute", op.Name)
	}
	switch op.Attrs[i].Kind {
	case BoolAttr:
		return decodeAs[bool](raw)
	case IntAttr:
		return decodeAs[int64](raw)
	case StringAttr:
		return decodeAs[string](raw)
	case IntsAttr:
		list, err := decodeAs[[]int64](raw)
		if err == nil && list == nil {
			err = errors.New("null is not a list")
		}
		return list, err
	case FloatAttr:
		if text, err := decodeAs[string](raw); err == nil {
			return strconv.ParseFloat(text, 64)
		}
		return decodeAs[float64](raw)
	}
	t, err := decodeAs[jsonTensor](raw)
	if err != nil {
		return nil, err
	}
	spec, err := specFromJSON(t.DType, t.Shape, "")
	if err != nil {
		return nil, err
	}
	if !r.outline {
		return tensor.Decode(spec.DType, spec.Shape, t.Data)
	}
	if r.left -= spec.Bytes(); len(t.Data) > 0 || r.left < 0 {
		return nil, fmt.Errorf("an outline holds no elements, and at most %d bytes of constants", MaxOutlineBytes)
	}
	return tensor.Zeros(spec.DType, spec.Shape...)
}

func decodeAs[T any](raw json.RawMessage) (T, error) {
	var v T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&v)
	return v, err
}
