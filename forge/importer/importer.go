// Package importer declares what a file that holds a model can be asked,
// whatever its format. Packages onnx and pt2 implement [Model].
//
// A file leaves sizes open, as a batch of any length, and sometimes values: where
// an input says how another is to be reshaped or sliced, it acts as an attribute
// of the program. A [Binding] settles both, and [Model.Graph] gives the program
// for it with static shapes, and tells what it has bound.
package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Model is a file that was opened and checked for being well formed.
type Model interface {
	// Name is the base name of the file.
	Name() string
	// Format tells format, version and writer in a line.
	Format() string
	// Inputs are what the program takes.
	Inputs() []Input
	// Outputs names the results in order.
	Outputs() []string
	// Operators counts the nodes by what the file calls their operators.
	Operators() map[string]int
	// Graph imports the program for a binding.
	Graph(ctx context.Context, b Binding) (*Program, error)
	// Close releases the file. Programs that were imported stay valid.
	Close() error
}

// Input is a declared input.
type Input struct {
	Name  string
	DType tensor.DType
	// Source is the file's own name of the element type, as "uint8" of what is
	// held as i32.
	Source string
	// Ranked is false when the file leaves even the rank open.
	Ranked bool
	Dims   []Dim
}

// Dim is a dimension: a length, or the name of one that is left open. Both are
// zero for an open one without a name.
type Dim struct {
	Size   int
	Symbol string
	Fixed  bool
	// Max is the largest length that an open one may have; 0 when nothing bounds it.
	Max int
}

// String is the declaration in one line, as "x: f32[batch,3,224,224]".
func (in Input) String() string {
	if !in.Ranked {
		return fmt.Sprintf("%s: %v of any shape", in.Name, in.DType)
	}
	dims := make([]string, len(in.Dims))
	for i, d := range in.Dims {
		dims[i] = d.String()
	}
	return fmt.Sprintf("%s: %v[%s]", in.Name, in.DType, strings.Join(dims, ","))
}

// String is the length, the name, or "?".
func (d Dim) String() string {
	switch {
	case d.Fixed:
		return fmt.Sprint(d.Size)
	case d.Symbol != "":
		return d.Symbol
	}
	return "?"
}

// Binding settles what a file leaves open.
type Binding struct {
	Shapes map[string][]int // of inputs, by name
	Dims   map[string]int   // of dimensions, by name
	// Values are tensors at hand for inputs, by name. One that acts as an attribute
	// is bound to its value; the others are only asked for their shapes.
	Values map[string]*tensor.Tensor
}

// Program is a model as a graph.
type Program struct {
	Graph *ir.Graph
	// Inputs and Outputs are the file's names of those of the graph, which are
	// identifiers. Bound inputs are not among them.
	Inputs, Outputs []string
	Bound           []Bound
	Notes           []string // what a reader of the results should know
}

// Bound is an input that became a part of the program.
type Bound struct {
	Input string
	Value *tensor.Tensor
	For   string // what needed it
}

// Shape settles the shape of one input. It never changes a fixed length.
func (b Binding) Shape(in Input) ([]int, error) {
	given, ok := b.Shapes[in.Name]
	if t := b.Values[in.Name]; t != nil && !ok {
		given, ok = t.Shape(), true
	}
	if !in.Ranked {
		if !ok {
			return nil, &OpenError{[]Open{{in, -1}}}
		}
		return given, nil
	}
	if ok && len(given) != len(in.Dims) {
		return nil, fmt.Errorf("input %v has rank %d; the shape given, %s, has rank %d", in, len(in.Dims), tensor.FormatShape(given), len(given))
	}
	var open []Open
	shape := make([]int, len(in.Dims))
	for i, d := range in.Dims {
		size, known := b.Dims[d.Symbol]
		known = known && d.Symbol != ""
		switch {
		case d.Fixed:
			size = d.Size
			if ok && given[i] != size {
				return nil, fmt.Errorf("input %v: dimension %d is %d in the file; the shape given has %d", in, i, size, given[i])
			}
		case ok && known && given[i] != size:
			return nil, fmt.Errorf("input %v: %s is bound to %d; the shape given has %d", in, d.Symbol, size, given[i])
		case ok:
			size = given[i]
		case !known:
			open = append(open, Open{in, i})
		}
		shape[i] = size
	}
	if open != nil {
		return nil, &OpenError{open}
	}
	return shape, nil
}

// Resolve settles the shapes of all inputs: a name has one length wherever it
// occurs, and what one input's shape says of it holds for the others. Names that
// no input has are errors.
func (b Binding) Resolve(inputs []Input) ([][]int, error) {
	if err := b.checkNames(inputs); err != nil {
		return nil, err
	}
	all := Binding{Shapes: b.Shapes, Values: b.Values, Dims: make(map[string]int)}
	for name, size := range b.Dims {
		if size < 0 {
			return nil, fmt.Errorf("dimension %s: %d is no length", name, size)
		}
		all.Dims[name] = size
	}
	for _, in := range inputs {
		given, ok := b.Shapes[in.Name]
		if t := b.Values[in.Name]; t != nil && !ok {
			given, ok = t.Shape(), true
		}
		for i, d := range in.Dims {
			if ok && len(given) == len(in.Dims) && !d.Fixed && d.Symbol != "" {
				if _, bound := all.Dims[d.Symbol]; !bound {
					all.Dims[d.Symbol] = given[i]
				}
			}
		}
	}
	shapes := make([][]int, len(inputs))
	var open []Open
	for i, in := range inputs {
		shape, err := all.Shape(in)
		if e := (*OpenError)(nil); errors.As(err, &e) {
			open = append(open, e.Open...)
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, err := tensor.Elements(shape); err != nil {
			return nil, fmt.Errorf("input %v: %w", in, err)
		}
		shapes[i] = shape
	}
	if open != nil {
		return nil, &OpenError{open}
	}
	return shapes, nil
}

func (b Binding) checkNames(inputs []Input) error {
	var names, symbols []string
	seen := make(map[string]bool)
	for _, in := range inputs {
		names = append(names, in.Name)
		for _, d := range in.Dims {
			if d.Symbol != "" && !seen[d.Symbol] {
				seen[d.Symbol] = true
				symbols = append(symbols, d.Symbol)
			}
		}
	}
	for name := range b.Shapes {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no input %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	for name := range b.Values {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no input %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	for name := range b.Dims {
		if !slices.Contains(symbols, name) {
			return fmt.Errorf("there is no open dimension %q; there are %s", name, list(symbols))
		}
	}
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Identifiers makes names of the graph out of a file's names, which may be any
// text: letters, digits and underscores stay, and equal ones get numbers.
//
// It holds, for each identifier that is taken, the number that the next equal one
// is tried with.
type Identifiers map[string]int

// New is the identifier for a name.
func (ids Identifiers) New(name string) string {
	id := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if id == "" || id[0] >= '0' && id[0] <= '9' {
		id = "_" + id
	}
	unique := id
	for ids[unique] > 0 {
		unique = fmt.Sprintf("%s_%d", id, ids[id])
		ids[id]++
	}
	ids[unique] = 2
	return unique
}
