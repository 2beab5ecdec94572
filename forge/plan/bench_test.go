package plan

import (
	"fmt"
	"testing"

	"forgekernel/forge/ir"
)

var benchmarkSizes = []int{500, 2000, 8000}

// layers is a deep network: blocks of kernels with residual paths.
func layers(b *testing.B, nodes int) *ir.Graph {
	bld := ir.NewBuilder(testOps, "layers")
	apply := func(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		v, err := bld.Apply(name, attrs, in...)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	x, err := bld.Input("x", ir.F32(8, 64))
	if err != nil {
		b.Fatal(err)
	}
	mix := func(width int, in ...*ir.Value) *ir.Value {
		return apply("t_mix", ir.Attrs{"shape": []int{8, width}, "dtype": "f32"}, in...)
	}
	for range nodes / 10 {
		q, k, v := mix(64, x), apply("transpose", nil, mix(64, x)), mix(64, x)
		y := apply("add", nil, x, mix(64, q, k, v))
		h := apply("relu", nil, mix(256, y))
		x = apply("add", nil, y, mix(64, h))
	}
	g, err := bld.Finish(x)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func eachSize(b *testing.B, run func(b *testing.B, g *ir.Graph)) {
	for _, n := range benchmarkSizes {
		random, deep := randomGraph(1, n), layers(b, n)
		b.Run(fmt.Sprintf("random/%d", n), func(b *testing.B) { run(b, random) })
		b.Run(fmt.Sprintf("layers/%d", n), func(b *testing.B) { run(b, deep) })
	}
}

func BenchmarkNew(b *testing.B) {
	eachSize(b, func(b *testing.B, g *ir.Graph) {
		for b.Loop() {
			if _, err := New(g, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkGreedy is the part that may not grow faster than n log n: all
// schedules, and best-fit slots for each.
func BenchmarkGreedy(b *testing.B) {
	eachSize(b, func(b *testing.B, g *ir.Graph) {
		a, err := analyse(g, nil)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			for _, p := range policies {
				packBestFit(a.liveness(a.schedule(p), Options{}).buffers)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	eachSize(b, func(b *testing.B, g *ir.Graph) {
		p, err := New(g, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := Verify(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
