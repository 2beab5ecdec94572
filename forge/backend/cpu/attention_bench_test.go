package cpu_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// single is the backend on one thread, as is the loop that it is compared with.
func single() *cpu.Backend {
	b := cpu.New()
	b.Threads = 1
	return b
}

// BenchmarkPrefill gives the part of the machine's peak that attention reaches
// over long sequences. Runs alternate with a loop of multiply-adds, and the
// quickest of each count, which other load disturbs least.
func BenchmarkPrefill(b *testing.B) {
	peak, err := cpu.New().NewPeak(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]struct {
		attentionShape
		mask, attrs string
	}{
		"24":         {attentionShape{4, 4, 4, 24, 24, 32, 32}, "", ""},
		"512":        {attentionShape{1, 8, 2, 512, 512, 64, 64}, "", ""},
		"2048":       {attentionShape{1, 2, 1, 2048, 2048, 64, 64}, "", ""},
		"512causal":  {attentionShape{1, 8, 2, 512, 512, 64, 64}, "", " {causal = true}"},
		"2048causal": {attentionShape{1, 2, 1, 2048, 2048, 64, 64}, "", " {causal = true}"},
		"512added":   {attentionShape{1, 8, 2, 512, 512, 64, 64}, "f32[512,512]", ""},
		"512bool":    {attentionShape{1, 8, 2, 512, 512, 64, 64}, "bool[512,512]", ""},
	} {
		b.Run(name, func(b *testing.B) {
			g := c.sdpa(b, c.mask, c.attrs)
			exe, in := compile(b, single(), g), attentionInputs(b, g)
			var limit, best float64 // GFLOP/s
			for b.Loop() {
				start := time.Now()
				flops := peak.Run()
				middle := time.Now()
				run(b, exe, in)
				limit = max(limit, flops/float64(middle.Sub(start).Nanoseconds()))
				best = max(best, float64(g.Cost().FLOPs)/float64(time.Since(middle).Nanoseconds()))
			}
			b.ReportMetric(best, "GFLOP/s")
			b.ReportMetric(100*best/limit, "%peak")
		})
	}
}

// decode is a program of one query for each sequence, over a cache of a type that is in
// one piece, or in so many blocks that a table names in turn.
func (s attentionShape) decode(t testing.TB, pool tensor.DType, block int) (*ir.Graph, []*tensor.Tensor) {
	src := fmt.Sprintf(`graph f(%%q: f32[%d,%d,%d,%d], %%k: f32[%d,%d,%d,%d], %%v: f32[%d,%d,%d,%d], %%p: i64[]) {
  %%y: f32[%d,%d,%d,%d] = cached_attention %%q, %%k, %%v, %%p
  return %%y
}`, s.b, s.h, s.q, s.d, s.b, s.g, s.keys, s.d, s.b, s.g, s.keys, s.e, s.b, s.h, s.q, s.e)
	blocks := 0
	if block > 0 {
		blocks = s.b * s.keys / block
		src = fmt.Sprintf(`graph f(%%q: f32[%d,%d,%d,%d], %%k: f32[%d,%d,%d,%d], %%v: f32[%d,%d,%d,%d], %%t: i32[%d,%d], %%p: i64[]) {
  %%y: f32[%d,%d,%d,%d] = paged_attention %%q, %%k, %%v, %%t, %%p
  return %%y
}`, s.b, s.h, s.q, s.d, blocks, s.g, block, s.d, blocks, s.g, block, s.e, s.b, s.keys/block, s.b, s.h, s.q, s.e)
	}
	g := parse(t, strings.ReplaceAll(src, "f32", pool.String()))
	in := attentionInputs(t, g)
	if block > 0 {
		for i := range in[3].Int32() {
			in[3].Int32()[i] = int32(i * 7 % blocks) // which is a power of two
		}
	}
	in[len(in)-1].Int64()[0] = int64(s.keys - s.q)
	return g, in
}

// BenchmarkDecode gives the rate at which one query reads keys and values, beside that
// at which memory is read, which leaves none of them in a cache.
func BenchmarkDecode(b *testing.B) {
	stream, err := single().NewStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		attentionShape
		pool  tensor.DType
		block int
	}{
		{attentionShape{1, 8, 8, 1, 2048, 128, 128}, tensor.F32, 0},
		{attentionShape{1, 32, 8, 1, 2048, 128, 128}, tensor.F32, 0},
		{attentionShape{4, 9, 3, 1, 2048, 64, 64}, tensor.F32, 0},
		{attentionShape{8, 8, 1, 1, 2048, 64, 64}, tensor.F32, 0},
		{attentionShape{1, 32, 8, 1, 2048, 128, 128}, tensor.F32, 16},
		{attentionShape{4, 9, 3, 1, 2048, 64, 64}, tensor.F32, 16},
		{attentionShape{4, 9, 3, 1, 2048, 64, 64}, tensor.F32, 32},
		{attentionShape{1, 32, 8, 1, 4096, 128, 128}, tensor.BF16, 0},
		{attentionShape{8, 9, 3, 1, 2048, 64, 64}, tensor.BF16, 0},
		{attentionShape{1, 32, 8, 1, 4096, 128, 128}, tensor.BF16, 16},
		{attentionShape{8, 9, 3, 1, 2048, 64, 64}, tensor.BF16, 16},
		{attentionShape{8, 9, 3, 1, 2048, 64, 64}, tensor.BF16, 32},
	} {
		b.Run(fmt.Sprintf("%v/%dx%dby%dx%dx%d/block%d", c.pool, c.b, c.h, c.g, c.keys, c.d, c.block), func(b *testing.B) {
			g, in := c.decode(b, c.pool, c.block)
			exe := compile(b, single(), g)
			limit, best := sideBySide(b, stream.Run, func() float64 { run(b, exe, in); return float64(in[1].Bytes() + in[2].Bytes()) })
			b.ReportMetric(best, "GB/s")
			b.ReportMetric(100*best/limit, "%stream")
		})
	}
}
