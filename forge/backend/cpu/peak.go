package cpu

import (
	"context"
	"time"

	"github.com/ebitengine/purego"
)

// peakLoops is how often the loop of [Peak.Run] goes round: about 20 microseconds.
const peakLoops = 5000

// peakChains is the number of independent sums: enough to hide the latency of a
// multiply-add, and no more than there are registers.
const peakChains = 12

// Peak measures the fused multiply-add limit of one core.
type Peak struct {
	lib      *library
	function uintptr
	flops    float64
}

// NewPeak compiles the loop.
func (b *Backend) NewPeak(ctx context.Context) (*Peak, error) {
	e := &emitter{target: b.Target}
	e.Open("int forge_peak(long loops)")
	e.Line("vf x = set(0.5f), y = set(1.5f);")
	for i := range peakChains {
		e.Line("vf a%d = set(%d);", i, i)
	}
	e.Open("for (long i = 0; i < loops; i++)")
	for i := range peakChains {
		e.Line("a%d = fma_(a%d, x, y); PIN(a%d);", i, i, i)
	}
	e.Close()
	for i := 1; i < peakChains; i++ {
		e.Line("a0 += a%d;", i)
	}
	e.Line("return a0[0] == 0;")
	e.Close()
	lib, err := b.build(ctx, b.Target.prelude()+e.String())
	if err != nil {
		return nil, err
	}
	f, err := lib.function("forge_peak")
	if err != nil {
		return nil, err
	}
	return &Peak{lib: lib, function: f, flops: float64(peakLoops * peakChains * 2 * b.Target.Lanes)}, nil
}

// Run does its multiply-adds once and returns their number times two.
func (p *Peak) Run() float64 {
	purego.SyscallN(p.function, peakLoops)
	return p.flops
}

// Best is the most FLOP/s of several runs.
func (p *Peak) Best(runs int) float64 {
	best := 0.0
	for range runs {
		start := time.Now()
		flops := p.Run()
		best = max(best, flops/time.Since(start).Seconds())
	}
	return best
}
