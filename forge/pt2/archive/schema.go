package archive

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Major is the version of the schema that is read. Minor versions add fields, which
// are ignored when they are unknown.
const Major = 8

// Program is an exported program.
type Program struct {
	Module  Module           `json:"graph_module"`
	Ranges  map[string]Range `json:"range_constraints"`
	Schema  Version          `json:"schema_version"`
	Torch   string           `json:"torch_version"`
	Dialect []string         `json:"verifiers"` // TRAINING, or EDGE, ATEN and the like
}

// Version is the version of the schema.
type Version struct{ Major, Minor int }

// Range bounds a symbol; a bound that is nil is absent.
type Range struct {
	Min *int64 `json:"min_val"`
	Max *int64 `json:"max_val"`
}

// Module is a graph with what its inputs and outputs are.
type Module struct {
	Graph     *Graph    `json:"graph"`
	Signature Signature `json:"signature"`
}

// Graph is a list of nodes in order. All values have names.
type Graph struct {
	Inputs   []Argument        `json:"inputs"`
	Outputs  []Argument        `json:"outputs"`
	Nodes    []*Node           `json:"nodes"`
	Tensors  map[string]*Meta  `json:"tensor_values"`
	Integers map[string]SymInt `json:"sym_int_values"`
}

// Node is the call of an operator. Arguments that have their default are left out.
type Node struct {
	Target   string            `json:"target"`
	Inputs   []NamedArgument   `json:"inputs"`
	Outputs  []Argument        `json:"outputs"`
	Metadata map[string]string `json:"metadata"`
	Name     string            `json:"name"`
}

// NamedArgument has the name of the parameter in the operator's schema.
type NamedArgument struct {
	Name     string   `json:"name"`
	Argument Argument `json:"arg"`
}

// Meta is what PyTorch knows of a tensor.
type Meta struct {
	DType   ScalarType `json:"dtype"`
	Sizes   []SymInt   `json:"sizes"`
	Strides []SymInt   `json:"strides"`
	Offset  SymInt     `json:"storage_offset"`
	Layout  int        `json:"layout"`
}

// Strided is the only layout that is supported.
const Strided = 7

// SymInt is an integer or an expression of symbols.
type SymInt struct {
	Int  int64
	Expr string // empty for an integer
}

// UnmarshalJSON reads a union of the schema.
func (s *SymInt) UnmarshalJSON(raw []byte) error {
	kind, body, err := union(raw)
	if err != nil {
		return err
	}
	switch kind {
	case "as_int":
		return json.Unmarshal(body, &s.Int)
	case "as_expr":
		var e struct {
			Text string `json:"expr_str"`
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return err
		}
		if s.Expr = e.Text; e.Text == "" {
			return errors.New("an expression is empty")
		}
		return nil
	}
	return fmt.Errorf("%q is no kind of size", kind)
}

// union is the one entry of an object.
func union(raw []byte) (kind string, body json.RawMessage, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", nil, err
	}
	if len(m) != 1 {
		return "", nil, fmt.Errorf("a union has %d entries instead of one", len(m))
	}
	for kind, body = range m {
	}
	return kind, body, nil
}

// Signature tells what the inputs and outputs of the graph are, in their order.
type Signature struct {
	Inputs  []InputSpec  `json:"input_specs"`
	Outputs []OutputSpec `json:"output_specs"`
}

// InputSpec tells what an input is: user_input, parameter, buffer, tensor_constant,
// constant_input or something that is not supported.
type InputSpec struct {
	Kind       string
	Target     string // the qualified name of a tensor
	Persistent bool   // of a buffer: it is kept with the parameters
	Name       string // of a constant input
	Value      Argument
}

// UnmarshalJSON reads a union of the schema.
func (s *InputSpec) UnmarshalJSON(raw []byte) error {
	kind, body, err := union(raw)
	if err != nil {
		return err
	}
	s.Kind = kind
	var f struct {
		Parameter  string   `json:"parameter_name"`
		Buffer     string   `json:"buffer_name"`
		Constant   string   `json:"tensor_constant_name"`
		Persistent bool     `json:"persistent"`
		Name       string   `json:"name"`
		Value      Argument `json:"value"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return err
	}
	s.Target = f.Parameter + f.Buffer + f.Constant // of which a kind has one
	s.Persistent, s.Name, s.Value = f.Persistent, f.Name, f.Value
	return nil
}

// OutputSpec tells what an output is: user_output, or a change of the module that
// takes place when the program runs.
type OutputSpec struct {
	Kind   string
	Target string // what is changed
}

// UnmarshalJSON reads a union of the schema.
func (s *OutputSpec) UnmarshalJSON(raw []byte) error {
	kind, body, err := union(raw)
	if err != nil {
		return err
	}
	s.Kind = kind
	var f struct {
		Parameter string `json:"parameter_name"`
		Buffer    string `json:"buffer_name"`
		Input     string `json:"user_input_name"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return err
	}
	s.Target = f.Parameter + f.Buffer + f.Input
	return nil
}

func (a *Archive) readProgram() error {
	name := "models/" + a.Model + ".json"
	p := &Program{}
	if err := a.readJSON(name, p, func() error {
		if p.Schema.Major == 0 {
			return errors.New("it names no version of its schema")
		}
		if p.Schema.Major != Major {
			return fmt.Errorf("version %d.%d of the schema is not supported; %d is: %s", p.Schema.Major, p.Schema.Minor, Major, again)
		}
		return nil
	}); err != nil {
		return err
	}
	g := p.Module.Graph
	if g == nil {
		return fmt.Errorf("%s: there is no graph", name)
	}
	if len(g.Inputs) != len(p.Module.Signature.Inputs) || len(g.Outputs) != len(p.Module.Signature.Outputs) {
		return fmt.Errorf("%s: the graph has %d inputs and %d outputs, its signature %d and %d", name,
			len(g.Inputs), len(g.Outputs), len(p.Module.Signature.Inputs), len(p.Module.Signature.Outputs))
	}
	a.Program = p
	return checkGraph(g)
}

// checkGraph refuses nodes and tensors that are null, and graphs that are too deep.
func checkGraph(g *Graph) error {
	for i, n := range g.Nodes {
		if n == nil {
			return fmt.Errorf("node %d is null", i)
		}
		for k := range n.Inputs {
			if body := n.Inputs[k].Argument.Body; body != nil {
				if err := checkGraph(body); err != nil {
					return err
				}
			}
		}
	}
	for name, m := range g.Tensors {
		if m == nil {
			return fmt.Errorf("tensor value %q is null", name)
		}
	}
	return nil
}

// readJSON reads a record. Its version is read first, since another one may have
// fields of other types.
func (a *Archive) readJSON(name string, p *Program, check func() error) error {
	raw := a.records[name]
	if err := checkJSON(raw); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var version struct {
		Schema *Version `json:"schema_version"`
	}
	version.Schema = &p.Schema
	if err := json.Unmarshal(raw, &version); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := check(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(raw, p); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// MaxDepth bounds brackets within brackets of JSON: a union is read once more for each.
const MaxDepth = 128

func checkJSON(raw []byte) error {
	if len(raw) > MaxJSON {
		return fmt.Errorf("it has %d bytes; %d are supported", len(raw), MaxJSON)
	}
	depth, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("byte %d: brackets are nested more than %d deep", i, MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
