package pt2

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pt2/archive"
	"forgekernel/forge/pt2/symbolic"
	"forgekernel/forge/tensor"
)

// Limits of an import.
const (
	MaxNodes   = 1 << 18 // imported, those of nested graphs counted
	MaxNesting = 32      // of graphs
	// MaxFold bounds the results of a node that is evaluated while importing, in bytes.
	MaxFold      = 64 << 20
	MaxFoldFLOPs = 1 << 28
	// MaxListed is the number of unsupported nodes that an error names.
	MaxListed = 20
)

// Graph imports the model. An input is bound to the value that the binding has for
// it only where the program needs to know it.
func (m *Model) Graph(ctx context.Context, b importer.Binding) (*importer.Program, error) {
	if m.archive == nil {
		return nil, fmt.Errorf("%s: the model is closed", m.name)
	}
	shapes, symbols, err := m.resolve(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	p, err := importer.Bind(b.Values, func(bound map[string]string) (*importer.Program, error) {
		im := newImporter(ctx, m, bound)
		for name, v := range symbols {
			im.symbols[name] = v
		}
		return im.run(shapes, b)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	return p, nil
}

// value is what a name of the file stands for.
type value struct {
	computed *ir.Value      // by the program; nil for a known tensor that it has not used
	known    *tensor.Tensor // nil for what only a run tells
	number   *number        // of a value that is no tensor
	missing  bool           // it depends on an unsupported node
	absent   string         // why a result of a supported node is not given
	storage  *storage
	version  int // of the storage, when the value was made
}

// imports is the work of one [Model.Graph].
type imports struct {
	ctx         context.Context
	model       *Model
	b           *ir.Builder
	names       importer.Identifiers
	bound       map[string]string // inputs to bind, and what for
	origin      map[*ir.Value]string
	symbols     map[string]int64
	weights     map[string]*value // by key, so that tied ones are one
	held        int64             // bytes of the weights
	unsupported []string
	notes       []string
	ordinal     int
	depth       int
}

// scope holds the values of a graph by name.
type scope struct {
	graph  *archive.Graph
	values map[string]*value
}

func newImporter(ctx context.Context, m *Model, bound map[string]string) *imports {
	ids := importer.Identifiers{}
	im := &imports{
		ctx: ctx, model: m, names: ids, bound: bound,
		b:      ir.NewBuilder(op.Registry, ids.New(strings.TrimSuffix(m.name, ".pt2"))),
		origin: make(map[*ir.Value]string), symbols: make(map[string]int64), weights: make(map[string]*value),
	}
	clear(ids)
	return im
}

func (im *imports) run(shapes [][]int, b importer.Binding) (*importer.Program, error) {
	p := &importer.Program{Outputs: im.model.Outputs()}
	g := im.model.archive.Program.Module.Graph
	top := &scope{graph: g, values: make(map[string]*value)}
	if err := im.bindInputs(p, top, shapes, b); err != nil {
		return nil, err
	}
	if err := im.bindWeights(top); err != nil {
		return nil, err
	}
	if err := im.nodes(top); err != nil {
		return nil, err
	}
	if len(im.unsupported) > 0 {
		return nil, im.unsupportedError()
	}
	var results []*ir.Value
	for i := range g.Outputs {
		if g.Outputs[i].None() {
			im.note("result %d is None", i)
			continue
		}
		v, err := im.result(top, &g.Outputs[i])
		if err != nil {
			return nil, fmt.Errorf("result %d: %w", i, err)
		}
		results = append(results, v)
	}
	var err error
	if p.Graph, err = im.b.Finish(results...); err != nil {
		return nil, err
	}
	p.Notes = im.notes
	return p, nil
}

// bindInputs makes inputs of the graph, except of those that are bound. A number is
// always bound.
func (im *imports) bindInputs(p *importer.Program, s *scope, shapes [][]int, b importer.Binding) error {
	for i, in := range im.model.inputs {
		purpose, ok := im.bound[in.Name]
		if in.number {
			purpose, ok = "a size", true
		}
		if ok {
			v, err := im.bindValue(in, b.Values[in.Name])
			if err != nil {
				return fmt.Errorf("input %s: %w", in.Name, err)
			}
			s.values[in.Name] = v
			p.Bound = append(p.Bound, importer.Bound{Input: in.Name, Value: b.Values[in.Name], For: purpose})
			continue
		}
		v, err := im.b.Input(im.names.New(in.Name), ir.Spec{DType: in.DType, Shape: shapes[i]})
		if err != nil {
			return err
		}
		im.origin[v] = in.Name
		s.values[in.Name] = &value{computed: v, storage: &storage{outside: in.Name}}
		p.Inputs = append(p.Inputs, in.Name)
		if !in.exact {
			im.note("input %s: %s is held as %v", in.Name, in.Source, in.DType)
		}
	}
	return nil
}

func (im *imports) bindValue(in input, t *tensor.Tensor) (*value, error) {
	if t == nil {
		return nil, fmt.Errorf("it is a number that the program is compiled for: give its value")
	}
	t, err := t.Convert(in.DType)
	if err != nil || !in.number {
		return &value{known: t}, err
	}
	n := t.Int64()[0]
	if in.symbol != "" {
		if was, known := im.symbols[in.symbol]; known && was != n {
			return nil, fmt.Errorf("it is %d, and %s is %d", n, in.symbol, was)
		}
		im.symbols[in.symbol] = n
		if err := im.model.checkRanges(im.symbols); err != nil {
			return nil, err
		}
	}
	return &value{number: integer(n)}, nil
}

// bindWeights gives parameters, buffers and constants their values.
func (im *imports) bindWeights(s *scope) error {
	module := im.model.archive.Program.Module
	for i, spec := range module.Signature.Inputs {
		a := &module.Graph.Inputs[i]
		var payload *archive.Payload
		switch {
		case spec.Kind == "constant_input":
			if spec.Name != "" {
				im.note("argument %s is a constant of the file", spec.Name)
			}
			continue
		case spec.Kind == "user_input":
			continue
		case spec.Kind == "parameter" || spec.Kind == "buffer" && spec.Persistent:
			payload = im.model.archive.Weight(spec.Target)
		default:
			payload = im.model.archive.Constant(spec.Target)
		}
		if payload == nil || len(a.Names) != 1 {
			return fmt.Errorf("the archive has no tensor for the %s %q", spec.Kind, spec.Target)
		}
		v, err := im.weight(payload)
		if err != nil {
			return fmt.Errorf("%s %q: %w", spec.Kind, spec.Target, err)
		}
		if err := s.define(a.Names[0], v); err != nil {
			return fmt.Errorf("%s %q: %w", spec.Kind, spec.Target, err)
		}
		if err := im.compare(s, a.Names[0]); err != nil {
			return fmt.Errorf("%s %q: %w", spec.Kind, spec.Target, err)
		}
	}
	return nil
}

// weight is the one value of a tensor of the archive.
func (im *imports) weight(p *archive.Payload) (*value, error) {
	key := p.Key()
	if v := im.weights[key]; v != nil {
		return v, nil
	}
	if im.held += p.Bytes(); im.held > im.model.archive.Budget() {
		return nil, fmt.Errorf("the tensors of the file are larger than the file: views repeat elements too often")
	}
	t, err := p.Tensor()
	if err != nil {
		return nil, err
	}
	im.weights[key] = &value{known: t, storage: &storage{outside: "its weights"}}
	return im.weights[key], nil
}

// result is an output as a value of the program.
func (im *imports) result(s *scope, a *archive.Argument) (*ir.Value, error) {
	switch a.Kind {
	case "as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float":
		if a.Value() == "" && len(a.Ints) == 1 {
			return im.b.Const(integer(a.Ints[0].Int).tensor())
		}
		v, err := s.lookup(a.Value())
		if err != nil {
			return nil, err
		}
		return im.materialise(v)
	case "as_int":
		return im.b.Const(integer(a.Ints[0].Int).tensor())
	case "as_float":
		return im.b.Const(real(a.Reals[0]).tensor())
	case "as_bool":
		return im.b.Const(boolean(a.Flags[0]).tensor())
	}
	return nil, fmt.Errorf("a value of kind %s is not supported", a.Kind)
}

// materialise makes a value a part of the program.
func (im *imports) materialise(v *value) (*ir.Value, error) {
	switch {
	case v.number != nil:
		return im.b.Const(v.number.tensor())
	case v.computed == nil:
		u, err := im.b.Const(v.known)
		if err != nil {
			return nil, err
		}
		v.computed = u
	}
	return v.computed, nil
}

func (im *imports) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(im.notes, text) {
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

func (s *scope) define(name string, v *value) error {
	if name == "" || s.values[name] != nil {
		return fmt.Errorf("%q is defined twice", name)
	}
	s.values[name] = v
	return nil
}

func (s *scope) lookup(name string) (*value, error) {
	v := s.values[name]
	if v == nil {
		return nil, fmt.Errorf("%q is defined by no earlier node", name)
	}
	if v.absent != "" {
		return nil, fmt.Errorf("%q is not supported: %s", name, v.absent)
	}
	return v, v.storage.check(name, v.version)
}

// nodes imports the nodes of a graph.
func (im *imports) nodes(s *scope) error {
	for _, n := range s.graph.Nodes {
		if im.ctx.Err() != nil {
			return context.Cause(im.ctx)
		}
		if im.ordinal++; im.ordinal > MaxNodes {
			return fmt.Errorf("there are more than %d nodes", MaxNodes)
		}
		im.b.At(im.position(n))
		if err := im.node(s, n); err != nil {
			return fmt.Errorf("%s: %w", im.describe(n), err)
		}
	}
	return nil
}

// node imports one node and defines its results.
func (im *imports) node(s *scope, n *archive.Node) error {
	c := im.newCall(s, n)
	if err := c.importNode(); err != nil {
		return err
	}
	for i, name := range c.results {
		if name == "" {
			continue
		}
		v := c.out[i]
		if v == nil {
			v = &value{absent: fmt.Sprintf("result %d of %s", i, im.describe(n))}
		}
		if u := v.computed; u != nil && im.origin[u] == "" {
			im.b.Name(u, im.names.New(name))
		}
		c.place(v)
		if err := s.define(name, v); err != nil {
			return err
		}
		if err := im.compare(s, name); err != nil {
			return err
		}
	}
	return nil
}

// compare holds a value against what the file says of it.
func (im *imports) compare(s *scope, name string) error {
	v := s.values[name]
	switch {
	case v.missing || v.absent != "":
		return nil
	case v.number != nil:
		return im.compareNumber(s, name, v.number)
	}
	meta := s.graph.Tensors[name]
	if meta == nil {
		return fmt.Errorf("the file does not say what tensor %q is", name)
	}
	shape := make([]int, len(meta.Sizes))
	for i, size := range meta.Sizes {
		n := size.Int
		if size.Expr != "" {
			var err error
			n, err = im.model.exprs[size.Expr].Int(im.symbols)
			if unbound := new(symbolic.Unbound); errors.As(err, &unbound) {
				return nil // only a run of PyTorch tells
			}
			if err != nil {
				return fmt.Errorf("size of %q: %w", name, err)
			}
		}
		shape[i] = int(n)
	}
	if !meta.DType.Supported() || meta.DType.Held() != v.dtype() || !slices.Equal(shape, v.shape()) {
		return fmt.Errorf("%q is %v%s in the file; the import gives %v%s", name, meta.DType, tensor.FormatShape(shape), v.dtype(), tensor.FormatShape(v.shape()))
	}
	return nil
}

// compareNumber also gives a symbol of its own the value that was computed.
func (im *imports) compareNumber(s *scope, name string, v *number) error {
	e := im.model.exprs[s.graph.Integers[name].Expr]
	if e == nil || v.kind != intKind {
		return nil
	}
	if symbol, plain := e.Symbol(); plain {
		if _, known := im.symbols[symbol]; !known {
			im.symbols[symbol] = v.int
			return im.model.checkRanges(im.symbols)
		}
	}
	n, err := e.Int(im.symbols)
	if unbound := new(symbolic.Unbound); errors.As(err, &unbound) {
		return nil
	}
	if err == nil && n != v.int {
		err = fmt.Errorf("%q is %v = %d in the file; the import gives %d", name, e, n, v.int)
	}
	return err
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
