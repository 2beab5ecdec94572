package cpu_test

import (
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/suite"
)

// BenchmarkSuite runs each model natively and in the interpreter, and the peak of
// fused multiply-adds beside them.
func BenchmarkSuite(b *testing.B) {
	b.Run("peak", func(b *testing.B) {
		peak, err := cpu.New().NewPeak(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		var flops float64
		for b.Loop() {
			flops += peak.Run()
		}
		b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
	for _, name := range suite.Names() {
		g, in := model(b, name)
		for _, on := range []backend.Backend{cpu.New(), interp.New()} {
			b.Run(name+"/"+on.Name(), func(b *testing.B) {
				exe := compile(b, on, g)
				for b.Loop() {
					run(b, exe, in)
				}
				b.ReportMetric(float64(g.Cost().FLOPs)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
