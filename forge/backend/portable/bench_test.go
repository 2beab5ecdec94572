package portable_test

import (
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/suite"
)

// BenchmarkSuite runs each model on vector functions and as generated C on one
// thread, in turn. The quickest run of each gives GFLOP/s.
func BenchmarkSuite(b *testing.B) {
	b.Setenv("FORGE_CACHE_DIR", b.TempDir())
	for _, name := range suite.Names() {
		g, in := model(b, name)
		b.Run(name, func(b *testing.B) {
			native := cpu.New()
			native.Threads = 1
			backends := []backend.Backend{portable.New(), native}
			exes := make([]backend.Executable, len(backends))
			best := make([]float64, len(backends))
			for i, on := range backends {
				exes[i] = compile(b, on, g)
			}
			for b.Loop() {
				for i, exe := range exes {
					start := time.Now()
					run(b, exe, in)
					best[i] = max(best[i], float64(g.Cost().FLOPs)/float64(time.Since(start).Nanoseconds()))
				}
			}
			for i, on := range backends {
				b.ReportMetric(best[i], on.Name()+"-GFLOP/s")
			}
			b.ReportMetric(100*best[0]/best[1], "%of-cpu")
		})
	}
}

// BenchmarkCompile is the time from a graph to a program that runs.
func BenchmarkCompile(b *testing.B) {
	for _, name := range suite.Names() {
		g, _ := model(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				compile(b, portable.New(), g)
			}
		})
	}
}
