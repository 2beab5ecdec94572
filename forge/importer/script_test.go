package importer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/script"
	"forgekernel/forge/tensor"
)

// gptScript is the GPT as it is written in ForgeScript, which has no integers, no slices and one
// GELU: tokens are rows of an identity matrix, queries, keys and values have a weight each, and
// the GELU by tanh is written out.
const gptScript = `
def heads(x):
    return transpose(reshape(x, (2, 6, 2, 4)), (0, 2, 1, 3))

def block(x, mask, g1, h1, wq, wk, wv, bq, bk, bv, wp, bp, g2, h2, wu, bu, wd, bd):
    n = layer_norm(x, g1, h1)
    q = heads(n @ wq + bq)
    k = heads(n @ wk + bk)
    v = heads(n @ wv + bv)
    a = softmax(q @ transpose(k, (0, 1, 3, 2)) / 2 + mask) @ v
    x = x + (reshape(transpose(a, (0, 2, 1, 3)), (2, 6, 8)) @ wp + bp)
    u = layer_norm(x, g2, h2) @ wu + bu
    return x + (u / 2 * (1 + tanh(0.7978845608 * (u + 0.044715 * u * u * u))) @ wd + bd)

def gpt(tokens, embed, place, mask, BLOCK0, BLOCK1, g, h, head):
    x = block(block(tokens @ embed + place, mask, BLOCK0), mask, BLOCK1)
    return layer_norm(x, g, h) @ head
`

// scripted is the graph of gptScript with the weights of the file as constants. Its input is
// tokens, as [oneHot] writes them.
func scripted(t *testing.T, weights map[string]*tensor.Tensor) *ir.Graph {
	t.Helper()
	w := scriptWeights{t, weights}
	values := []*tensor.Tensor{w.tensor("embed.weight"), w.tensor("place.weight"), causalTerm(t, 6)}
	text := gptScript
	for i := range 2 {
		list := w.block(fmt.Sprintf("blocks.%d", i))
		names := make([]string, len(list))
		for k := range list {
			names[k] = fmt.Sprintf("p%d_%d", i, k)
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("BLOCK%d", i), strings.Join(names, ", "))
		values = append(values, list...)
	}
	values = append(values, w.tensor("norm.weight"), w.tensor("norm.bias"), w.matrix("embed"))
	file, err := script.Parse("gpt.fs", text, nil, script.Limits{Inputs: 64})
	if err != nil {
		t.Fatal(err)
	}
	specs := []ir.Spec{{DType: tensor.F32, Shape: []int{2, 6, 16}}}
	for _, v := range values {
		specs = append(specs, ir.Spec{DType: v.DType(), Shape: v.Shape()})
	}
	traced, err := file.Funcs[len(file.Funcs)-1].Trace(nil, specs)
	if err != nil {
		t.Fatal(err)
	}
	return bindTail(t, traced.Graph, values)
}

// bindTail makes constants of the inputs of a graph after the first.
func bindTail(t *testing.T, g *ir.Graph, values []*tensor.Tensor) *ir.Graph {
	t.Helper()
	constant, err := op.Registry.Lookup("const")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*ir.Node
	for i, in := range g.Inputs[1:] {
		n, err := ir.NewNode(constant, ir.Attrs{"value": values[i]})
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = in.Name
		nodes = append(nodes, n)
		for _, reader := range g.Nodes {
			for k, v := range reader.In {
				if v == in {
					reader.In[k] = n.Out[0]
				}
			}
		}
	}
	g.Inputs, g.Nodes = g.Inputs[:1], slices.Concat(nodes, g.Nodes)
	return g
}

// scriptWeights writes the weights of the file as ForgeScript takes them.
type scriptWeights struct {
	t      *testing.T
	values map[string]*tensor.Tensor
}

func (w scriptWeights) tensor(name string) *tensor.Tensor {
	t := w.values["w_"+name]
	if t == nil {
		w.t.Fatalf("there is no weight %s", name)
	}
	return t
}

// matrix is a weight as [in, out]; PyTorch has [out, in].
func (w scriptWeights) matrix(name string) *tensor.Tensor { return w.rows(name, 0, -1) }

// rows is the transpose of rows of a weight from one on, all of them when to is -1.
func (w scriptWeights) rows(name string, from, to int) *tensor.Tensor {
	t := w.tensor(name + ".weight")
	if to < 0 {
		to = t.Dim(0)
	}
	out, err := tensor.Zeros(tensor.F32, t.Dim(1), to-from)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range t.Dim(1) {
		for k := from; k < to; k++ {
			out.Set(t.At(k, i), i, k-from)
		}
	}
	return out
}

// block lists the weights of a block in the order of the script.
func (w scriptWeights) block(name string) []*tensor.Tensor {
	list := []*tensor.Tensor{w.tensor(name + ".norm1.weight"), w.tensor(name + ".norm1.bias")}
	for i := range 3 {
		list = append(list, w.rows(name+".qkv", 8*i, 8*i+8))
	}
	for i := range 3 {
		part, err := w.tensor(name+".qkv.bias").Window(8*i, 8)
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, part)
	}
	return append(list, w.matrix(name+".proj"), w.tensor(name+".proj.bias"), w.tensor(name+".norm2.weight"), w.tensor(name+".norm2.bias"),
		w.matrix(name+".up"), w.tensor(name+".up.bias"), w.matrix(name+".down"), w.tensor(name+".down.bias"))
}

// causalTerm is 0 for keys 0 to i of query i, and -inf for the others.
func causalTerm(t *testing.T, n int) *tensor.Tensor {
	t.Helper()
	mask, err := tensor.Zeros(tensor.F32, n, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for k := i + 1; k < n; k++ {
			mask.Set(math.Inf(-1), i, k)
		}
	}
	return mask
}

// oneHot writes tokens as rows of an identity matrix.
func oneHot(t *testing.T, ids *tensor.Tensor, n int) *tensor.Tensor {
	t.Helper()
	out, err := tensor.Zeros(tensor.F32, append(ids.Shape(), n)...)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids.Int64() {
		out.SetElem(i*n+int(id), 1)
	}
	return out
}
