package onnx

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// A randomNode makes models of one node: any operator, with operands and attributes
// that may not suit it.
type randomNode struct {
	*rand.Rand
	// regular models have operands that fit more often: lengths of 2, one type and
	// few attributes.
	regular bool
}

// rarely is true once in n times, and less often in regular models.
func (r randomNode) rarely(n int) bool {
	if r.regular {
		n *= 4
	}
	return r.IntN(n) == 0
}

func (r randomNode) pick(list ...int64) int64 { return list[r.IntN(len(list))] }

// integer is mostly a small number.
func (r randomNode) integer() int64 {
	if r.IntN(12) == 0 {
		return r.pick(math.MinInt64, math.MaxInt64, math.MaxInt32, -math.MaxInt32, 1<<20, 1<<33, 100)
	}
	return r.Int64N(8) - 3
}

func (r randomNode) real() float32 {
	if r.IntN(12) == 0 {
		return []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e30, -1e30, 1e-30}[r.IntN(6)]
	}
	return float32(r.IntN(9)-3) / 2
}

var (
	randomInts = []string{
		"axis", "group", "start", "end", "to", "k", "p", "size", "num_groups", "blocksize", "batch_dims", "batch_axis", "time_axis", "num_outputs",
		"keepdims", "allowzero", "antialias", "ceil_mode", "exclude_outside", "exclusive", "reverse", "fmod", "largest", "layout", "select_last_index",
		"storage_order", "training_mode", "transA", "transB", "upper", "align_corners", "count_include_pad", "noop_with_empty_axes", "dtype", "num_scan_inputs",
		"num_heads", "q_num_heads", "kv_num_heads", "is_causal", "rotary_embedding_dim", "interleaved", "broadcast", "unidirectional", "sampling_ratio",
		"output_height", "output_width", "sorted", "qk_matmul_output_mode",
	}
	randomLists = []string{
		"axes", "starts", "ends", "kernel_shape", "output_padding", "output_shape", "pads", "perm", "strides", "dilations", "split",
		"scan_input_axes", "scan_output_axes", "scan_input_directions",
	}
	randomFloats = []string{"alpha", "beta", "bias", "clip", "epsilon", "gamma", "lambd", "max", "min", "value", "cubic_coeff_a", "scale", "spatial_scale", "softcap"}
	randomTexts  = map[string][]string{
		"mode":                           {"linear", "nearest", "cubic", "bilinear", "reflect", "edge", "wrap", "constant", "CRD", "max", "avg"},
		"auto_pad":                       {"VALID", "SAME_UPPER", "SAME_LOWER", "x"},
		"direction":                      {"forward", "reverse", "bidirectional"},
		"coordinate_transformation_mode": {"asymmetric", "align_corners", "tf_crop_and_resize", "half_pixel_symmetric", "output_half_pixel"},
		"equation":                       {"ij,jk->ik", "ii->i", "...i,...i", "ij", "ж,i->i", "..", "i...j->...", "bij,bjk"},
		"nearest_mode":                   {"floor", "ceil", "round_prefer_ceil"}, "reduction": {"add", "mul", "max"}, "padding_mode": {"border", "reflection"},
		"keep_aspect_ratio_policy": {"not_larger", "not_smaller"}, "approximate": {"tanh"}, "activation": {"Relu"},
	}
)

func (r randomNode) attributes() []*proto.Attribute {
	var list []*proto.Attribute
	for _, name := range randomInts {
		if r.rarely(6) {
			list = append(list, intAttr(name, r.integer()))
		}
	}
	for _, name := range randomLists {
		if r.rarely(3) {
			v := make([]int64, r.IntN(5))
			for i := range v {
				v[i] = r.integer()
				if r.IntN(2) == 0 {
					v[i] = 1
				}
			}
			list = append(list, intsAttr(name, v...))
		}
	}
	for _, name := range randomFloats {
		if r.rarely(6) {
			list = append(list, floatAttr(name, r.real()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(randomTexts)) {
		if r.rarely(3) {
			values := randomTexts[name]
			list = append(list, textAttr(name, values[r.IntN(len(values))]))
		}
	}
	if r.IntN(4) == 0 {
		list = append(list, &proto.Attribute{Name: "scales", Type: proto.FloatsType, Floats: []float32{r.real(), r.real(), r.real(), r.real()}})
	}
	for _, name := range []string{"body", "then_branch", "else_branch"} {
		list = append(list, graphAttr(name, r.body()))
	}
	return list
}

func (r randomNode) body() *proto.Graph {
	g := &proto.Graph{}
	for i := range r.IntN(4) {
		g.Inputs = append(g.Inputs, untyped(fmt.Sprint("b", i))...)
	}
	for i := range r.IntN(4) {
		from := fmt.Sprint("b", r.IntN(3))
		if r.IntN(3) == 0 {
			from = "in0"
		}
		name := fmt.Sprint("o", i)
		g.Nodes = append(g.Nodes, node("Identity", names(from), names(name)))
		g.Outputs = append(g.Outputs, untyped(name)...)
	}
	return g
}

var randomTypes = []proto.DataType{proto.Float, proto.Float, proto.Float, proto.Int64, proto.Int64, proto.Int32, proto.Bool, proto.Double, proto.Float16, proto.Uint8, proto.Int8}

func (r randomNode) tensor(name string, rank int) *proto.Tensor {
	t := &proto.Tensor{Name: name, Type: proto.Float}
	if !r.regular || r.IntN(4) == 0 {
		t.Type = randomTypes[r.IntN(len(randomTypes))]
	}
	n := int64(1)
	for range rank {
		d := int64(2)
		if !r.regular || r.rarely(6) {
			d = r.pick(0, 1, 1, 2, 2, 2, 3, 3, 4)
		}
		t.Dims = append(t.Dims, d)
		n *= t.Dims[len(t.Dims)-1]
	}
	for range n {
		switch t.Type {
		case proto.Float:
			t.Floats = append(t.Floats, r.real())
		case proto.Double:
			t.Doubles = append(t.Doubles, float64(r.real()))
		case proto.Int64:
			t.Int64s = append(t.Int64s, r.integer())
		default:
			t.Int32s = append(t.Int32s, int32(r.IntN(5)))
		}
	}
	return t
}

func (r randomNode) model(op string) *proto.Model {
	r.regular = r.IntN(3) > 0
	opset := MaxOpset - r.Int64N(MaxOpset)
	g := &proto.Graph{}
	n := &proto.Node{Op: op, Attrs: r.attributes()}
	if i := strings.LastIndex(op, "."); i >= 0 {
		n.Domain, n.Op = op[:i], op[i+1:]
	}
	rank := r.IntN(6)
	for i := range r.IntN(7) {
		name := fmt.Sprint("in", i)
		at := rank
		if i > 0 && r.IntN(3) == 0 {
			at = r.IntN(3)
		}
		t := r.tensor(name, at)
		if i > 0 && r.IntN(2) == 0 && len(g.Initializers) > 0 {
			t.Type = g.Initializers[0].Type
		}
		switch r.IntN(8) {
		case 0:
			name = ""
		case 1, 2, 3:
			g.Initializers = append(g.Initializers, t)
		default:
			g.Inputs = append(g.Inputs, info(name, t.Type, t.Dims...))
		}
		n.Inputs = append(n.Inputs, name)
	}
	for i := range 1 + r.IntN(3) {
		n.Outputs = append(n.Outputs, fmt.Sprint("y", i))
	}
	g.Nodes, g.Outputs = []*proto.Node{n}, untyped("y0")
	return modelOf(opset, g)
}

// importAnything imports a model with every input bound to ones when it is needed.
// Whatever the model is, there is an error or a valid graph.
func importAnything(t *testing.T, m *Model) error {
	b := importer.Binding{Shapes: make(map[string][]int), Values: make(map[string]*tensor.Tensor)}
	for _, in := range m.Inputs() {
		shape := make([]int, len(in.Dims))
		for i, d := range in.Dims {
			if shape[i] = d.Size; !d.Fixed {
				shape[i] = 2
			}
		}
		if n, err := tensor.Elements(shape); err != nil || n > 1<<16 {
			return err
		}
		v, err := tensor.Full(in.DType, 1, shape...)
		if err != nil {
			t.Fatal(err)
		}
		b.Values[in.Name] = v
	}
	p, err := m.Graph(context.Background(), b)
	if err == nil {
		if err := ir.Verify(p.Graph); err != nil {
			t.Error(err)
		}
	}
	return err
}

// FuzzNode tries operators with operands and attributes at random.
func FuzzNode(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed)
	}
	all := slices.Sorted(maps.Keys(operators))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := randomNode{Rand: rand.New(rand.NewPCG(seed, 0))}
		for range 16 {
			p := r.model(all[r.IntN(len(all))])
			if m, err := Read("random.onnx", encode(p)); err == nil {
				importAnything(t, m)
			}
		}
	})
}

// The operators are given so much nonsense that all of their checks are met; some
// of it makes sense.
func TestRandomNodes(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	for i, op := range slices.Sorted(maps.Keys(operators)) {
		r := randomNode{Rand: rand.New(rand.NewPCG(uint64(i), 1))}
		for range rounds {
			p := r.model(op)
			if m, err := Read("random.onnx", encode(p)); err == nil {
				importAnything(t, m)
			}
		}
	}
}
