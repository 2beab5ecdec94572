package conformance

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// opCase is one node: an operator applied to operands of given shapes.
type opCase struct {
	op     *ir.Op
	dtype  tensor.DType
	shapes [][]int
	types  []tensor.DType  // of the operands, where they differ from dtype
	only   tensor.DType    // the one type that the case is for; Invalid for every one
	below  int             // index operands hold 0 to below-1
	given  map[int][]int64 // the elements of integer operands, where they matter
	calm   []int           // operands that hold ordinary numbers also in adversarial data
	attrs  ir.Attrs
	seed   uint64
	body   string // of a fused case: a program for the same inputs
}

// typeOf is the element type of operand i.
func (c *opCase) typeOf(i int) tensor.DType {
	if i < len(c.types) && c.types[i] != tensor.Invalid {
		return c.types[i]
	}
	return c.dtype
}

// String names the case in messages.
func (c *opCase) String() string {
	s := fmt.Sprintf("%s %v", c.op.Name, c.dtype)
	for _, shape := range c.shapes {
		s += " " + tensor.FormatShape(shape)
	}
	for name, v := range c.attrs {
		if name != "value" {
			s += fmt.Sprintf(" %s=%v", name, v)
		}
	}
	return s
}

// Shape classes: scalar, empty, one element, shorter and longer than a vector,
// longer than any block of a kernel, several dimensions, the largest rank.
var shapes = [][]int{{}, {0}, {1}, {7}, {3, 5}, {2, 0, 3}, {2, 3, 4}, {1031}, {130, 70}, {1, 2, 1, 2, 1, 2, 1, 3}}

// broadcasts are pairs of different shapes.
var broadcasts = [][2][]int{
	{{}, {7}}, {{3, 5}, {}}, {{3, 5}, {5}}, {{3, 1}, {1, 5}}, {{5}, {3, 1}}, {{2, 3, 4}, {3, 1}}, {{2, 1, 4}, {3, 4}},
	{{1, 1, 1}, {2}}, {{0}, {1}}, {{3, 0}, {3, 1}}, {{33, 65}, {65}}, {{33, 65}, {33, 1}}, {{4, 1, 5, 1}, {3, 1, 7}},
	{{2, 1, 2, 1, 2, 1, 2, 1}, {2, 1, 2, 1, 2, 1, 2}},
}

// matrices are operand shapes of matmul: single elements, vectors as matrices,
// empty sums and results, odd sizes, batches, broadcast batches.
var matrices = [][2][]int{
	{{1, 1}, {1, 1}}, {{1, 7}, {7, 1}}, {{7, 1}, {1, 7}}, {{3, 0}, {0, 4}}, {{0, 3}, {3, 4}}, {{3, 4}, {4, 0}},
	{{8, 16}, {16, 12}}, {{33, 65}, {65, 31}}, {{5, 3, 4}, {5, 4, 2}}, {{5, 3, 4}, {4, 2}}, {{3, 4}, {5, 4, 2}},
	{{2, 1, 3, 4}, {3, 4, 2}}, {{1, 5, 3, 4}, {2, 1, 4, 2}}, {{0, 3, 4}, {4, 2}}, {{4, 300}, {300, 9}}, {{2, 5}, {5, 2100}},
}

// casesOf yields the cases of an operator in each element type it computes in.
func casesOf(o *ir.Op) func(yield func(*opCase) bool) {
	return func(yield func(*opCase) bool) {
		seed := uint64(1)
		for _, dtype := range typesOf(o) {
			for _, c := range fullCases(o) {
				if c.only != tensor.Invalid && c.only != dtype {
					continue
				}
				c.op, c.dtype, c.seed = o, dtype, seed
				seed += 10
				if !yield(&c) {
					return
				}
			}
		}
	}
}

// fullCases gives operands together with attributes.
func fullCases(o *ir.Op) []opCase {
	for _, list := range []map[string]func() []opCase{specialCases, networkCases} {
		if make := list[o.Name]; make != nil {
			return make()
		}
	}
	var cases []opCase
	for _, c := range operandCases(o) {
		for _, attrs := range attrCases(o, c.shapes) {
			c.attrs = attrs
			cases = append(cases, c)
		}
	}
	return cases
}

func operandCases(o *ir.Op) []opCase {
	var cases []opCase
	pairs := func(list [][2][]int) {
		for _, p := range list {
			cases = append(cases, opCase{shapes: [][]int{p[0], p[1]}})
		}
	}
	switch {
	case o.Class == ir.Fused:
		for _, p := range broadcasts {
			cases = append(cases, opCase{shapes: [][]int{p[0], p[1], p[0]}, body: fusedProgram})
		}
	case o.Class == ir.Contraction:
		pairs(matrices)
	case len(o.Operands) == 2:
		for _, s := range shapes {
			pairs([][2][]int{{s, s}})
		}
		pairs(broadcasts)
		for _, p := range broadcasts {
			pairs([][2][]int{{p[1], p[0]}})
		}
	default:
		for _, s := range shapes {
			cases = append(cases, opCase{shapes: [][]int{s}})
		}
	}
	return cases
}

// fusedProgram is what the fused cases compute of inputs a, b and c.
const fusedProgram = "maximum(a+b, c) * c"

// attrCases gives the attributes to try on operands of the given shapes.
func attrCases(o *ir.Op, operands [][]int) []ir.Attrs {
	x := operands[0]
	rank := len(x)
	var list []ir.Attrs
	switch o.Name {
	case "sum", "mean", "max", "min", "prod":
		for _, keep := range []bool{false, true} {
			list = append(list, ir.Attrs{"keepdims": keep}, ir.Attrs{"keepdims": keep, "axes": []int{}})
			for axis := -rank; axis < rank; axis++ {
				list = append(list, ir.Attrs{"keepdims": keep, "axes": []int{axis}})
			}
			if rank > 2 {
				list = append(list, ir.Attrs{"keepdims": keep, "axes": []int{0, rank - 1}})
			}
		}
		if o.Name == "max" || o.Name == "min" {
			list = nonEmptyReductions(list, x)
		}
	case "softmax", "log_softmax":
		for axis := -rank; axis < rank; axis++ {
			list = append(list, ir.Attrs{"axis": axis})
		}
	case "gelu":
		list = []ir.Attrs{{"approximate": "none"}, {"approximate": "tanh"}}
	case "reshape":
		list = []ir.Attrs{{"shape": append([]int{1}, x[:min(rank, 7)]...)}}
		if rank == 8 {
			list = []ir.Attrs{{"shape": []int{2, 2, 6}}}
		}
		if n, err := tensor.Elements(x); err == nil && n > 0 {
			list = append(list, ir.Attrs{"shape": []int{-1}}, ir.Attrs{"shape": []int{n, 1}})
		}
	case "transpose":
		list = []ir.Attrs{nil}
		for shift := range rank {
			perm := make([]int, rank)
			for i := range perm {
				perm[i] = (i+shift)%rank - i%2*rank
			}
			list = append(list, ir.Attrs{"perm": perm})
		}
	case "const":
		list = []ir.Attrs{nil} // the value comes with the data
	default:
		list = []ir.Attrs{nil}
	}
	return list
}

// nonEmptyReductions drops reductions over a dimension of length 0, which have
// no maximum.
func nonEmptyReductions(list []ir.Attrs, shape []int) []ir.Attrs {
	var kept []ir.Attrs
	for _, a := range list {
		axes, given := a["axes"].([]int)
		empty := false
		for i, d := range shape {
			reduced := !given
			for _, axis := range axes {
				reduced = reduced || axis == i || axis+len(shape) == i
			}
			empty = empty || reduced && d == 0
		}
		if !empty {
			kept = append(kept, a)
		}
	}
	return kept
}

// graph builds the program of a case.
func (c *opCase) graph() (*ir.Graph, error) {
	b := ir.NewBuilder(op.Registry, "case")
	if c.op.Class == ir.Constant {
		value, err := c.tensor(0, true)
		if err != nil {
			return nil, err
		}
		v, err := b.Const(value)
		if err != nil {
			return nil, err
		}
		return b.Finish(v)
	}
	var in []*ir.Value
	for i, shape := range c.shapes {
		v, err := b.Input(string(rune('a'+i)), ir.Spec{DType: c.typeOf(i), Shape: shape})
		if err != nil {
			return nil, err
		}
		in = append(in, v)
	}
	if c.op.Class == ir.Fused {
		return c.fusedGraph(in)
	}
	out, err := b.ApplyN(c.op.Name, c.attrs, in...)
	if err != nil {
		return nil, err
	}
	return b.Finish(out...)
}

// fusedGraph is one fused node that computes fusedProgram.
func (c *opCase) fusedGraph(in []*ir.Value) (*ir.Graph, error) {
	b := ir.NewBuilder(op.Registry, ir.BodyName)
	var scalars []*ir.Value
	for _, v := range in {
		s, err := b.Input(v.Name, ir.Spec{DType: c.dtype})
		if err != nil {
			return nil, err
		}
		scalars = append(scalars, s)
	}
	v := scalars[0]
	for _, step := range []struct {
		op  string
		arg *ir.Value
	}{{"add", scalars[1]}, {"maximum", scalars[2]}, {"mul", scalars[2]}} {
		var err error
		if v, err = b.Apply(step.op, nil, v, step.arg); err != nil {
			return nil, err
		}
	}
	body, err := b.Finish(v)
	if err != nil {
		return nil, err
	}
	n := &ir.Node{Op: c.op, In: in, Body: body}
	specs, err := n.Infer()
	if err != nil {
		return nil, err
	}
	n.Out = []*ir.Value{{Name: "out", Spec: specs[0], Def: n}}
	g := &ir.Graph{Name: "fused_case", Inputs: in, Nodes: []*ir.Node{n}, Outputs: n.Out}
	return g, ir.Verify(g)
}
