// Package onnx imports ONNX models.
//
// [Open] reads a file, which package proto decodes without copying its weights.
// [Model.Graph] imports it for one binding of its open dimensions: every node is
// handed to its operator's import function ([operators]), which builds IR with
// static shapes. ONNX.md lists the operators.
//
// # What is known while importing
//
// A value is either computed by the program or known: an initializer, a constant,
// a shape, or what follows from known values alone, which is evaluated at once
// (up to [MaxFold] bytes). Operands that act as attributes, the shape of a
// Reshape or the axes of a reduction, must be known. One that comes from an input
// of the graph becomes known when the binding has a value for that input: then the
// value is a part of the program, and the program says so. An If on a known
// condition is replaced by its branch, and functions of the model by their bodies.
//
// # Element types
//
// Integers of fewer than 32 bits and unsigned ones are held in a larger type. A value
// keeps the type that the file gives it: arithmetic and casts wrap around there, and
// quantising saturates. Sums of products of 8-bit numbers are computed in floats in
// which they are exact.
//
// # Files that are not trusted
//
// Every operand, rank and attribute is checked where it is read, by methods of call
// that end the import of the node with an error. What an import may cost is bounded
// by the limits beside [MaxNodes], whatever sizes a file names; external data stays in
// the model's folder. All nodes that are not supported are named in one error, and an
// operand that an import function does not ask for is such an error, too.
//
// Provenance: the position of an IR node is the file and the ordinal, from 1, of
// the ONNX node that it implements.
package onnx

import (
	"fmt"
	"path/filepath"
	"slices"

	"forgekernel/forge/importer"
	"forgekernel/forge/mapped"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// Versions of the default operator set that are understood.
const (
	MinOpset = 1
	MaxOpset = 24
)

// Model is an opened file.
type Model struct {
	name    string
	file    *mapped.File
	proto   *proto.Model
	files   *externalFiles
	inputs  []importer.Input
	outputs []string
}

var _ importer.Model = (*Model)(nil)

// Open maps and decodes a file.
func Open(path string) (*Model, error) {
	file, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := newModel(filepath.Base(path), file.Bytes(), &externalFiles{folder: filepath.Dir(path)})
	if err != nil {
		file.Close()
		return nil, brief(fmt.Errorf("%s: %w", path, err))
	}
	m.file = file
	return m, nil
}

// Read decodes a model in memory, which has no external data.
func Read(name string, raw []byte) (*Model, error) {
	m, err := newModel(name, raw, &externalFiles{})
	if err != nil {
		return nil, brief(fmt.Errorf("%s: %w", name, err))
	}
	return m, nil
}

func newModel(name string, raw []byte, files *externalFiles) (*Model, error) {
	p, err := proto.Decode(raw)
	if err != nil {
		return nil, err
	}
	m := &Model{name: name, proto: p, files: files}
	if err := checkDeclarations(p); err != nil {
		return nil, err
	}
	switch v := m.opset(""); {
	case v == 0:
		return nil, fmt.Errorf("the model names no version of the default operator set")
	case v < MinOpset || v > MaxOpset:
		return nil, fmt.Errorf("operator set %d is not supported; versions %d to %d are", v, MinOpset, MaxOpset)
	}
	if p.Graph.Sparse > 0 {
		return nil, fmt.Errorf("sparse initializers are not supported")
	}
	return m, m.declare()
}

// checkDeclarations finds what is declared twice, or too often.
func checkDeclarations(p *proto.Model) error {
	if err := checkOpsets(p.Opsets); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, f := range p.Functions {
		key := functionKey(f.Domain, f.Name, f.Overload)
		if seen[key] {
			return fmt.Errorf("the function %s.%s is defined twice", f.Domain, f.Name)
		}
		seen[key] = true
		if err := checkOpsets(f.Opsets); err != nil {
			return fmt.Errorf("function %s.%s: %w", f.Domain, f.Name, err)
		}
	}
	if len(p.Graph.Inputs) > MaxInputs {
		return fmt.Errorf("there are %d inputs; at most %d are supported", len(p.Graph.Inputs), MaxInputs)
	}
	return nil
}

func checkOpsets(list []proto.Opset) error {
	if len(list) > MaxOpsets {
		return fmt.Errorf("%d operator sets are named; at most %d are supported", len(list), MaxOpsets)
	}
	seen := make(map[string]bool)
	for _, o := range list {
		if seen[o.Domain] {
			return fmt.Errorf("the operator set of domain %q is named twice", o.Domain)
		}
		seen[o.Domain] = true
	}
	return nil
}

// declare reads the signature. An initializer may stand among the inputs as well;
// it is then a default, and no input here.
func (m *Model) declare() error {
	initial := make(map[string]bool)
	for _, t := range m.proto.Graph.Initializers {
		if initial[t.Name] {
			return fmt.Errorf("the initializer %q occurs twice", t.Name)
		}
		initial[t.Name] = true
	}
	seen := make(map[string]bool)
	for _, v := range m.proto.Graph.Inputs {
		if initial[v.Name] {
			continue
		}
		if seen[v.Name] {
			return fmt.Errorf("the input %q occurs twice", v.Name)
		}
		seen[v.Name] = true
		in, err := declareInput(v)
		if err != nil {
			return fmt.Errorf("input %q: %w", v.Name, err)
		}
		m.inputs = append(m.inputs, in)
	}
	for _, v := range m.proto.Graph.Outputs {
		m.outputs = append(m.outputs, v.Name)
	}
	if len(m.outputs) == 0 {
		return fmt.Errorf("the graph has no outputs")
	}
	return nil
}

func declareInput(v *proto.ValueInfo) (importer.Input, error) {
	in := importer.Input{Name: v.Name}
	if v.Type == nil {
		return in, fmt.Errorf("it has no type")
	}
	if v.Type.Kind != "tensor" {
		return in, fmt.Errorf("it is a %s; only tensors are supported", v.Type.Kind)
	}
	var err error
	if in.DType, err = dtypeOf(v.Type.Elem); err != nil {
		return in, err
	}
	in.Source = v.Type.Elem.String()
	in.Ranked = v.Type.HasShape
	if len(v.Type.Dims) > tensor.MaxRank {
		return in, fmt.Errorf("it has rank %d; the limit is %d", len(v.Type.Dims), tensor.MaxRank)
	}
	for _, d := range v.Type.Dims {
		if d.Known && (d.Value < 0 || d.Value > 1<<31-1) {
			return in, fmt.Errorf("%d is no dimension", d.Value)
		}
		in.Dims = append(in.Dims, importer.Dim{Fixed: d.Known, Size: int(d.Value), Symbol: d.Param})
	}
	return in, nil
}

// opset is the version of a domain that the model imports, or 0.
func (m *Model) opset(domain string) int64 { return opsetOf(m.proto.Opsets, domain) }

func opsetOf(list []proto.Opset, domain string) int64 {
	for _, o := range list {
		if o.Domain == domain {
			return o.Version
		}
	}
	return 0
}

// Name is the base name of the file.
func (m *Model) Name() string { return m.name }

// Format tells operator set and writer.
func (m *Model) Format() string {
	text := fmt.Sprintf("ONNX, operator set %d", m.opset(""))
	if m.proto.Producer != "" {
		text += ", written by " + m.proto.Producer
	}
	return text
}

// Inputs are the inputs of the graph that have no default.
func (m *Model) Inputs() []importer.Input { return slices.Clone(m.inputs) }

// Outputs names the results.
func (m *Model) Outputs() []string { return slices.Clone(m.outputs) }

// Close unmaps the file and those beside it. It must not run beside Graph.
func (m *Model) Close() error {
	err := m.files.close()
	if m.file != nil {
		if e := m.file.Close(); err == nil {
			err = e
		}
		m.file = nil
	}
	m.proto = &proto.Model{Graph: &proto.Graph{}}
	return err
}

// describe names a node for messages.
func describe(n *proto.Node) string {
	op := n.Op
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	if n.Name != "" {
		return fmt.Sprintf("%s %q", op, n.Name)
	}
	if len(n.Outputs) > 0 {
		return fmt.Sprintf("%s -> %q", op, n.Outputs[0])
	}
	return op
}
