package cpu_test

import (
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/suite"
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
