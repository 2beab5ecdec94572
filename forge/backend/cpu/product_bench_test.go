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
type product struct{ m, k, n int }

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
		v, err := b.Input(name, ir.F32(shape...))
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
	random := func(seed uint64, shape ...int) *tensor.Tensor {
		x, err := tensor.Rand(seed, shape...)
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
		list     []product
	}{
		{"constant", "matmul", true, []product{
			{8, 64, 128}, {32, 64, 64}, {64, 64, 64}, {32, 128, 256}, {24, 128, 384}, {96, 128, 384}, {4, 256, 512}, {8, 256, 512},
			{16, 256, 256}, {64, 256, 512}, {256, 256, 256}, {128, 1536, 384}, {512, 512, 512}, {1024, 1024, 1024}, {128, 4096, 1024},
		}},
		{"ragged", "matmul", true, []product{{8, 64, 100}, {7, 65, 33}, {33, 65, 31}, {96, 128, 250}, {64, 64, 10}, {255, 257, 129}, {500, 500, 500}}},
		{"gelu_tanh", "linear gelu_tanh", true, []product{{8, 64, 128}, {32, 128, 256}, {64, 256, 512}}},
		{"relu", "linear relu", true, []product{{8, 64, 128}, {32, 128, 256}}},
		{"variable", "matmul", false, []product{{8, 64, 128}, {32, 128, 256}, {96, 128, 384}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}}},
	} {
		for _, p := range group.list {
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

// BenchmarkRow multiplies one row by a matrix of 64 MiB.
func BenchmarkRow(b *testing.B) {
	back := cpu.New()
	back.Threads = 1
	stream, err := back.NewStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []product{{1, 4096, 4096}, {1, 1024, 16384}, {1, 65536, 256}, {1, 4099, 4093}} {
		for _, constant := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/%dx%d", map[bool]string{true: "constant", false: "variable"}[constant], p.k, p.n), func(b *testing.B) {
				g, in, times := p.repeated(b, "matmul", constant)
				exe := compile(b, back, g)
				b.Log(exe.Kernels()[0].Reason)
				limit, best := sideBySide(b, stream.Run, func() float64 { run(b, exe, in); return float64(4 * p.k * p.n * times) })
				b.ReportMetric(best, "GB/s")
				b.ReportMetric(100*best/limit, "%stream")
			})
		}
	}
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
