package onnx

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/importer"
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Graph imports the model. An input is bound to the value that the binding has
// for it only where the program needs to know it.
func (m *Model) Graph(ctx context.Context, b importer.Binding) (*importer.Program, error) {
	shapes, err := b.Resolve(m.inputs)
	if err != nil {
		return nil, brief(fmt.Errorf("%s: %w", m.name, err))
	}
	read := newDecoded()
	p, err := importer.Bind(b.Values, func(bound map[string]string) (*importer.Program, error) {
		im := newImporter(ctx, m, bound)
		im.decoded, im.values = read, b.Values
		return im.run(shapes, b)
	})
	if err != nil {
		return nil, brief(fmt.Errorf("%s: %w", m.name, err))
	}
	return p, nil
}

// value is what a name of the file stands for.
type value struct {
	computed *ir.Value      // by the program; nil for a known one that it has not used
	known    *tensor.Tensor // nil for what only a run tells
	missing  bool           // it depends on an unsupported node
	elem     proto.DataType // of the file, if not the one that the elements are held in
}

// scope is where names are looked up: a graph, the branch of an If, whose names
// are looked up outside as well, or the body of a function.
type scope struct {
	outer  *scope
	values map[string]*value
	opsets []proto.Opset
	attrs  map[string]*proto.Attribute // of the call of a function
	depth  int
}

func (s *scope) lookup(name string) *value {
	for ; s != nil; s = s.outer {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

// imports is the work of one [Model.Graph].
type imports struct {
	ctx         context.Context
	model       *Model
	decoded     *decoded
	b           *ir.Builder
	names       importer.Identifiers
	bound       map[string]string         // inputs to bind, and what for
	values      map[string]*tensor.Tensor // at hand, of inputs
	origin      map[*ir.Value]string
	functions   map[string]*proto.Function
	unsupported []string
	notes       []string
	ordinal     int
	budget
}

func newImporter(ctx context.Context, m *Model, bound map[string]string) *imports {
	ids := importer.Identifiers{}
	im := &imports{
		ctx: ctx, model: m, names: ids, bound: bound,
		b:      ir.NewBuilder(op.Registry, ids.New(strings.TrimSuffix(m.name, ".onnx"))),
		origin: make(map[*ir.Value]string), functions: make(map[string]*proto.Function),
	}
	clear(ids)
	for _, f := range m.proto.Functions {
		im.functions[functionKey(f.Domain, f.Name, f.Overload)] = f
	}
	return im
}

func functionKey(domain, name, overload string) string {
	return domain + "\x00" + name + "\x00" + overload
}

func (im *imports) run(shapes [][]int, b importer.Binding) (*importer.Program, error) {
	p := &importer.Program{Outputs: im.model.Outputs()}
	top := &scope{values: make(map[string]*value), opsets: im.model.proto.Opsets}
	for i, in := range im.model.inputs {
		if purpose, ok := im.bound[in.Name]; ok {
			t, err := b.Values[in.Name].Convert(in.DType)
			if err != nil {
				return nil, fmt.Errorf("input %s: %w", in.Name, err)
			}
			top.values[in.Name] = &value{known: t, elem: sourceType(in.Source)}
			p.Bound = append(p.Bound, importer.Bound{Input: in.Name, Value: t, For: purpose})
			continue
		}
		v, err := im.b.Input(im.names.New(in.Name), ir.Spec{DType: in.DType, Shape: shapes[i]})
		if err != nil {
			return nil, err
		}
		im.origin[v] = in.Name
		top.values[in.Name] = &value{computed: v, elem: sourceType(in.Source)}
		p.Inputs = append(p.Inputs, in.Name)
		if in.Source != "" && widths[sourceType(in.Source)] < in.DType.Size() || unsigned[sourceType(in.Source)] {
			im.note("input %s: %s is held as %v", in.Name, in.Source, in.DType)
		}
	}
	outputs, err := im.graph(top, im.model.proto.Graph)
	if err != nil {
		return nil, err
	}
	if len(im.unsupported) > 0 {
		return nil, im.unsupportedError()
	}
	var results []*ir.Value
	for i, v := range outputs {
		u, err := im.materialise(v)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", p.Outputs[i], err)
		}
		results = append(results, u)
		if elem := v.element(); widths[elem] < u.Spec.DType.Size() || unsigned[elem] {
			im.note("output %s: %v is held as %v", p.Outputs[i], elem, u.Spec.DType)
		}
	}
	if p.Graph, err = im.b.Finish(results...); err != nil {
		return nil, err
	}
	p.Notes = im.notes
	return p, nil
}

// sourceType is the type of a name.
func sourceType(name string) proto.DataType { return proto.DataType(slices.Index(typeNames(), name)) }

func typeNames() []string {
	names := make([]string, proto.BFloat16+1)
	for i := range names {
		names[i] = proto.DataType(i).String()
	}
	return names
}

func (im *imports) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(im.notes) < MaxNotes && !slices.Contains(im.notes, text) {
		im.notes = append(im.notes, text)
	}
}

func (im *imports) unsupportedError() error {
	list := im.unsupported
	more := ""
	if len(list) > MaxListed {
		more = fmt.Sprintf("\n  and %d more", len(list)-MaxListed)
		list = list[:MaxListed]
	}
	return fmt.Errorf("%d nodes are not supported:\n  %s%s", len(im.unsupported), strings.Join(list, "\n  "), more)
}

// graph imports the nodes of a graph into a scope and returns its outputs.
func (im *imports) graph(s *scope, g *proto.Graph) ([]*value, error) {
	for _, t := range g.Initializers {
		known, err := im.decode(t)
		if err != nil {
			return nil, err
		}
		if err := s.define(t.Name, &value{known: known, elem: t.Type}); err != nil {
			return nil, fmt.Errorf("initializer %w", err)
		}
	}
	if err := im.nodes(s, g.Nodes); err != nil {
		return nil, err
	}
	im.compareShapes(s, g.ValueInfo)
	im.compareShapes(s, g.Outputs)
	outputs := make([]*value, len(g.Outputs))
	for i, out := range g.Outputs {
		if outputs[i] = s.lookup(out.Name); outputs[i] == nil {
			return nil, fmt.Errorf("output %q is defined by no node", out.Name)
		}
	}
	return outputs, nil
}

func (s *scope) define(name string, v *value) error {
	if s.values[name] != nil {
		return fmt.Errorf("%q is defined twice", name)
	}
	s.values[name] = v
	return nil
}

func (im *imports) nodes(s *scope, list []*proto.Node) error {
	for _, n := range list {
		if err := im.ctx.Err(); err != nil {
			return context.Cause(im.ctx)
		}
		if err := im.countNode(); err != nil {
			return err
		}
		im.ordinal++
		im.b.At(ir.Pos{Source: im.model.name, Line: im.ordinal})
		if err := im.node(s, n); err != nil {
			return err
		}
	}
	return nil
}

// node imports one node and defines its outputs.
func (im *imports) node(s *scope, n *proto.Node) error {
	c := &call{Builder: formula.Builder{B: im.b, Budget: &im.budget}, imports: im, node: n, scope: s, opset: opsetOf(s.opsets, n.Domain)}
	for _, name := range n.Inputs {
		v := s.lookup(name)
		if v == nil && name != "" {
			return fmt.Errorf("%s reads %q, which no earlier node defines", describe(n), name)
		}
		c.in = append(c.in, v)
	}
	if len(n.Outputs) == 0 {
		return fmt.Errorf("%s has no outputs", describe(n))
	}
	c.out = make([]*value, len(n.Outputs))
	if err := c.importNode(); err != nil {
		return fmt.Errorf("%s: %w", describe(n), err)
	}
	for i, name := range n.Outputs {
		if name == "" {
			continue
		}
		if c.out[i] == nil {
			return fmt.Errorf("%s: output %d, %q, is not supported", describe(n), i, name)
		}
		if u := c.out[i].computed; u != nil && im.origin[u] == "" {
			im.b.Name(u, im.names.New(name))
		}
		if err := s.define(name, c.out[i]); err != nil {
			return fmt.Errorf("%s: output %w", describe(n), err)
		}
	}
	return nil
}

// materialise makes a value a part of the program.
func (im *imports) materialise(v *value) (*ir.Value, error) {
	if v.computed == nil {
		u, err := im.b.Const(v.known)
		if err != nil {
			return nil, err
		}
		v.computed = u
	}
	return v.computed, nil
}

// compareShapes notes where the file's own shapes are not those inferred, which
// hold.
func (im *imports) compareShapes(s *scope, list []*proto.ValueInfo) {
	for _, info := range list {
		v := s.values[info.Name]
		if v == nil || v.missing || info.Type == nil || !info.Type.HasShape {
			continue
		}
		shape := v.shape()
		declared := make([]string, len(info.Type.Dims))
		same := len(declared) == len(shape)
		for i, d := range info.Type.Dims {
			declared[i] = importer.Dim{Fixed: d.Known, Size: int(d.Value), Symbol: d.Param}.String()
			same = same && (!d.Known || int(d.Value) == shape[i])
		}
		if !same {
			im.note("%s: the file says [%s], its nodes give %s", info.Name, strings.Join(declared, ","), tensor.FormatShape(shape))
		}
	}
}

func (v *value) shape() []int {
	if v.known != nil {
		return v.known.Shape()
	}
	return v.computed.Spec.Shape
}

func (v *value) dtype() tensor.DType {
	if v.known != nil {
		return v.known.DType()
	}
	return v.computed.Spec.DType
}
