// Package suite holds the models that the compiler is measured and checked with:
// feed-forward layers of three sizes with and without a residual path, a
// transformer block, a fusion of images and text, and blocks of GPT-2's and
// Llama's kind. They are built as graphs whose parameters are constants, from
// numbers that depend on the name of the parameter alone.
//
// What the compiler makes of each model is recorded in testdata, and package
// replay shows what a change of the compiler altered.
package suite

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/replay"
	"forgekernel/forge/tensor"
)

// Model is one entry of the suite.
type Model struct {
	Name string
	Doc  string // one sentence
	// Parameters is the number of elements of all weights.
	Parameters int64
	build      func(b *builder) *ir.Value
}

var models = []Model{
	mlp(8, 64, 128), mlp(32, 128, 256), mlp(64, 256, 512),
	residual(8, 64, 128), residual(32, 128, 256), residual(64, 256, 512),
	{"transformer_block_4x24x128", "A pre-norm transformer block: 4 sequences of 24 tokens of 128 channels, 8 causal heads, 256 channels in the feed-forward layer.", 132_480, transformerBlock(blockSize{batch: 4, tokens: 24, width: 128, heads: 8, hidden: 256})},
	{"vision_text_fusion_4x32_16", "Four images of 3x32x32 and 16 tokens each, joined and classified.", 27_018, visionTextFusion},
	{"gpt2_small_block", "A block of GPT-2 small over 64 tokens: 768 channels, 12 causal heads, 3072 channels in the feed-forward layer.", 7_087_872, transformerBlock(blockSize{batch: 1, tokens: 64, width: 768, heads: 12, hidden: 3072})},
	{"llama_block", "A block of Llama's kind over 32 tokens: RMS norms, rotary positions, 8 query heads over 2 key heads, SwiGLU.", 692_736, llamaBlock},
}

// Names lists the models in the order in which they are reported.
func Names() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return names
}

// Lookup returns the entry of a model.
func Lookup(name string) (Model, error) {
	for _, m := range models {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("there is no model %q; the models are %s", name, strings.Join(Names(), ", "))
}

// Build makes the graph of a model, as a program gives it: nothing is fused.
// Equal names give equal graphs. The large blocks hold up to 27 MiB of weights.
func Build(name string) (*ir.Graph, error) { return BuildIn(name, tensor.F32) }

// BuildIn is Build with another type of floats in place of f32: the graph has it in its
// name, and its parameters are those of f32, rounded.
func BuildIn(name string, d tensor.DType) (*ir.Graph, error) {
	if !d.IsFloat() {
		return nil, fmt.Errorf("models of the suite compute with floats, not with %v", d)
	}
	m, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if d != tensor.F32 {
		m.Name += "_" + d.String()
	}
	b := &builder{Builder: ir.NewBuilder(op.Registry, m.Name), dtype: d}
	out := m.build(b)
	if b.err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, b.err)
	}
	return b.Finish(out)
}

// Inputs makes inputs for a graph: standard normal numbers, and for integers the
// numbers from 0 to vocabulary-1, the same for equal seeds.
func Inputs(g *ir.Graph, seed uint64) ([]*tensor.Tensor, error) {
	list := make([]*tensor.Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		t, err := tensor.Randn(seed+uint64(i), v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		if v.Spec.DType.IsFloat() {
			t, err = t.Convert(v.Spec.DType)
		} else {
			t, err = tokens(t, v.Spec.DType)
		}
		if err != nil {
			return nil, err
		}
		list[i] = t
	}
	return list, nil
}

// tokens turns random numbers into indices of the vocabulary.
func tokens(t *tensor.Tensor, dtype tensor.DType) (*tensor.Tensor, error) {
	out, err := tensor.Zeros(dtype, t.Shape()...)
	if err != nil {
		return nil, err
	}
	for i := range t.Len() {
		out.SetElem(i, math.Floor(math.Mod(math.Abs(t.Elem(i))*1000, vocabulary)))
	}
	return out, nil
}

// builder adds nodes until the first error and remembers that.
type builder struct {
	*ir.Builder
	dtype tensor.DType // of floats
	err   error
}

func (b *builder) input(name string, spec ir.Spec) *ir.Value {
	if b.err != nil {
		return nil
	}
	if spec.DType == tensor.F32 {
		spec.DType = b.dtype
	}
	v, err := b.Input(name, spec)
	b.err = err
	return v
}

// node applies an operator. Operands that are nil are left out.
func (b *builder) node(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	if b.err != nil {
		return nil
	}
	v, err := b.Apply(name, attrs, in...)
	b.err = err
	return v
}

// named is node with a name for the result.
func (b *builder) named(result, op string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v := b.node(op, attrs, in...)
	if b.err == nil {
		b.Name(v, result)
	}
	return v
}

// weight is a parameter with mean 0 and the given standard deviation.
func (b *builder) weight(name string, deviation float64, shape ...int) *ir.Value {
	return b.parameter(name, 0, deviation, shape)
}

// scale is a parameter near 1, as norms have.
func (b *builder) scale(name string, n int) *ir.Value { return b.parameter(name, 1, 0.1, []int{n}) }

// parameter adds a constant of uniformly distributed numbers. They are made
// without elementary functions and without a product that could be fused with a
// sum, so that every machine makes the same bits.
func (b *builder) parameter(name string, mean, deviation float64, shape []int) *ir.Value {
	if b.err != nil {
		return nil
	}
	seed := fnv.New64a()
	seed.Write([]byte(name))
	t, err := tensor.Rand(seed.Sum64(), shape...)
	if err != nil {
		b.err = err
		return nil
	}
	reach := math.Sqrt(3) * deviation
	for i, x := range t.Float32() {
		t.Float32()[i] = float32(mean + float64(float64(x)*reach))
	}
	if t, err = t.Convert(b.dtype); err != nil {
		b.err = err
		return nil
	}
	v, err := b.Const(t)
	if b.err = err; err == nil {
		b.Name(v, name)
	}
	return v
}

// linear is x @ w + bias from in to out channels.
func (b *builder) linear(name string, x *ir.Value, in, out int) *ir.Value {
	w := b.weight(name+"_w", 1/math.Sqrt(float64(in)), in, out)
	return b.named(name, "linear", nil, x, w, b.weight(name+"_b", 0.1, out))
}

func (b *builder) geluTanh(name string, x *ir.Value) *ir.Value {
	return b.named(name, "gelu", ir.Attrs{"approximate": "tanh"}, x)
}

func (b *builder) layerNorm(name string, x *ir.Value, width int) *ir.Value {
	return b.named(name, "layer_norm", nil, x, b.scale(name+"_scale", width), b.weight(name+"_shift", 0.1, width))
}

// Records compiles every model and records what comes out at each stage.
func Records() ([]*replay.Record, error) {
	var list []*replay.Record
	for _, name := range Names() {
		g, err := Build(name)
		if err != nil {
			return nil, err
		}
		r, err := replay.Take(g, pass.Options{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Optimised is a model as the passes leave it, with inputs that are the same each time.
func Optimised(name string) (*ir.Graph, []*tensor.Tensor, error) {
	g, err := Build(name)
	if err != nil {
		return nil, nil, err
	}
	r, err := pass.Run(g, pass.Options{})
	if err != nil {
		return nil, nil, err
	}
	in, err := Inputs(r.Graph, 1)
	return r.Graph, in, err
}
