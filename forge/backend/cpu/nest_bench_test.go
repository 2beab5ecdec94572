package cpu_test

import (
	"context"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// BenchmarkNests runs nests on one thread, each beside a copy of as many bytes; the
// quickest of each give GB/s and the part of the copy's.
func BenchmarkNests(b *testing.B) {
	for _, c := range []struct{ name, src string }{
		{"add f32", "(%x: f32[512,512], %z: f32[512,512]) {\n %y: f32[512,512] = add %x, %z"},
		{"add f16", "(%x: f16[512,512], %z: f16[512,512]) {\n %y: f16[512,512] = add %x, %z"},
		{"add bf16", "(%x: bf16[512,512], %z: bf16[512,512]) {\n %y: bf16[512,512] = add %x, %z"},
		{"add i64", "(%x: i64[512,512], %z: i64[512,512]) {\n %y: i64[512,512] = add %x, %z"},
		{"mul f64", "(%x: f64[512,512], %z: f64[512,512]) {\n %y: f64[512,512] = mul %x, %z"},
		{"lt f32", "(%x: f32[512,512], %z: f32[512,512]) {\n %y: bool[512,512] = lt %x, %z"},
		{"where", "(%c: bool[512,512], %x: f32[512,512], %z: f32[512,512]) {\n %y: f32[512,512] = where %c, %x, %z"},
		{"cast f32 bf16", "(%x: f32[512,512]) {\n %y: bf16[512,512] = cast %x {dtype = \"bf16\"}"},
		{"cast f32 i64", "(%x: f32[512,512]) {\n %y: i64[512,512] = cast %x {dtype = \"i64\"}"},
		{"sin", "(%x: f32[512,512]) {\n %y: f32[512,512] = sin %x"},
		{"pow", "(%x: f32[512,512]) {\n %y: f32[512,512] = pow %x, %x"},
		{"gather rows", "(%x: f32[512,512], %i: i64[512]) {\n %y: f32[512,512] = gather %x, %i"},
		{"gather elements", "(%x: f32[512,512], %i: i64[512]) {\n %y: f32[512,512] = gather %x, %i {axis = 1}"},
		{"concat", "(%x: f32[512,256], %z: f32[512,256]) {\n %y: f32[512,512] = concat %x, %z {axis = 1}"},
		{"pad", "(%x: f32[510,509]) {\n %y: f32[512,512] = pad %x {low = [1, 1], high = [1, 2]}"},
		{"transpose", "(%x: f32[512,512]) {\n %t: f32[512,512] = transpose %x\n %y: f32[262144] = reshape %t {shape = [262144]}"},
		{"heads", "(%x: f32[512,8,64]) {\n %t: f32[8,512,64] = transpose %x {perm = [1, 0, 2]}\n %y: f32[4096,64] = reshape %t {shape = [4096, 64]}"},
		{"max_pool 2x2", "(%x: f32[1,16,128,128]) {\n %y: f32[1,16,64,64] = max_pool2d %x {kernel = [2, 2]}"},
		{"max_pool 3x3", "(%x: f32[1,16,128,128]) {\n %y: f32[1,16,64,64] = max_pool2d %x {kernel = [3, 3], stride = [2, 2], padding = [1, 1]}"},
		{"avg_pool 3x3", "(%x: f32[1,16,128,128]) {\n %y: f32[1,16,128,128] = avg_pool2d %x {kernel = [3, 3], stride = [1, 1], padding = [1, 1]}"},
		{"argmax", "(%x: f32[512,512]) {\n %y: i64[512] = argmax %x {axis = 1}"},
		{"argmax columns", "(%x: f32[512,512]) {\n %y: i64[512] = argmax %x {axis = 0}"},
		{"sum f32", "(%x: f32[512,512]) {\n %y: f32[512] = sum %x {axes = [1]}"},
		{"sum i64", "(%x: i64[512,512]) {\n %y: i64[512] = sum %x {axes = [1]}"},
		{"sum bf16", "(%x: bf16[512,512]) {\n %y: bf16[512] = sum %x {axes = [1]}"},
		{"softmax f32", "(%x: f32[512,512]) {\n %y: f32[512,512] = softmax %x"},
		{"log_softmax", "(%x: f32[512,512]) {\n %y: f32[512,512] = log_softmax %x"},
		{"rope half", "(%x: f32[1,16,128,128], %p: i64[]) {\n %y: f32[1,16,128,128] = rope %x, %p"},
		{"rope interleaved", "(%x: f32[1,16,128,128], %p: i64[]) {\n %y: f32[1,16,128,128] = rope %x, %p {style = \"interleaved\"}"},
		{"kv_append", "(%c: f32[1,16,256,128], %n: f32[1,16,128,128], %p: i64[]) {\n %y: f32[1,16,256,128] = kv_append %c, %n, %p"},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, err := ir.Parse(op.Registry, "graph f"+c.src+"\n return %y\n}")
			if err != nil {
				b.Fatal(err)
			}
			back := cpu.New()
			back.Threads = 1
			exe := compile(b, back, g).(interface {
				RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error
			})
			in := nestInputs(b, g)
			out, err := tensor.Zeros(g.Outputs[0].Spec.DType, g.Outputs[0].Spec.Shape...)
			if err != nil {
				b.Fatal(err)
			}
			if g.Nodes[0].Op.Donates {
				out = in[0]
			}
			var bytes int64
			for _, v := range append(g.Inputs, g.Outputs...) {
				bytes += v.Spec.Bytes()
			}
			if g.Nodes[0].Op.Donates { // it touches what it appends
				bytes = 2 * g.Inputs[1].Spec.Bytes()
			}
			from, to := make([]byte, bytes/2), make([]byte, bytes/2)
			var best, limit float64
			for b.Loop() {
				start := time.Now()
				copy(to, from)
				middle := time.Now()
				if err := exe.RunInto(b.Context(), []*tensor.Tensor{out}, in); err != nil {
					b.Fatal(err)
				}
				limit = max(limit, float64(bytes)/float64(middle.Sub(start).Nanoseconds()))
				best = max(best, float64(bytes)/float64(time.Since(middle).Nanoseconds()))
			}
			b.ReportMetric(best, "GB/s")
			b.ReportMetric(100*best/limit, "%copy")
		})
	}
}

// nestInputs are small numbers, so that integers are possible indices.
func nestInputs(b testing.TB, g *ir.Graph) []*tensor.Tensor {
	b.Helper()
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		x, err := tensor.Rand(uint64(i+1), v.Spec.Shape...)
		if err != nil {
			b.Fatal(err)
		}
		for k := range x.Float32() {
			x.Float32()[k] = x.Float32()[k]*50 + 50
		}
		if x, err = x.Convert(v.Spec.DType); err != nil {
			b.Fatal(err)
		}
		in = append(in, x)
	}
	return in
}
