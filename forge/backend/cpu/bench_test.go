package cpu_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// BenchmarkSuite runs each model natively and in the interpreter. Each run of a
// model stands beside one of a loop of multiply-adds; the quickest of each give
// GFLOP/s and the part of the machine's peak, which other load disturbs least.
func BenchmarkSuite(b *testing.B) {
	peak, err := cpu.New().NewPeak(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range suite.Names() {
		g, in := model(b, name)
		for _, on := range []backend.Backend{cpu.New(), interp.New()} {
			b.Run(name+"/"+on.Name(), func(b *testing.B) {
				exe := compile(b, on, g)
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
				b.ReportMetric(float64(g.Cost().FLOPs)/best/1e3, "best-µs")
			})
		}
	}
}

// BenchmarkThreads runs a model on one and on all threads in turn, and reports the
// quickest, the median, the slow and the mean run of each, in microseconds.
func BenchmarkThreads(b *testing.B) {
	for _, name := range []string{"mlp_8_64_128", "mlp_32_128_256", "mlp_64_256_512", "transformer_block_4x24x128", "gpt2_small_block"} {
		g, in := model(b, name)
		one, all := cpu.New(), cpu.New()
		one.Threads = 1
		sides := []backend.Executable{compile(b, one, g), compile(b, all, g)}
		b.Run(name, func(b *testing.B) {
			took := make([][]float64, len(sides))
			for b.Loop() {
				for i, exe := range sides {
					for range 3 { // the first wakes helpers and fills caches
						start := time.Now()
						run(b, exe, in)
						took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/1e3)
					}
				}
			}
			for i, list := range took {
				slices.Sort(list)
				b.ReportMetric(list[0], fmt.Sprintf("min-%d", i+1))
				b.ReportMetric(list[len(list)/2], fmt.Sprintf("med-%d", i+1))
				b.ReportMetric(list[len(list)*9/10], fmt.Sprintf("p90-%d", i+1))
				b.ReportMetric(stat.Mean(list, nil), fmt.Sprintf("mean-%d", i+1))
			}
		})
	}
}

// BenchmarkCall is the way to native code and back: programs of no and of one
// small kernel.
func BenchmarkCall(b *testing.B) {
	for name, body := range map[string]string{"empty": "return %x", "exp": "%y: f32[7] = exp %x\n return %y"} {
		g, err := ir.Parse(op.Registry, "graph f(%x: f32[7]) {\n "+body+"\n}")
		if err != nil {
			b.Fatal(err)
		}
		exe := compile(b, cpu.New(), g).(backend.Into)
		in, out := []*tensor.Tensor{zeros(b, 7)}, []*tensor.Tensor{zeros(b, 7)}
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		for kind, ctx := range map[string]context.Context{"plain": context.Background(), "cancellable": ctx} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := exe.RunInto(ctx, out, in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func zeros(t testing.TB, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Zeros(tensor.F32, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// BenchmarkCompile reports the quickest time from a graph to a program that runs,
// in milliseconds: with an empty cache, and when its library is in the cache.
func BenchmarkCompile(b *testing.B) {
	for _, name := range suite.Names() {
		g, _ := model(b, name)
		b.Run(name, func(b *testing.B) {
			cold, warm := time.Hour, time.Hour
			for b.Loop() {
				b.Setenv("FORGE_CACHE_DIR", b.TempDir())
				for _, best := range []*time.Duration{&cold, &warm, &warm, &warm, &warm, &warm} {
					start := time.Now()
					compile(b, cpu.New(), g)
					*best = min(*best, time.Since(start))
				}
			}
			b.ReportMetric(cold.Seconds()*1e3, "cold-ms")
			b.ReportMetric(warm.Seconds()*1e3, "warm-ms")
		})
	}
}
