package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// testOps are the operators of the product and some that show a planner what it
// has to cope with: kernels with several results, views of parts, and donation.
var testOps = ir.NewRegistry(slices.Concat(op.Registry.All(), []*ir.Op{
	{
		Name: "t_mix", Doc: "A kernel of any operands.", Class: ir.Contraction, Operands: []string{"x"}, Variadic: true,
		Attrs: []ir.AttrDecl{{Name: "shape", Kind: ir.IntsAttr, Required: true}, {Name: "dtype", Kind: ir.StringAttr, Required: true}},
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			dtype, _ := tensor.ParseDType(n.Str("dtype"))
			return []ir.Spec{{DType: dtype, Shape: toInts(n.Ints("shape"))}}, nil
		},
		Eval: mix, FLOPs: free, Scratch: func(n *ir.Node) int64 { return n.Out[0].Spec.Bytes() / 2 },
	},
	{
		Name: "t_two", Doc: "A kernel with two results like its operand.", Class: ir.Reduction, Operands: []string{"x"},
		Infer: func(n *ir.Node) ([]ir.Spec, error) { return []ir.Spec{n.In[0].Spec, n.In[0].Spec}, nil },
		Eval:  mix, FLOPs: free,
	},
	{
		Name: "t_halves", Doc: "The two halves of the first dimension.", Class: ir.Movement, View: true, Operands: []string{"x"},
		Infer: func(n *ir.Node) ([]ir.Spec, error) {
			s := n.In[0].Spec.Clone()
			if s.Rank() == 0 || s.Shape[0]%2 != 0 {
				return nil, fmt.Errorf("cannot halve %v", s)
			}
			s.Shape[0] /= 2
			return []ir.Spec{s, s.Clone()}, nil
		},
		Layout: func(n *ir.Node, x ir.Layout) ([]ir.Layout, bool) {
			half := ir.Layout{Offset: x.Offset + n.Out[0].Spec.Shape[0]*x.Strides[0], Strides: x.Strides}
			return []ir.Layout{x, half}, true
		},
		Eval: func(c *ir.Call) error {
			for i := range c.Out[0].Len() {
				c.Out[0].SetElem(i, c.In[0].Elem(i))
				c.Out[1].SetElem(i, c.In[0].Elem(c.Out[0].Len()+i))
			}
			return nil
		},
		FLOPs: free,
	},
	{
		Name: "t_append", Doc: "Writes into the first element of a cache.", Class: ir.Movement, Operands: []string{"cache", "x"}, Donates: true,
		Infer: func(n *ir.Node) ([]ir.Spec, error) { return []ir.Spec{n.In[0].Spec}, nil },
		Eval: func(c *ir.Call) error {
			if err := tensor.Copy(c.Out[0], c.In[0]); err != nil || c.Out[0].Len() == 0 {
				return err
			}
			c.Out[0].SetElem(0, sum(c.In[1:]))
			return nil
		},
		FLOPs: free,
	},
})...)

var free = ir.FLOPs{Doc: "0", Of: func(*ir.Node) int64 { return 0 }}

func toInts(list []int64) []int {
	out := make([]int, len(list))
	for i, x := range list {
		out[i] = int(x)
	}
	return out
}

// mix fills each result with numbers that depend on every operand element.
func mix(c *ir.Call) error {
	total := sum(c.In)
	for j, t := range c.Out {
		for i := range t.Len() {
			t.SetElem(i, float64(int64(total+float64(7*i+j))%101))
		}
	}
	return nil
}

// sum adds numbers that are small and whole, so that order does not matter; a
// NaN, which poison makes, stays.
func sum(list []*tensor.Tensor) float64 {
	var s float64
	for j, t := range list {
		for i := range t.Len() {
			s += float64((i+j)%5+1) * t.Elem(i)
		}
	}
	return s
}

// generator makes random well-formed graphs.
type generator struct {
	*rand.Rand
	types  []string // of kernel results
	b      *ir.Builder
	values []*ir.Value
	dead   map[*ir.Value]bool // donated, or views of it
	family map[*ir.Value]*ir.Value
}

var randomShapes = [][]int{{}, {2}, {16}, {4, 16}, {2, 4, 8}, {0, 3}, {32}, {2, 32}, {128}, {4, 4}}

// randomGraph makes the graph of a seed; those of even seeds have values of one
// type only.
func randomGraph(seed uint64, size int) *ir.Graph {
	r := &generator{
		Rand: rand.New(rand.NewPCG(seed, 77)), b: ir.NewBuilder(testOps, "random"),
		dead: make(map[*ir.Value]bool), family: make(map[*ir.Value]*ir.Value),
	}
	r.types = []string{"f32", "f32", "f32", "f64", "i64", "bool"}
	if seed%2 == 0 {
		r.types = r.types[:1]
	}
	for i := range 1 + r.IntN(3) {
		v, err := r.b.Input(fmt.Sprintf("in%d", i), ir.F32(randomShapes[r.IntN(len(randomShapes))]...))
		if err != nil {
			panic(err)
		}
		r.keep(v)
	}
	for range size {
		r.step()
	}
	var outs []*ir.Value
	for _, v := range r.values {
		if !r.dead[v] && (r.IntN(size) < 2 || v == r.values[len(r.values)-1]) {
			outs = append(outs, v)
		}
	}
	if len(outs) == 0 {
		outs = append(outs, r.pick())
	}
	g, err := r.b.Finish(outs...)
	if err != nil {
		panic(err)
	}
	return g
}

func (r *generator) keep(list ...*ir.Value) {
	for _, v := range list {
		r.values = append(r.values, v)
		root := v
		if v.Def != nil && v.Def.Op.View {
			root = r.family[v.Def.In[0]]
		}
		r.family[v] = root
	}
}

// pick chooses a value that may be read, often a recent one. If there is none,
// it makes one.
func (r *generator) pick() *ir.Value {
	for range 20 {
		i := r.IntN(len(r.values))
		if r.IntN(2) == 0 {
			i = max(i, len(r.values)-1-r.IntN(4))
		}
		if v := r.values[i]; !r.dead[v] {
			return v
		}
	}
	r.apply("t_mix", ir.Attrs{"shape": []int{16}, "dtype": "f32"})
	return r.values[len(r.values)-1]
}

// apply adds a node if its operands fit.
func (r *generator) apply(name string, attrs ir.Attrs, in ...*ir.Value) {
	out, err := r.b.ApplyN(name, attrs, in...)
	if err == nil {
		r.keep(out...)
	}
}

func (r *generator) step() {
	x := r.pick()
	switch r.IntN(12) {
	case 0, 1, 2:
		r.apply("t_mix", ir.Attrs{
			"shape": randomShapes[r.IntN(len(randomShapes))],
			"dtype": r.types[r.IntN(len(r.types))],
		}, []*ir.Value{x, r.pick(), r.pick()}[:1+r.IntN(3)]...)
	case 3:
		r.apply("relu", nil, x)
	case 4:
		r.apply("maximum", nil, x, r.pick())
	case 5:
		r.apply("transpose", nil, x)
		r.apply("maximum", nil, x, r.values[len(r.values)-1])
	case 6:
		r.apply("reshape", ir.Attrs{"shape": [][]int{{-1}, {2, -1}, {-1, 4}, {4, 2, -1}}[r.IntN(4)]}, x)
	case 7:
		r.apply("transpose", nil, x)
	case 8:
		r.apply("t_halves", nil, x)
	case 9:
		r.apply("t_two", nil, x)
	case 10:
		r.apply("const", ir.Attrs{"value": tensor.Scalar(tensor.F32, float64(r.IntN(9)))})
	case 11:
		r.append(x, r.pick())
	}
}

// append donates a value, after which neither it nor what shares its storage may
// be read.
func (r *generator) append(cache, x *ir.Value) {
	if r.family[cache] == r.family[x] || r.family[cache].Def != nil && r.family[cache].Def.Op.Class == ir.Constant {
		return
	}
	before := len(r.values)
	r.apply("t_append", nil, cache, x)
	if len(r.values) == before {
		return
	}
	for _, v := range r.values[:before] {
		if r.family[v] == r.family[cache] {
			r.dead[v] = true
		}
	}
}
