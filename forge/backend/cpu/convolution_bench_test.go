package cpu_test

import (
	"fmt"
	"testing"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// BenchmarkConvolution shows the share of the multiply-add peak that convolutions
// with constant weights reach, counting taps in the padding too.
func BenchmarkConvolution(b *testing.B) {
	back := cpu.New()
	back.Threads = 1
	peak, err := back.NewPeak(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		x, w  []int
		attrs ir.Attrs
	}{
		{[]int{4, 3, 32, 32}, []int{16, 3, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
		{[]int{1, 3, 224, 224}, []int{64, 3, 7, 7}, ir.Attrs{"padding": []int{3, 3}, "stride": []int{2, 2}}},
		{[]int{1, 64, 56, 56}, []int{64, 64, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
		{[]int{1, 128, 28, 28}, []int{128, 128, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
		{[]int{1, 256, 14, 14}, []int{256, 256, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
		{[]int{1, 512, 7, 7}, []int{512, 512, 3, 3}, ir.Attrs{"padding": []int{1, 1}}},
		{[]int{1, 256, 28, 28}, []int{256, 256, 3, 3}, ir.Attrs{"padding": []int{1, 1}, "stride": []int{2, 2}}},
		{[]int{1, 64, 56, 56}, []int{256, 64, 1, 1}, nil},
		{[]int{1, 512, 14, 14}, []int{128, 512, 1, 1}, nil},
		{[]int{1, 96, 56, 56}, []int{96, 1, 3, 3}, ir.Attrs{"padding": []int{1, 1}, "groups": 96}},
		{[]int{1, 384, 14, 14}, []int{384, 1, 3, 3}, ir.Attrs{"padding": []int{1, 1}, "groups": 384}},
	} {
		b.Run(fmt.Sprintf("%v*%v", tensor.FormatShape(c.x), tensor.FormatShape(c.w)), func(b *testing.B) {
			build := ir.NewBuilder(op.Registry, "convolution")
			x, err := tensor.Rand(1, c.x...)
			if err != nil {
				b.Fatal(err)
			}
			w, err := tensor.Rand(2, c.w...)
			if err != nil {
				b.Fatal(err)
			}
			vx, err := build.Input("x", ir.SpecOf(x))
			if err != nil {
				b.Fatal(err)
			}
			vw, err := build.Const(w)
			if err != nil {
				b.Fatal(err)
			}
			y, err := build.Apply("conv2d", c.attrs, vx, vw)
			if err != nil {
				b.Fatal(err)
			}
			g, err := build.Finish(y)
			if err != nil {
				b.Fatal(err)
			}
			exe := compile(b, back, g)
			b.Log(exe.Kernels()[0].Reason)
			limit, best := sideBySide(b, peak.Run, func() float64 { run(b, exe, []*tensor.Tensor{x}); return float64(g.Cost().FLOPs) })
			b.ReportMetric(best, "GFLOP/s")
			b.ReportMetric(100*best/limit, "%peak")
		})
	}
}
