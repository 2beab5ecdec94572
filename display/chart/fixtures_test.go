package chart

import (
	"fmt"
	"math"
	"math/rand/v2"

	"forgekernel/display"
)

// samples are times of n runs around a median, with a tail, from a fixed seed.
func samples(seed uint64, median float64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]float64, n)
	for i := range list {
		list[i] = median * math.Exp(0.05*rng.NormFloat64()+0.1*rng.ExpFloat64()*rng.ExpFloat64())
	}
	return list
}

func measured() []Sample {
	return []Sample{
		{"cpu optimised, 1 thread", samples(1, 21e-6, 120)},
		{"cpu written, 1 thread", samples(2, 26e-6, 120)},
		{"interp written, 1 thread", samples(3, 44e-6, 120)},
	}
}

func planned() Plan {
	return Plan{
		Title: "Memory of mlp",
		Steps: []string{"matmul", "add_relu", "matmul", "softmax"},
		Slots: []Slot{{"slot 0 f32", 6 << 10}, {"slot 1 f32", 1 << 10}},
		Tenants: []Tenant{
			{Slot: 0, Bytes: 6 << 10, Start: 0, End: 1.5, Label: "%h", Class: display.ClassContraction, Tip: "%h: f32[8,192]"},
			{Slot: 0, Bytes: 6 << 10, Start: 1.5, End: 3, Label: "%r", Class: display.ClassElementwise, Tip: "%r: f32[8,192]\nin place of %h"},
			{Slot: 1, Bytes: 1 << 10, Start: 2, End: 4, Label: "%y", Class: display.ClassContraction, Tip: "%y: f32[8,32]"},
			{Slot: 0, Offset: 2 << 10, Bytes: 1 << 10, Start: 3, End: 4, Label: "%p", Class: display.ClassReduction, Tip: "%p: f32[8,32]"},
		},
		Live:   []int64{6 << 10, 6 << 10, 7 << 10, 2 << 10},
		Bounds: []Bound{{"planned", 7 << 10}, {"lower bound", 7 << 10}, {"without reuse", 14 << 10}},
	}
}

// ranks are two ranks of a pipeline, the second of which waits 2 s for its first input.
func ranks() ([]string, []Span) {
	var spans []Span
	spans = append(spans, Span{Lane: 1, Row: 1, Start: 0, End: 2.0004, Name: "recv", Class: display.ClassInput, Wait: true})
	for i := range 12 {
		at := 2 + 1e-3*float64(i)
		spans = append(spans,
			Span{Lane: 0, Start: at, End: at + 9e-4, Name: "step", Class: display.ClassFused, Label: fmt.Sprint(i)},
			Span{Lane: 0, Row: 1, Start: at, End: at + 3e-4, Name: "attention", Class: display.ClassContraction},
			Span{Lane: 0, Row: 1, Start: at + 3e-4, End: at + 4e-4, Name: "send", Class: display.ClassOutput},
			Span{Lane: 1, Start: at + 4e-4, End: at + 9e-4, Name: "step", Class: display.ClassFused, Label: fmt.Sprint(i)},
			Span{Lane: 1, Row: 1, Start: at + 4e-4, End: at + 8e-4, Name: "feed-forward", Class: display.ClassReduction},
		)
	}
	return []string{"rank 0", "rank 1"}, spans
}

// figures are one of each chart.
func figures() map[string]Figure {
	lanes, spans := ranks()
	return map[string]Figure{
		"distribution": Distribution("mlp, 8 by 192", "time per run, up to the 95 % quantile", Seconds, measured()...),
		"violin":       Violin("mlp, 8 by 192", "time per run", Seconds, measured()...).Figure(),
		"ecdf":         ECDF("mlp", "time per run", Seconds, measured()[:2]...).Figure(),
		"roofline": Roofline("Kernels of mlp under the roof of one core", []Roof{
			{"one core", 52e9, 11e9, []Cache{{"L1", 32 << 10, 180e9}, {"L2", 1 << 20, 70e9}, {"L3", 16 << 20, 24e9}}}, {"two cores", 104e9, 0, nil},
		}, []Work{
			{"matmul 512", "cpu", 268e6, 3.1e6, 6.1e-3, 0}, {"softmax", "cpu", 5e6, 4e6, 0.7e-3, 0}, {"add_relu", "cpu", 1e6, 8e6, 0.4e-3, 0}, {"matmul 512", "interp", 268e6, 3.1e6, 110e-3, 0},
			{"matmul 512", "two threads", 268e6, 3.1e6, 2.7e-3, 1},
		}),
		"scaling": Scaling("Requests by threads", "threads", "requests per second", Number,
			Curve{"compiled", []Measured{{1, 120}, {2, 231}, {4, 402}, {8, 610}}}, Curve{"interpreted", []Measured{{1, 20}, {2, 39}, {4, 77}, {8, 150}}}),
		"bars":     Bars("Time by kernel", "time per run", Seconds, Named{"matmul", 6.1e-3, "", display.ClassContraction}, Named{"softmax", 0.7e-3, "", display.ClassReduction}, Named{"add_relu", 0.9e-3, "", display.ClassElementwise}).Figure(),
		"timeline": Timeline("What the ranks did", lanes, spans),
		"memory":   MemoryPlan(planned()),
		"contest": Contest("Candidates of mlp", "", Match{"matmul 8x192x64, tile 4x16", []Candidate{
			{"unroll 4 pack", "picked", samples(4, 11e-6, 80), Good}, {"unroll 2 pack", "+1.1 %", samples(5, 11.2e-6, 80), Close},
			{"unroll 1", "+48 %, default", samples(6, 16.3e-6, 80), Plain}, {"unroll 8", "rejected: error 3e-2", nil, Bad},
		}}),
	}
}
