package cpu_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
)

// decoderSize is that of a language model.
type decoderSize struct{ layers, hidden, heads, groups, channels, wide, words, context int }

var smallDecoder = decoderSize{30, 576, 9, 3, 64, 1536, 49152, 1024}

// decoderWeights are those of a decoder, in bf16 or f32, and all different.
type decoderWeights map[string]*tensor.Tensor

func (w decoderWeights) of(tb testing.TB, name string, d tensor.DType, shape ...int) *tensor.Tensor {
	if w[name] == nil {
		x, err := tensor.Zeros(d, shape...)
		if err != nil {
			tb.Fatal(err)
		}
		state := uint32(len(w) + 1)
		next := func() uint32 { state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state }
		switch d {
		case tensor.BF16: // between -1/64 and 1/64
			for i, bits := 0, x.Bits16(); i < len(bits); i++ {
				bits[i] = uint16(next()&0x80ff | 0x3c00)
			}
		case tensor.F32:
			for i, f := 0, x.Float32(); i < len(f); i++ {
				f[i] = float32(int32(next())) * 0x1p-31
			}
		}
		w[name] = x
	}
	return w[name]
}

// decoder is a model with caches that takes so many tokens of one sequence.
func (s decoderSize) decoder(tb testing.TB, w decoderWeights, tokens int) *ir.Graph {
	b := ir.NewBuilder(op.Registry, fmt.Sprintf("decoder_%d", tokens))
	must := func(v *ir.Value, err error) *ir.Value {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
		return v
	}
	on := func(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value { return must(b.Apply(name, attrs, in...)) }
	input := func(name string, d tensor.DType, shape ...int) *ir.Value {
		return must(b.Input(name, ir.Spec{DType: d, Shape: shape}))
	}
	weight := func(name string, d tensor.DType, shape ...int) *ir.Value {
		return must(b.SharedConst(w.of(tb, name, d, shape...)))
	}
	product := func(name string, x *ir.Value, in, out int) *ir.Value {
		turned := on("transpose", nil, weight(name, tensor.BF16, out, in))
		return on("linear", nil, x, turned)
	}
	norm := func(name string, x *ir.Value) *ir.Value {
		return on("rms_norm", nil, x, weight(name, tensor.F32, s.hidden))
	}
	heads := func(x *ir.Value, n int) *ir.Value {
		return on("transpose", ir.Attrs{"perm": []int{0, 2, 1, 3}}, on("reshape", ir.Attrs{"shape": []int{1, tokens, n, s.channels}}, x))
	}
	ids, pos := input("tokens", tensor.I32, 1, tokens), input("pos", tensor.I32, 1)
	table := weight("table", tensor.BF16, s.words, s.hidden)
	x := on("cast", ir.Attrs{"dtype": "f32"}, on("gather", ir.Attrs{"axis": 0}, table, ids))
	var results []*ir.Value
	for l := range s.layers {
		at := func(name string) string { return fmt.Sprintf("%s%d", name, l) }
		y := norm(at("norm1_"), x)
		q := on("rope", nil, heads(product(at("q"), y, s.hidden, s.heads*s.channels), s.heads), pos)
		k := on("rope", nil, heads(product(at("k"), y, s.hidden, s.groups*s.channels), s.groups), pos)
		v := heads(product(at("v"), y, s.hidden, s.groups*s.channels), s.groups)
		keys := on("kv_append", nil, input(at("keys"), tensor.F32, 1, s.groups, s.context, s.channels), k, pos)
		values := on("kv_append", nil, input(at("values"), tensor.F32, 1, s.groups, s.context, s.channels), v, pos)
		results = append(results, keys, values)
		a := on("transpose", ir.Attrs{"perm": []int{0, 2, 1, 3}}, on("cached_attention", nil, q, keys, values, pos))
		x = on("add", nil, x, product(at("o"), on("reshape", ir.Attrs{"shape": []int{1, tokens, s.heads * s.channels}}, a), s.heads*s.channels, s.hidden))
		y = norm(at("norm2_"), x)
		gated := on("mul", nil, on("silu", nil, product(at("gate"), y, s.hidden, s.wide)), product(at("up"), y, s.hidden, s.wide))
		x = on("add", nil, x, product(at("down"), gated, s.wide, s.hidden))
	}
	logits := on("linear", nil, norm("norm", x), on("transpose", nil, table))
	g, err := b.Finish(append([]*ir.Value{logits}, results...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// BenchmarkDecoder reports what it takes to get from graphs of a decoder of 135 million
// parameters, for one token and for eight, to programs: the passes, the first program
// with an empty cache, which packs the weights, the second, and again from the cache.
// The packed bytes are those that the programs share.
func BenchmarkDecoder(b *testing.B) {
	w := make(decoderWeights)
	for b.Loop() {
		b.Setenv("FORGE_CACHE_DIR", b.TempDir())
		timed := func(name string, f func()) {
			start := time.Now()
			f()
			b.ReportMetric(float64(time.Since(start).Milliseconds()), name+"-ms")
		}
		var graphs []*ir.Graph
		timed("passes", func() {
			for _, tokens := range []int{1, 8} {
				r, err := pass.Run(smallDecoder.decoder(b, w, tokens), pass.Options{})
				if err != nil {
					b.Fatal(err)
				}
				graphs = append(graphs, r.Graph)
			}
		})
		back := cpu.New()
		one := compile(b, back, graphs[0])
		_, packed := planned.Packed()
		timed("cold8", func() { compile(b, back, graphs[1]) })
		timed("warm1", func() { compile(b, back, graphs[0]) })
		timed("warm8", func() { compile(b, back, graphs[1]) })
		b.ReportMetric(float64(packed)/1e6, "packed-MB")
		runtime.KeepAlive(one)
	}
}
