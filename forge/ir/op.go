package ir

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forgekernel/forge/tensor"
)

// Class groups operators by how they move data. Passes decide by it, and
// graph drawings colour by it.
type Class uint8

// Operator classes.
const (
	Constant    Class = iota // no operands
	Elementwise              // each output element from the elements at its (broadcast) index
	Contraction              // sums of products: matmul, convolution, attention
	Reduction                // fewer output elements than input elements
	Normalise                // softmax and the like: a reduction and an elementwise part
	Movement                 // the same elements elsewhere
	Fused                    // made by passes
	State                    // a cache that the program threads through: its next state
	Transfer                 // exchanges elements with other ranks
)

var classNames = [...]string{"constant", "elementwise", "contraction", "reduction", "normalise", "movement", "fused", "state", "transfer"}

// String is the class name in lower case.
func (c Class) String() string { return classNames[c] }

// Op is one operator: everything a stage may ask of it, as data.
type Op struct {
	Name  string
	Doc   string // one sentence
	Class Class
	// Operands names the operands, for messages and documentation.
	Operands []string
	// Types says which element types the operands may have, for documentation.
	Types string
	// Optional is how many of the last operands may be left out.
	Optional int
	// Variadic lets the last operand name stand for any number of operands.
	Variadic bool
	// Attrs is the whitelist of attributes.
	Attrs []AttrDecl
	// View says that every result is a window on the elements of operand 0, so
	// that it can share its storage. Layout then says where; see [Node.Layouts].
	View   bool
	Layout func(n *Node, in Layout) ([]Layout, bool)
	// Donates says that the single result may take the storage of the first
	// operand. Neither that operand nor a view of it may be read afterwards, so
	// that updating a cache in place keeps the meaning of a copy.
	Donates bool
	// Effect says that other ranks observe the evaluation. Such a node stays
	// although nothing reads its result, is neither folded nor merged with an
	// equal one, and keeps its place among the nodes with an effect.
	Effect bool
	// Scratch is the number of bytes that one thread of the kernel needs beside
	// operands and results, where that grows with their shapes; nil for none.
	Scratch func(n *Node) int64
	// PassOnly operators are made by passes and cannot be applied by a program.
	PassOnly bool
	// Infer computes the result specs from the operand specs and attributes
	// (already checked against the whitelist). Its errors need not name the
	// operator or the operands; the caller adds both.
	// The operands are on one device, and results without a device are put
	// there.
	Infer func(n *Node) ([]Spec, error)
	// Canonical rewrites attributes that Infer accepts to the one form that
	// graphs hold, such as axes counted from the front, so that equal nodes have
	// equal attributes. It changes nothing in n. Nil means that the attributes
	// have one form only.
	Canonical func(n *Node) Attrs
	// Scalar is the meaning on vectors of elements, for elementwise operators
	// only.
	Scalar Scalar
	// Eval computes the node on host tensors. The arithmetic is that of the
	// tensors' type: f32 with the project's own elementary functions, f64 with
	// those of package math. Operators on f16 and bf16 compute in f32 and round
	// once, when they store a result.
	Eval  func(c *Call) error
	FLOPs FLOPs
}

// FLOPs is how an operator counts its floating-point operations.
type FLOPs struct {
	Doc string // "2 per output and k"
	Of  func(n *Node) int64
}

// Call is one evaluation of a node.
type Call struct {
	// Ctx ends the evaluation; kernels check it at least every few
	// milliseconds of work.
	Ctx context.Context
	// Node supplies attributes and body. Shapes and element types come from
	// the tensors.
	Node *Node
	// Wide makes this a reference evaluation: every floating-point tensor, of
	// whatever type in the graph, is f64.
	Wide bool
	In   []*tensor.Tensor
	// Out holds allocated tensors to fill. Their previous content is undefined.
	Out []*tensor.Tensor
	// Workers is the number of goroutines that a kernel may use, at least 1.
	Workers int
}

// DType is the element type that a value of the given declared type has in this
// evaluation.
func (c *Call) DType(declared tensor.DType) tensor.DType {
	if c.Wide && declared.IsFloat() {
		return tensor.F64
	}
	return declared
}

// Cost is the work of a node or graph.
type Cost struct {
	FLOPs int64
	Bytes int64 // unique operand bytes plus result bytes; views are free
}

// Cost returns the work of the node.
func (n *Node) Cost() Cost {
	c := Cost{FLOPs: n.Op.FLOPs.Of(n)}
	if n.Op.View || n.Op.Class == Constant {
		return c
	}
	for i, v := range n.In {
		if !slices.Contains(n.In[:i], v) {
			c.Bytes += v.Spec.Bytes()
		}
	}
	for _, v := range n.Out {
		c.Bytes += v.Spec.Bytes()
	}
	return c
}

// Cost is the sum over all nodes.
func (g *Graph) Cost() Cost {
	var sum Cost
	for _, n := range g.Nodes {
		c := n.Cost()
		sum.FLOPs += c.FLOPs
		sum.Bytes += c.Bytes
	}
	return sum
}

// Registry is a set of operators by name.
type Registry struct{ ops map[string]*Op }

// NewRegistry makes a set of operators. It panics on a duplicate or
// incomplete declaration, which is a programming error found at start-up.
func NewRegistry(ops ...*Op) *Registry {
	r := &Registry{ops: make(map[string]*Op)}
	for _, op := range ops {
		if op.Name == "" || op.Doc == "" || op.Infer == nil || op.Eval == nil || op.FLOPs.Of == nil {
			panic(fmt.Sprintf("ir: incomplete operator %q", op.Name))
		}
		if r.ops[op.Name] != nil {
			panic(fmt.Sprintf("ir: operator %q registered twice", op.Name))
		}
		if (op.Class == Elementwise) != (op.Scalar != nil) {
			panic(fmt.Sprintf("ir: operator %q must be elementwise exactly when it has scalar kernels", op.Name))
		}
		if op.View != (op.Layout != nil) {
			panic(fmt.Sprintf("ir: operator %q must be a view exactly when it has layouts", op.Name))
		}
		r.ops[op.Name] = op
	}
	return r
}

// Lookup returns the operator of that name, or an error that lists those with
// similar names.
func (r *Registry) Lookup(name string) (*Op, error) {
	if op := r.ops[name]; op != nil {
		return op, nil
	}
	var near []string
	for known := range r.ops {
		if len(name) > 1 && (strings.HasPrefix(known, name[:2]) || strings.Contains(known, name) || strings.Contains(name, known)) {
			near = append(near, known)
		}
	}
	if len(near) == 0 {
		return nil, fmt.Errorf("there is no operator %q", name)
	}
	slices.Sort(near)
	return nil, fmt.Errorf("there is no operator %q; similar: %s", name, strings.Join(near, ", "))
}

// All returns the operators sorted by name.
func (r *Registry) All() []*Op {
	return slices.SortedFunc(maps.Values(r.ops), func(a, b *Op) int { return strings.Compare(a.Name, b.Name) })
}
