package ir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"forgekernel/forge/tensor"
)

// Builder makes a graph in definition order. Each step infers and checks
// specs, so that a mistake is reported where it is made; a failed step leaves
// the graph as it was.
type Builder struct {
	ops   *Registry
	g     *Graph
	names map[string]bool
	next  int // the next number for an unnamed value
	pos   Pos
}

// NewBuilder starts an empty graph.
func NewBuilder(ops *Registry, name string) *Builder {
	return &Builder{ops: ops, g: &Graph{Name: name}, names: make(map[string]bool)}
}

// At sets the source position of the inputs and nodes added from now on.
func (b *Builder) At(p Pos) { b.pos = p }

// Input adds a graph input. Names are identifiers and unique.
func (b *Builder) Input(name string, spec Spec) (*Value, error) {
	if err := spec.Check(); err != nil {
		return nil, fmt.Errorf("input %s: %w", name, err)
	}
	if !isIdent(name) {
		return nil, fmt.Errorf("input name %q is not an identifier", name)
	}
	if b.names[name] {
		return nil, fmt.Errorf("input %s is declared twice", name)
	}
	b.names[name] = true
	v := &Value{Name: name, Spec: spec.Clone(), InputPos: b.pos}
	b.g.Inputs = append(b.g.Inputs, v)
	return v, nil
}

// Apply adds a node with one result and returns the result. The error names
// the operator and the operands with their specs.
func (b *Builder) Apply(op string, attrs Attrs, in ...*Value) (*Value, error) {
	out, err := b.ApplyN(op, attrs, in...)
	if err != nil {
		return nil, err
	}
	if len(out) != 1 {
		return nil, fmt.Errorf("%s has %d results where one is needed", op, len(out))
	}
	return out[0], nil
}

// ApplyN adds a node and returns its results.
func (b *Builder) ApplyN(name string, attrs Attrs, in ...*Value) ([]*Value, error) {
	op, err := b.ops.Lookup(name)
	if err != nil {
		return nil, err
	}
	if op.PassOnly {
		return nil, fmt.Errorf("%s is made by compiler passes and cannot be applied by a program", name)
	}
	n, err := NewNode(op, attrs, in...)
	if err != nil {
		return nil, err
	}
	if b.pos.IsKnown() {
		n.Pos = []Pos{b.pos}
	}
	for _, v := range n.Out {
		v.Name = b.fresh()
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return n.Out, nil
}

// Const adds a constant with a copy of t.
func (b *Builder) Const(t *tensor.Tensor) (*Value, error) {
	return b.Apply("const", Attrs{"value": t})
}

// SharedConst adds a constant that is t itself, which must not change any more. All
// graphs with it share the elements, and so do the programs made from them.
func (b *Builder) SharedConst(t *tensor.Tensor) (*Value, error) {
	return b.Apply("const", Attrs{"value": given{t}})
}

// Scalar adds a rank-0 constant.
func (b *Builder) Scalar(dtype tensor.DType, v float64) (*Value, error) {
	t, err := tensor.Full(dtype, v)
	if err != nil {
		return nil, err
	}
	return b.Const(t)
}

// Name gives an unnamed value the name of the variable it is assigned to, made
// unique by a suffix. A value that has a name keeps it.
func (b *Builder) Name(v *Value, name string) {
	if v.Def == nil || !isNumber(v.Name) || !isIdent(name) {
		return
	}
	unique := name
	for i := 1; b.names[unique]; i++ {
		unique = name + "_" + strconv.Itoa(i)
	}
	delete(b.names, v.Name)
	b.names[unique] = true
	v.Name = unique
}

// Finish sets the outputs, verifies the graph and returns it. The builder must
// not be used afterwards.
func (b *Builder) Finish(outputs ...*Value) (*Graph, error) {
	if len(outputs) == 0 {
		return nil, errors.New("a graph needs at least one output")
	}
	b.g.Outputs = append([]*Value(nil), outputs...)
	if err := Verify(b.g); err != nil {
		return nil, err
	}
	return b.g, nil
}

func (b *Builder) fresh() string {
	for {
		name := strconv.Itoa(b.next)
		b.next++
		if !b.names[name] {
			b.names[name] = true
			return name
		}
	}
}

// NewNode makes a node whose results have the inferred specs and no names yet.
// Attributes are normalised as [Attrs] describes and canonical.
func NewNode(op *Op, attrs Attrs, in ...*Value) (*Node, error) {
	n := &Node{Op: op, In: append([]*Value(nil), in...), Attrs: normaliseAttrs(op, attrs)}
	specs, err := n.Infer()
	if err != nil {
		return nil, err
	}
	n.Canonicalise()
	for _, s := range specs {
		n.Out = append(n.Out, &Value{Spec: s, Def: n})
	}
	return n, nil
}

// Infer checks operands and attributes and computes the specs of the results.
func (n *Node) Infer() ([]Spec, error) {
	for i, v := range n.In {
		if v == nil {
			return nil, fmt.Errorf("%s: operand %d is missing", n.Op.Name, i)
		}
	}
	specs, err := n.infer()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.signature(), err)
	}
	return specs, nil
}

func (n *Node) infer() ([]Spec, error) {
	if err := n.checkArity(); err != nil {
		return nil, err
	}
	if err := checkAttrs(n.Op, n.Attrs); err != nil {
		return nil, err
	}
	device, err := n.device()
	if err != nil {
		return nil, err
	}
	specs, err := n.Op.Infer(n)
	if err != nil {
		return nil, err
	}
	for i := range specs {
		if specs[i].Device == CPU {
			specs[i].Device = device
		}
		if err := specs[i].Check(); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
	}
	return specs, nil
}

func (n *Node) checkArity() error {
	most, have := len(n.Op.Operands), len(n.In)
	least := most - n.Op.Optional
	if n.Op.Variadic {
		least = most - 1
	}
	switch {
	case n.Op.Variadic && have < least:
		return fmt.Errorf("takes at least %d operands, got %d", least, have)
	case n.Op.Variadic || least <= have && have <= most:
		return nil
	case least < most:
		return fmt.Errorf("takes %d to %d operands, got %d", least, most, have)
	}
	return fmt.Errorf("takes %d operands, got %d", most, have)
}

// signature writes "matmul(%x: f32[8,16], %w: f32[12,16])" for messages.
func (n *Node) signature() string {
	var b strings.Builder
	b.WriteString(n.Op.Name)
	b.WriteByte('(')
	for i, v := range n.In {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.String() + ": " + v.Spec.String())
	}
	b.WriteByte(')')
	return b.String()
}

func isIdent(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
