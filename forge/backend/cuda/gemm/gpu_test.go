package gemm

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

const (
	f32  = tensor.F32
	f16  = tensor.F16
	bf16 = tensor.BF16
)

// every is each kernel that can compute a shape, in one slice of k and in several.
func (s *Shape) every(t Target) []Kernel {
	var list []Kernel
	for _, c := range s.rowsOf(t) {
		list = append(list, s.rows(c, t.SMs))
	}
	for _, c := range directCuts {
		list = append(list, s.direct(c))
	}
	for _, slices := range []int{1, 3} {
		for _, c := range simtTiles {
			if !s.half(t) {
				list = append(list, s.simt(c, slices))
			}
		}
		for _, c := range mmaTiles {
			if s.half(t) && c.shared() <= t.Shared {
				list = append(list, s.mma(c, slices))
			}
		}
		for _, c := range wgmmaTiles {
			if s.half(t) && t.Capability == 90 {
				list = append(list, s.wgmma(c, slices, t.SMs))
			}
		}
	}
	return list
}

// bound is the error that a type may have, as [bench.worst] counts it.
var bound = map[tensor.DType]float64{f32: 2e-6, f16: 1.5e-3, bf16: 1.2e-2}

// TestKernels compares kernels with sums in float64, a quarter of them for each shape or all
// when FORGE_CONFORMANCE is full: sizes that no tile divides,
// matrices in both orders and with gaps, batches that share an operand, and epilogues.
func TestKernels(t *testing.T) {
	c := device(t)
	target := targetOf(c)
	batched := func(s *Shape, a, b int) *Shape {
		s.Batch = []int{2, 3}
		s.A.Batch, s.B.Batch = []int{a * s.M * s.K, 0}, []int{0, b * s.K * s.N}
		s.Out.Batch = []int{3 * s.M * s.N, s.M * s.N}
		return s
	}
	apart := func(s *Shape, gap int) *Shape { // elements that lie apart
		s.A.Row, s.B.Row, s.Out.Row = s.A.Row+gap, s.B.Row+gap, s.Out.Row+gap
		return s
	}
	turned := func(s *Shape) *Shape { // A as [K, M]
		s.A.Row, s.A.Column = 1, s.M
		return s
	}
	for at, s := range []*Shape{
		dense(f32, f32, f32, 100, 72, 52, false), dense(f32, f32, f32, 133, 77, 51, true), turned(dense(f32, f32, f32, 36, 260, 64, false)),
		dense(f32, bf16, f32, 131, 80, 136, false), dense(f32, f16, f32, 33, 77, 133, true), batched(dense(f32, f32, f32, 20, 24, 28, false), 1, 1),
		dense(bf16, bf16, bf16, 200, 136, 104, false), dense(f16, f16, f16, 200, 136, 104, true), turned(dense(bf16, bf16, bf16, 136, 200, 72, true)),
		dense(f16, f16, f16, 131, 77, 133, false), dense(bf16, bf16, bf16, 131, 77, 133, true), batched(dense(bf16, bf16, bf16, 24, 40, 64, false), 1, 1), apart(dense(bf16, bf16, bf16, 70, 64, 64, false), 8),
		dense(f32, bf16, f32, 1, 200, 1096, false), dense(f32, bf16, f32, 3, 200, 1096, true), dense(f32, f32, f32, 8, 204, 517, false), dense(f32, f32, f32, 1, 33, 1096, true), apart(dense(f32, f32, f32, 2, 64, 64, false), 3),
		dense(bf16, bf16, bf16, 1, 200, 1096, false), dense(bf16, bf16, bf16, 5, 200, 1096, true), dense(f16, f16, f16, 16, 520, 520, true), dense(f16, f16, f16, 11, 1000, 4096, false), batched(dense(f32, bf16, f32, 2, 40, 64, false), 1, 1),
		dense(bf16, bf16, bf16, 600, 520, 1096, false), dense(f32, f32, f32, 1, 1, 1, false), dense(f16, f16, f16, 1, 7, 3, false),
	} {
		bias := randomOperand(s.Out.Elem, s.N, 5)
		s.Finish = Finish{
			Params: []string{fmt.Sprintf("const %s *bias", elem(s.Out.Elem))},
			Body:   "    const float x = sum + gemm::to_float(bias[n]) + 0.25f * m;\n    return x < 0 ? 0 : x;",
		}
		t.Run(s.String(), func(t *testing.T) {
			b := newBench(t, c, s, 1, bias)
			b.reference = func(z, m, n int, sum float64) float64 {
				return max(0, sum+float64(bias.values[n])+0.25*float64(m))
			}
			var list []Kernel
			for i, k := range s.every(target) {
				if os.Getenv("FORGE_CONFORMANCE") == "full" || (i+at)%4 == 0 {
					list = append(list, k)
				}
			}
			want := b.sampled(3000)
			for _, k := range compileAll(t, c, list) {
				b.check(k, want)
			}
		})
	}
}

// String is the sizes of a shape and the order of its matrices.
func (s *Shape) String() string {
	return fmt.Sprintf("%v%v,%v,%v,%d-%dx%dx%d,%d-%d,%d-%d", s.Batch, s.A.Elem, s.B.Elem, s.Out.Elem, s.M, s.N, s.K, s.A.Row, s.A.Column, s.B.Row, s.B.Column, s.Out.Row)
}

// check runs a kernel twice: counters must be as they were.
func (b *bench) check(k compiled, want []sample) {
	b.t.Helper()
	b.do(func() error {
		r, err := b.load(k)
		if err != nil {
			b.t.Errorf("%s: %v", k.Name, err)
			return nil
		}
		for range 2 {
			x, err := r.results()
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			if worst, where := b.worst(x, want); !(worst < bound[b.shape.Out.Elem]) {
				b.t.Errorf("%s errs by %.2g at %s", k.Name, worst, where)
			}
		}
		return r.close()
	})
}

// work is what is measured: a shape with so many copies of B, which no cache holds.
type work struct {
	shape          *Shape
	copies, rounds int
}

var works = map[string][]work{
	"tiles": {
		{dense(bf16, bf16, bf16, 4096, 4096, 4096, true), 1, 10}, {dense(bf16, bf16, bf16, 4096, 4096, 4096, false), 1, 10}, {dense(f32, f32, f32, 4096, 4096, 4096, false), 1, 3},
		{dense(bf16, bf16, bf16, 2048, 2048, 2048, true), 1, 10}, {dense(bf16, bf16, bf16, 1024, 1024, 1024, false), 1, 20}, {dense(f32, f32, f32, 1024, 1024, 1024, false), 1, 10}, {dense(f32, f32, f32, 2048, 2048, 2048, false), 1, 4},
	},
	"rows": {
		{dense(f32, bf16, f32, 1, 4096, 4096, false), 10, 20}, {dense(f32, bf16, f32, 1, 14336, 4096, false), 4, 8}, {dense(f32, bf16, f32, 1, 4096, 14336, false), 4, 8}, {dense(f32, bf16, f32, 1, 6144, 4096, false), 8, 16}, {dense(f32, bf16, f32, 1, 1024, 4096, false), 50, 100}, {dense(f32, bf16, f32, 1, 32064, 4096, true), 1, 3},
		{dense(f32, bf16, f32, 1, 2048, 2048, false), 40, 80}, {dense(f32, bf16, f32, 1, 8192, 2048, false), 10, 20}, {dense(f32, bf16, f32, 1, 2048, 8192, false), 10, 20}, {dense(f32, bf16, f32, 1, 512, 2048, false), 100, 100},
		{dense(bf16, bf16, bf16, 1, 4096, 4096, false), 10, 20}, {dense(bf16, bf16, bf16, 1, 14336, 4096, true), 4, 8}, {dense(bf16, bf16, bf16, 8, 4096, 4096, false), 10, 20}, {dense(bf16, bf16, bf16, 16, 4096, 4096, true), 10, 20}, {dense(f32, bf16, f32, 4, 4096, 4096, false), 10, 20}, {dense(f32, bf16, f32, 8, 4096, 4096, true), 10, 20}, {dense(f32, f32, f32, 1, 4096, 4096, false), 6, 12}, {dense(f32, bf16, f32, 16, 4096, 4096, false), 10, 20},
	},
	"small": {
		{dense(f32, f32, f32, 8, 128, 64, false), 1, 200}, {dense(f32, f32, f32, 8, 32, 128, false), 1, 200}, {dense(f32, f32, f32, 32, 256, 128, false), 1, 200}, {dense(f32, f32, f32, 64, 512, 256, false), 1, 200}, {dense(f32, f32, f32, 64, 128, 512, false), 1, 200},
		{dense(f32, f32, f32, 96, 256, 128, false), 1, 200}, {dense(f32, f32, f32, 96, 128, 256, false), 1, 200}, {dense(f16, f16, f16, 64, 512, 256, false), 1, 200}, {dense(f32, f32, f32, 64, 3072, 768, false), 1, 100}, {dense(f32, f32, f32, 64, 768, 3072, false), 1, 100}, {dense(bf16, bf16, bf16, 32, 4096, 4096, false), 10, 20}, {dense(bf16, bf16, bf16, 128, 4096, 4096, false), 10, 20},
	},
}

// TestTimes prints the time of all candidates of shapes, in the order of the model, when
// FORGE_GEMM_TIMES names some of "tiles rows small". A pick that is more than 5 % slower than the best is marked.
func TestTimes(t *testing.T) {
	c := device(t)
	sets := strings.Fields(os.Getenv("FORGE_GEMM_TIMES"))
	if len(sets) == 0 {
		t.Skip("FORGE_GEMM_TIMES names no set")
	}
	for _, set := range sets {
		for _, w := range works[set] {
			w.measure(t, c)
		}
	}
}

func (w work) measure(t *testing.T, c *driver.Context) {
	s := w.shape
	list := Candidates(s, targetOf(c))
	if os.Getenv("FORGE_GEMM_ALL") != "" {
		list = s.every(targetOf(c))
	}
	b := newBench(t, c, s, w.copies)
	want := b.sampled(300)
	var lines []string
	best, first := time.Duration(0), time.Duration(0)
	for _, k := range compileAll(t, c, list) {
		b.do(func() error {
			r, err := b.load(k)
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			x, err := r.results()
			if err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			worst, where := b.worst(x, want)
			each, err := r.time(w.rounds)
			if err != nil {
				return err
			}
			if best == 0 || each < best {
				best = each
			}
			if first == 0 {
				first = each
			}
			lines = append(lines, fmt.Sprintf("  %8.2f us %7.1f TFLOP/s %6.0f GB/s  %s  errs by %.1e at %s", float64(each.Nanoseconds())/1e3,
				2*float64(s.M)*float64(s.N)*float64(s.K)/each.Seconds()/1e12, s.bytes()/each.Seconds()/1e9, k.Name, worst, where))
			return r.close()
		})
	}
	fmt.Printf("%v: the first takes %.2f of the best\n%s\n", s, first.Seconds()/best.Seconds(), strings.Join(lines, "\n"))
}
