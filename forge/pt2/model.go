// Package pt2 imports programs that torch.export.save of PyTorch wrote (.pt2).
//
// [Open] maps a file, which package archive reads in place and checks. [Model.Graph]
// imports the program for one binding of its open sizes: every node is handed to the
// import function of its target (targets), as "aten.linear.default", which builds IR
// with static shapes. Programs are read as torch.export wrote them and after
// run_decompositions.
//
// # What is known while importing
//
// A value is a tensor or a number. Numbers, which are sizes and what is computed of
// them, are always known: the shapes of the inputs settle the symbols that sizes are
// written in, and package symbolic evaluates the rest. A number that a run computes
// from a tensor is known when that tensor is; an input that it is computed from is
// bound to its value, and the program says so. A tensor is computed by the program
// or known: a weight, a constant, or what follows from known ones alone, which is
// evaluated at once (up to [MaxFold] bytes and [MaxFoldFLOPs]). Weights that are one tensor under
// several names are one constant.
//
// # What changes in its place
//
// Programs that were not decomposed may change tensors, as ReLU(inplace=True) does. The
// result of such an operator is imported as that of its pure twin; reading the operand,
// or a view of either, afterwards is an error, and so is a change of an input or a
// weight. Integers of fewer bits than they are held in wrap as their own type does.
//
// # What is checked
//
// Symbols must lie in the ranges of the file. PyTorch's own shape and element type of
// every tensor is compared with what the import gives: a difference is an error, never
// a reason to believe either. An argument that an import function does not read must
// have a value that changes nothing. Programs that change their buffers or inputs are
// refused.
//
// Provenance: the position of an IR node is the line of Python that called the
// operator, outside of PyTorch itself; without one, it is the file and the ordinal,
// from 1, of the node.
package pt2

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/forge/importer"
	"forgekernel/forge/mapped"
	"forgekernel/forge/pt2/archive"
	"forgekernel/forge/pt2/symbolic"
	"forgekernel/forge/tensor"
)

// Model is an opened file.
type Model struct {
	name    string
	file    *mapped.File
	archive *archive.Archive
	exprs   map[string]*symbolic.Expr // by text
	inputs  []input
	outputs []string
}

// input is an input of the program that a caller gives.
type input struct {
	importer.Input
	number bool             // a Python number, as a tensor without dimensions
	sizes  []*symbolic.Expr // of open dimensions; nil for fixed ones
	symbol string           // of a number
	exact  bool             // held as it is stored
}

var _ importer.Model = (*Model)(nil)

// Open maps and reads a file.
func Open(path string) (*Model, error) {
	file, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := newModel(filepath.Base(path), file.Bytes())
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.file = file
	return m, nil
}

// Read reads a model in memory.
func Read(name string, raw []byte) (*Model, error) {
	m, err := newModel(name, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func newModel(name string, raw []byte) (*Model, error) {
	a, err := archive.Read(raw)
	if err != nil {
		return nil, err
	}
	m := &Model{name: name, archive: a, exprs: make(map[string]*symbolic.Expr)}
	if err := m.parseSizes(a.Program.Module.Graph, 0); err != nil {
		return nil, err
	}
	for text := range a.Program.Ranges {
		if m.exprs[text], err = symbolic.Parse(text); err != nil {
			return nil, fmt.Errorf("range of %q: %w", text, err)
		}
	}
	if err := m.declareInputs(); err != nil {
		return nil, err
	}
	return m, m.declareOutputs()
}

// parseSizes reads every expression of a graph, and of those within it, once.
func (m *Model) parseSizes(g *archive.Graph, depth int) error {
	if depth > MaxNesting {
		return fmt.Errorf("graphs are nested more than %d deep", MaxNesting)
	}
	for name, t := range g.Tensors {
		for _, s := range t.Sizes {
			if err := m.parseSize(s); err != nil {
				return fmt.Errorf("size of %q: %w", name, err)
			}
		}
	}
	for name, s := range g.Integers {
		if err := m.parseSize(s); err != nil {
			return fmt.Errorf("value of %q: %w", name, err)
		}
	}
	for _, n := range g.Nodes {
		for i := range n.Inputs {
			if body := n.Inputs[i].Argument.Body; body != nil {
				if err := m.parseSizes(body, depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *Model) parseSize(s archive.SymInt) error {
	if s.Expr == "" || m.exprs[s.Expr] != nil {
		return nil
	}
	e, err := symbolic.Parse(s.Expr)
	if err != nil {
		return err
	}
	m.exprs[s.Expr] = e
	return nil
}

func (m *Model) declareInputs() error {
	p := m.archive.Program.Module
	for i, spec := range p.Signature.Inputs {
		switch spec.Kind {
		case "parameter", "buffer", "tensor_constant", "constant_input":
			continue
		case "user_input":
		default:
			return fmt.Errorf("input %d is a %s, which is not supported", i, spec.Kind)
		}
		a := &p.Graph.Inputs[i]
		in, err := m.declareInput(p.Graph, a)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if in == nil {
			continue
		}
		if slices.ContainsFunc(m.inputs, func(other input) bool { return other.Name == in.Name }) {
			return fmt.Errorf("the input %q occurs twice", in.Name)
		}
		m.inputs = append(m.inputs, *in)
	}
	return nil
}

// declareInput declares a tensor or a number; a constant in the place of an input is
// none.
func (m *Model) declareInput(g *archive.Graph, a *archive.Argument) (*input, error) {
	switch a.Kind {
	case "as_tensor":
		return m.declareTensor(g, a.Names[0])
	case "as_sym_int":
		in := &input{number: true, exact: true}
		in.Input = importer.Input{Name: a.Ints[0].Name, DType: tensor.I64, Source: "int", Ranked: true}
		if e := m.exprs[g.Integers[in.Name].Expr]; e != nil {
			in.symbol, _ = e.Symbol()
		}
		return in, nil
	case "as_none", "as_int", "as_float", "as_bool", "as_string":
		return nil, nil
	}
	return nil, fmt.Errorf("a value of kind %s is not supported", a.Kind)
}

func (m *Model) declareTensor(g *archive.Graph, name string) (*input, error) {
	meta := g.Tensors[name]
	if meta == nil {
		return nil, fmt.Errorf("the file does not say what tensor %q is", name)
	}
	if !meta.DType.Supported() {
		return nil, fmt.Errorf("%q: elements of type %v are not supported", name, meta.DType)
	}
	if meta.Layout != archive.Strided {
		return nil, fmt.Errorf("%q: layout %d is not supported; strided tensors are", name, meta.Layout)
	}
	in := &input{exact: meta.DType.Exact()}
	in.Input = importer.Input{Name: name, DType: meta.DType.Held(), Source: meta.DType.String(), Ranked: true}
	for _, s := range meta.Sizes {
		d := importer.Dim{Size: int(s.Int), Fixed: s.Expr == ""}
		e := m.exprs[s.Expr]
		if e != nil {
			d.Symbol = e.String()
			d.Max = m.most(d.Symbol)
		}
		if s.Int < 0 || s.Int > tensor.MaxElements {
			return nil, fmt.Errorf("%q: %d is no size", name, s.Int)
		}
		in.Dims, in.sizes = append(in.Dims, d), append(in.sizes, e)
	}
	return in, nil
}

// most is the upper bound of a size in the ranges of the file, or 0.
func (m *Model) most(symbol string) int {
	for text, r := range m.archive.Program.Ranges {
		if m.exprs[text].String() == symbol && r.Max != nil && *r.Max > 0 && *r.Max <= tensor.MaxElements {
			return int(*r.Max)
		}
	}
	return 0
}

// declareOutputs names the results, and refuses programs that do more than give
// them.
func (m *Model) declareOutputs() error {
	p := m.archive.Program.Module
	var changes []string
	for i, spec := range p.Signature.Outputs {
		switch a := &p.Graph.Outputs[i]; spec.Kind {
		case "user_output":
			if !a.None() {
				m.outputs = append(m.outputs, m.outputName(a, i))
			}
		case "buffer_mutation", "parameter_mutation", "user_input_mutation":
			changes = append(changes, spec.Target)
		default:
			return fmt.Errorf("output %d is a %s, which is not supported: export a model that is not trained", i, spec.Kind)
		}
	}
	if len(changes) > 0 {
		more := ""
		if len(changes) > 5 {
			more = fmt.Sprintf(" and %d more", len(changes)-5)
			changes = changes[:5]
		}
		return fmt.Errorf("the program changes %s%s when it runs; programs here are pure: export after model.eval(), or return the new values as results", strings.Join(changes, ", "), more)
	}
	if len(m.outputs) == 0 {
		return fmt.Errorf("the program has no results")
	}
	return nil
}

// outputName is the name of the value, made unique, since a program may give one
// value twice.
func (m *Model) outputName(a *archive.Argument, i int) string {
	name := a.Value()
	if name == "" {
		name = fmt.Sprintf("output_%d", i)
	}
	unique := name
	for n := 2; slices.Contains(m.outputs, unique); n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	return unique
}

// Name is the base name of the file.
func (m *Model) Name() string { return m.name }

// Format tells the version of the schema and of PyTorch.
func (m *Model) Format() string {
	p := m.archive.Program
	text := fmt.Sprintf("torch.export, schema %d.%d", p.Schema.Major, p.Schema.Minor)
	if p.Torch != "" {
		text += ", written by PyTorch " + p.Torch
	}
	return text
}

// Inputs are what a caller gives. Parameters and buffers are none.
func (m *Model) Inputs() []importer.Input {
	list := make([]importer.Input, len(m.inputs))
	for i, in := range m.inputs {
		list[i] = in.Input
		list[i].Dims = slices.Clone(in.Dims)
	}
	return list
}

// Outputs names the results.
func (m *Model) Outputs() []string { return slices.Clone(m.outputs) }

// Close unmaps the file. It must not run beside Graph.
func (m *Model) Close() error {
	m.archive = nil
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}
