package cpu_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// product is a matrix product to measure: M rows, K, N columns.
type product struct {
	m, k, n int
	elem    tensor.DType
}

// flopsPerRun is how many operations a measured program has at least: products
// too small for that are repeated in it, since a call costs half a microsecond.
const flopsPerRun = 32 << 20

// repeated is a program of equal products, so that a run is nothing else. The
// matrix is a constant; line is what makes a result from %x and %w.
func (p product) repeated(tb testing.TB, line string, constant bool) (*ir.Graph, []*tensor.Tensor, int) {
	tb.Helper()
	times := max(1, flopsPerRun/(2*p.m*p.k*p.n))
	b := ir.NewBuilder(op.Registry, "products")
	input := func(name string, shape ...int) *ir.Value {
		v, err := b.Input(name, ir.Spec{DType: p.elem, Shape: shape})
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
	random := func(seed uint64, shape ...int) *tensor.Tensor {
		x, err := tensor.Rand(seed, shape...)
		if err == nil {
			x, err = x.Convert(p.elem)
		}
		if err != nil {
			tb.Fatal(err)
		}
		return x
	}
	held := func(seed uint64, shape ...int) *ir.Value {
		v, err := b.Const(random(seed, shape...))
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
	x, in := input("x", p.m, p.k), []*tensor.Tensor{random(1, p.m, p.k)}
	var w *ir.Value
	if constant {
		w = held(2, p.k, p.n)
	} else {
		w, in = input("w", p.k, p.n), append(in, random(2, p.k, p.n))
	}
	name, attrs := "matmul", ir.Attrs{}
	operands := []*ir.Value{x, w}
	if act, ok := strings.CutPrefix(line, "linear "); ok {
		name, attrs, operands = "linear", ir.Attrs{"act": act}, append(operands, held(3, p.n))
	}
	var y *ir.Value
	for range times {
		var err error
		if y, err = b.Apply(name, attrs, operands...); err != nil {
			tb.Fatal(err)
		}
	}
	g, err := b.Finish(y)
	if err != nil {
		tb.Fatal(err)
	}
	return g, in, times
}

// BenchmarkProduct shows the share of the multiply-add peak that matrix products
// reach, and of the bandwidth of memory for one row by a matrix that no cache
// holds. Each run stands beside one of the loop that measures the limit; the
// quickest of each count, which other load disturbs least.
func BenchmarkProduct(b *testing.B) {
	back := cpu.New()
	back.Threads = 1
	peak, err := back.NewPeak(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, group := range []struct {
		name     string
		line     string
		constant bool
		elem     tensor.DType
		list     []product
	}{
		{"constant", "matmul", true, tensor.F32, []product{
			{m: 8, k: 64, n: 128}, {m: 32, k: 64, n: 64}, {m: 64, k: 64, n: 64}, {m: 32, k: 128, n: 256}, {m: 24, k: 128, n: 384}, {m: 96, k: 128, n: 384}, {m: 4, k: 256, n: 512}, {m: 8, k: 256, n: 512},
			{m: 16, k: 256, n: 256}, {m: 64, k: 256, n: 512}, {m: 256, k: 256, n: 256}, {m: 128, k: 1536, n: 384}, {m: 512, k: 512, n: 512}, {m: 1024, k: 1024, n: 1024}, {m: 128, k: 4096, n: 1024},
		}},
		{"ragged", "matmul", true, tensor.F32, []product{{m: 8, k: 64, n: 100}, {m: 7, k: 65, n: 33}, {m: 33, k: 65, n: 31}, {m: 96, k: 128, n: 250}, {m: 64, k: 64, n: 10}, {m: 255, k: 257, n: 129}, {m: 500, k: 500, n: 500}}},
		{"gelu_tanh", "linear gelu_tanh", true, tensor.F32, []product{{m: 8, k: 64, n: 128}, {m: 32, k: 128, n: 256}, {m: 64, k: 256, n: 512}}},
		{"relu", "linear relu", true, tensor.F32, []product{{m: 8, k: 64, n: 128}, {m: 32, k: 128, n: 256}}},
		{"variable", "matmul", false, tensor.F32, []product{{m: 8, k: 64, n: 128}, {m: 32, k: 128, n: 256}, {m: 96, k: 128, n: 384}, {m: 256, k: 256, n: 256}, {m: 512, k: 512, n: 512}, {m: 1024, k: 1024, n: 1024}}},
		{"bf16", "matmul", true, tensor.BF16, []product{{m: 8, k: 64, n: 128}, {m: 32, k: 128, n: 256}, {m: 256, k: 256, n: 256}}},
		{"f64", "matmul", true, tensor.F64, []product{{m: 32, k: 128, n: 256}, {m: 256, k: 256, n: 256}}},
	} {
		for _, p := range group.list {
			p.elem = group.elem
			b.Run(fmt.Sprintf("%s/%dx%dx%d", group.name, p.m, p.k, p.n), func(b *testing.B) {
				g, in, times := p.repeated(b, group.line, group.constant)
				exe := compile(b, back, g)
				b.Log(exe.Kernels()[0].Reason)
				limit, best := sideBySide(b, peak.Run, func() float64 { run(b, exe, in); return float64(2 * p.m * p.k * p.n * times) })
				b.ReportMetric(best, "GFLOP/s")
				b.ReportMetric(100*best/limit, "%peak")
			})
		}
	}
}

// BenchmarkRow multiplies one row by constant matrices of 32 MiB and more that no
// cache holds, of the type of the row or, "f32 by", of half precision; and a few rows,
// for which the bandwidth is that of the same bytes.
func BenchmarkRow(b *testing.B) {
	back := cpu.New()
	back.Threads = 1
	stream, err := back.NewStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []struct {
		m, k, n      int
		elem, weight tensor.DType
	}{
		{1, 4096, 4096, tensor.F32, tensor.F32}, {1, 576, 49152, tensor.F32, tensor.F32}, {1, 2048, 8192, tensor.F32, tensor.F32}, {1, 65536, 256, tensor.F32, tensor.F32}, {1, 4099, 4093, tensor.F32, tensor.F32},
		{1, 4096, 4096, tensor.F32, tensor.BF16}, {1, 576, 49152, tensor.F32, tensor.BF16}, {1, 2048, 8192, tensor.F32, tensor.BF16}, {1, 8192, 2048, tensor.F32, tensor.BF16},
		{1, 4096, 4096, tensor.F32, tensor.F16}, {1, 576, 49152, tensor.F32, tensor.F16},
		{1, 8192, 4096, tensor.BF16, tensor.BF16}, {1, 8192, 4096, tensor.F16, tensor.F16}, {1, 4096, 2048, tensor.F64, tensor.F64},
		{2, 4096, 4096, tensor.F32, tensor.BF16}, {4, 4096, 4096, tensor.F32, tensor.BF16}, {8, 4096, 4096, tensor.F32, tensor.BF16}, {16, 4096, 4096, tensor.F32, tensor.BF16},
		{2, 4096, 4096, tensor.F32, tensor.F32}, {4, 4096, 4096, tensor.F32, tensor.F32}, {8, 4096, 4096, tensor.F32, tensor.F32}, {16, 4096, 4096, tensor.F32, tensor.F32},
		{2, 576, 49152, tensor.F32, tensor.BF16}, {4, 576, 49152, tensor.F32, tensor.BF16}, {8, 576, 49152, tensor.F32, tensor.BF16}, {16, 576, 49152, tensor.F32, tensor.BF16},
		{1, 576, 1536, tensor.F32, tensor.BF16}, {1, 1536, 576, tensor.F32, tensor.BF16},
	} {
		b.Run(fmt.Sprintf("%v by %v/%dx%dx%d", p.elem, p.weight, p.m, p.k, p.n), func(b *testing.B) {
			g, in := oneProduct(b, p.m, p.k, p.n, p.elem, p.weight)
			exe := compile(b, back, g)
			b.Log(exe.Kernels()[0].Reason)
			limit, best := sideBySide(b, stream.Run, func() float64 { run(b, exe, in); return float64(p.weight.Size() * p.k * p.n) })
			b.ReportMetric(best, "GB/s")
			b.ReportMetric(100*best/limit, "%stream")
		})
	}
}

// oneProduct is linear of rows by a constant.
func oneProduct(b *testing.B, m, k, n int, elem, weight tensor.DType) (*ir.Graph, []*tensor.Tensor) {
	b.Helper()
	random := func(seed uint64, d tensor.DType, shape ...int) *tensor.Tensor {
		x, err := tensor.Rand(seed, shape...)
		if err == nil {
			x, err = x.Convert(d)
		}
		if err != nil {
			b.Fatal(err)
		}
		return x
	}
	g := ir.NewBuilder(op.Registry, "row")
	must := func(v *ir.Value, err error) *ir.Value {
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	x := must(g.Input("x", ir.Spec{DType: elem, Shape: []int{m, k}}))
	made, err := g.Finish(must(g.Apply("linear", nil, x, must(g.SharedConst(random(2, weight, k, n))))))
	if err != nil {
		b.Fatal(err)
	}
	return made, []*tensor.Tensor{random(1, elem, m, k)}
}

// sideBySide runs two things in turn, each of which returns its work, and gives
// the best rate of each per nanosecond.
func sideBySide(b *testing.B, reference, candidate func() float64) (limit, best float64) {
	for b.Loop() {
		start := time.Now()
		work := reference()
		middle := time.Now()
		done := candidate()
		end := time.Now()
		limit = max(limit, work/float64(middle.Sub(start).Nanoseconds()))
		best = max(best, done/float64(end.Sub(middle).Nanoseconds()))
	}
	return limit, best
}
