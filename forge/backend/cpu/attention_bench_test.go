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

// stream is a program that adds up all keys and values.
func (s attentionShape) stream(t testing.TB) *ir.Graph {
	n := s.b * s.g * s.keys
	return parse(t, fmt.Sprintf(`graph f(%%k: f32[%d,%d,%d,%d], %%v: f32[%d,%d,%d,%d]) {
  %%0: f32[%d] = reshape %%k {shape = [-1]}
  %%1: f32[%d] = reshape %%v {shape = [-1]}
  %%2: f32[] = sum %%0
  %%3: f32[] = sum %%1
  return %%2, %%3
}`, s.b, s.g, s.keys, s.d, s.b, s.g, s.keys, s.e, n*s.d, n*s.e))
}

// paged is a program over a cache in blocks of 16, which a table names in turn.
func (s attentionShape) paged(t testing.TB) (*ir.Graph, []*tensor.Tensor) {
	n := s.keys / 16
	g := parse(t, fmt.Sprintf(`graph f(%%q: f32[%d,%d,%d,%d], %%k: f32[%d,%d,16,%d], %%v: f32[%d,%d,16,%d], %%t: i32[%d,%d], %%p: i64[]) {
  %%y: f32[%d,%d,%d,%d] = paged_attention %%q, %%k, %%v, %%t, %%p
  return %%y
}`, s.b, s.h, s.q, s.d, s.b*n, s.g, s.d, s.b*n, s.g, s.e, s.b, n, s.b, s.h, s.q, s.e))
	in := attentionInputs(t, g)
	for i := range in[3].Int32() {
		in[3].Int32()[i] = int32(i * 7 % (s.b * n)) // n is a power of two
	}
	in[4].Int64()[0] = int64(s.keys - s.q)
	return g, in
}

// BenchmarkDecode gives the rate at which one query reads keys and values, beside
// that at which the sum over as many bytes does.
func BenchmarkDecode(b *testing.B) {
	for name, s := range map[string]attentionShape{
		"8":          {1, 8, 8, 1, 2048, 128, 128},
		"32by8":      {1, 32, 8, 1, 2048, 128, 128},
		"32by8x4":    {4, 32, 8, 1, 2048, 128, 128},
		"bf1632by8":  {1, 32, 8, 1, 2048, 128, 128},
		"paged32by8": {1, 32, 8, 1, 2048, 128, 128},
		"8by1x8":     {8, 8, 1, 1, 2048, 64, 64},
	} {
		b.Run(name, func(b *testing.B) {
			g := s.sdpa(b, "", "")
			if strings.HasPrefix(name, "bf16") {
				g = parse(b, strings.ReplaceAll(g.String(), "f32", "bf16"))
			}
			in := attentionInputs(b, g)
			stream, sums := s.stream(b), in[1:]
			if strings.HasPrefix(name, "paged") {
				g, in = s.paged(b)
			}
			if g.Inputs[0].Spec.DType != tensor.F32 { // as many bytes
				half := s
				half.keys /= 2
				stream = half.stream(b)
				sums = attentionInputs(b, stream)
			}
			exe, probe := compile(b, single(), g), compile(b, single(), stream)
			bytes := float64(in[1].Bytes() + in[2].Bytes())
			var limit, best float64 // GB/s
			for b.Loop() {
				start := time.Now()
				run(b, probe, sums)
				middle := time.Now()
				run(b, exe, in)
				limit = max(limit, bytes/float64(middle.Sub(start).Nanoseconds()))
				best = max(best, bytes/float64(time.Since(middle).Nanoseconds()))
			}
			b.ReportMetric(best, "GB/s")
			b.ReportMetric(limit, "stream-GB/s")
		})
	}
}
