package importer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer"
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/pt2"
	"forgekernel/forge/tensor"
)

// models holds one GPT and one CNN in every form that is read, with PyTorch's results.
// Package pt2 has the script that wrote them.
const models = "../pt2/testdata"

func arrays(t *testing.T, name string) map[string]*tensor.Tensor {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(models, name+".npz"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := tensor.ReadNPZ(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]*tensor.Tensor)
	for _, n := range list {
		m[n.Name] = n.Tensor
	}
	return m
}

// written is a model as the builder of graphs writes it, with the weights of the file.
type written struct {
	formula.Builder
	t       *testing.T
	weights map[string]*tensor.Tensor
}

func (w *written) weight(name string) *ir.Value {
	t := w.weights["w_"+name]
	if t == nil {
		w.t.Fatalf("there is no weight %s", name)
	}
	return w.Constant(t, nil)
}

// linear has its weight as PyTorch does, [out, in].
func (w *written) linear(name string, x *ir.Value) *ir.Value {
	return w.Op("linear", nil, x, w.Swap(w.weight(name+".weight"), 0, 1), w.weight(name+".bias"))
}

func (w *written) norm(name string, x *ir.Value) *ir.Value {
	return w.Op("layer_norm", nil, x, w.weight(name+".weight"), w.weight(name+".bias"))
}

func (w *written) heads(x *ir.Value) *ir.Value {
	s := x.Spec.Shape
	return w.Swap(w.Reshape(x, s[0], s[1], 2, s[2]/2), 1, 2)
}

func (w *written) block(name string, x *ir.Value) *ir.Value {
	s := x.Spec.Shape
	parts := w.Ops("split", ir.Attrs{"axis": -1, "sizes": []int64{8, 8, 8}}, w.linear(name+".qkv", w.norm(name+".norm1", x)))
	a := w.Op("sdpa", ir.Attrs{"causal": true}, w.heads(parts[0]), w.heads(parts[1]), w.heads(parts[2]))
	x = w.Add(x, w.linear(name+".proj", w.Reshape(w.Swap(a, 1, 2), s...)))
	h := w.Op("gelu", ir.Attrs{"approximate": "tanh"}, w.linear(name+".up", w.norm(name+".norm2", x)))
	return w.Add(x, w.linear(name+".down", h))
}

func (w *written) gpt(ids *ir.Value) *ir.Value {
	embed := w.weight("embed.weight")
	x := w.Add(w.Op("gather", nil, embed, ids), w.weight("place.weight"))
	x = w.block("blocks.1", w.block("blocks.0", x))
	return w.Op("matmul", nil, w.norm("norm", x), w.Swap(embed, 0, 1))
}

// batchNorm is a factor and a term for each channel.
func (w *written) batchNorm(name string, x *ir.Value) *ir.Value {
	factor := w.Div(w.weight(name+".weight"), w.Op("sqrt", nil, w.Shift(w.weight(name+".running_var"), 1e-5)))
	term := w.Sub(w.weight(name+".bias"), w.Mul(w.weight(name+".running_mean"), factor))
	n := x.Spec.Shape[1]
	return w.Add(w.Mul(x, w.Reshape(factor, n, 1, 1)), w.Reshape(term, n, 1, 1))
}

func (w *written) cnn(x *ir.Value) *ir.Value {
	one := []int64{1, 1, 1, 1}
	x = w.Op("conv2d", ir.Attrs{"stride": []int64{2, 2}, "padding": one}, x, w.weight("conv1.weight"))
	x = w.Op("max_pool2d", ir.Attrs{"kernel": []int64{2, 2}}, w.Op("relu", nil, w.batchNorm("norm1", x)))
	x = w.Op("conv2d", ir.Attrs{"padding": one, "groups": 2}, x, w.weight("conv2.weight"), w.weight("conv2.bias"))
	x = w.Op("relu", nil, w.batchNorm("norm2", x))
	x = w.Op("mean", ir.Attrs{"axes": []int64{2, 3}, "keepdims": true}, x)
	return w.linear("head", w.Reshape(x, x.Spec.Shape[:2]...))
}

// graphs are a model by front end, before the passes.
func graphs(t *testing.T, name, input string, build func(w *written, in *ir.Value) *ir.Value) map[string]*ir.Graph {
	values := arrays(t, name)
	in := values["in_"+input]
	b := ir.NewBuilder(op.Registry, name)
	w := &written{formula.Builder{B: b}, t, values}
	x, err := b.Input(input, ir.Spec{DType: in.DType(), Shape: in.Shape()})
	if err != nil {
		t.Fatal(err)
	}
	var out *ir.Value
	if err := formula.Try(func() { out = build(w, x) }); err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*ir.Graph{"builder": g}
	o, err := onnx.Open(filepath.Join(models, name+".onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for form, m := range map[string]importer.Model{"onnx": o, "pt2": openGzip(t, name), "pt2 decomposed": openGzip(t, name+".core")} {
		p, err := m.Graph(context.Background(), importer.Binding{Shapes: map[string][]int{input: in.Shape()}})
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		all[form] = p.Graph
	}
	return all
}

func openGzip(t *testing.T, name string) *pt2.Model {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(models, name+".pt2.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	m, err := pt2.Read(name, raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// One model is one program, whatever it was written in: the same number of nodes of
// each operator, and PyTorch's results. The builder, ONNX, and .pt2 as exported and after
// run_decompositions all end alike. ForgeScript cannot say all of it: what it writes
// instead is counted, and the CNN, for which it has no convolution, is not in it.
func TestFrontEndsMeet(t *testing.T) {
	for _, m := range []struct {
		name, input string
		build       func(w *written, in *ir.Value) *ir.Value
		scripted    map[string]int // nodes that ForgeScript has more, or fewer
	}{
		{"gpt", "ids", (*written).gpt, map[string]int{
			"gather": -1, "matmul": 1, // tokens are rows of an identity matrix
			"split": -2, "narrow": 6, // of the projections that a pass has joined
			"fused": 2, // a GELU that is written out
		}},
		{"cnn", "x", (*written).cnn, nil},
	} {
		t.Run(m.name, func(t *testing.T) {
			values := arrays(t, m.name)
			all := graphs(t, m.name, m.input, m.build)
			if m.scripted != nil {
				all["ForgeScript"] = scripted(t, values)
			}
			var want map[string]int
			for _, form := range []string{"builder", "onnx", "pt2", "pt2 decomposed", "ForgeScript"} {
				if all[form] == nil {
					continue
				}
				r, err := pass.Run(all[form], pass.Options{})
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				got := operators(r.Graph)
				t.Logf("%s: %d nodes before, %d after: %v", form, pass.Summarise(all[form]).Nodes, pass.Summarise(r.Graph).Nodes, got)
				if want == nil {
					want = got
				}
				in := values["in_"+m.input]
				if form == "ForgeScript" {
					in = oneHot(t, in, 16)
					subtract(got, m.scripted)
				}
				if !maps.Equal(got, want) {
					t.Errorf("%s has the operators %v; the builder %v", form, got, want)
				}
				compareResult(t, form, r.Graph, in, values["out_0"])
			}
		})
	}
}

// subtract takes counts away from others.
func subtract(from, counts map[string]int) {
	for name, n := range counts {
		if from[name] -= n; from[name] == 0 {
			delete(from, name)
		}
	}
}

// operators counts the nodes of each operator, those of constants left out.
func operators(g *ir.Graph) map[string]int {
	count := make(map[string]int)
	for _, n := range g.Nodes {
		if n.Op.Class != ir.Constant {
			count[n.Op.Name]++
		}
	}
	return count
}

func compareResult(t *testing.T, form string, g *ir.Graph, in, want *tensor.Tensor) {
	t.Helper()
	x, err := interp.New().Compile(context.Background(), g)
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	got, err := x.Run(context.Background(), in)
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	d, err := tensor.Compare(got[0], want)
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	if !(d.MaxAbs <= 1e-5) {
		t.Errorf("%s: results differ by %g from PyTorch's", form, d.MaxAbs)
	}
}
