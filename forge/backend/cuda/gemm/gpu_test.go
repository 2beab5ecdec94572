package gemm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

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
		if s.Window == nil {
			list = append(list, s.direct(c))
		}
	}
	s.eachTile(t, func(c tile, make func(k split) Kernel) {
		list = append(list, make(split{slices: 1}), make(split{slices: 3}))
		if c.clusters && t.Capability >= 90 {
			list = append(list, make(split{slices: 3, clustered: true}))
		}
	})
	return list
}

// bound is the error that a type may have, as [bench.worst] counts it.
var bound = map[tensor.DType]float64{f32: 2e-6, f16: 1.5e-3, bf16: 1.2e-2}

// kernelShapes are sizes that no tile divides, matrices in both orders and with gaps, batches
// that share an operand or lie within rows, and more tiles than blocks.
func kernelShapes() []*Shape {
	batched := func(s *Shape, a, b int) *Shape {
		s.Batch = []int{2, 3}
		s.A.Batch, s.B.Batch = []int{a * s.M * s.K, 0}, []int{0, b * s.K * s.N}
		s.Out.Batch = []int{3 * s.M * s.N, s.M * s.N}
		return s
	}
	heads := func(s *Shape) *Shape { // [batch, row, head, k]
		s.Batch = []int{2, 3}
		s.A.Batch, s.A.Row = []int{3 * s.M * s.K, s.K}, 3*s.K
		s.B.Batch, s.B.Column = []int{3 * s.N * s.K, s.K}, 3*s.K
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
	return []*Shape{
		dense(f32, f32, f32, 100, 72, 52, false), dense(f32, f32, f32, 133, 77, 51, true), turned(dense(f32, f32, f32, 36, 260, 64, false)),
		dense(f32, bf16, f32, 131, 80, 136, false), dense(f32, f16, f32, 33, 77, 133, true), batched(dense(f32, f32, f32, 20, 24, 28, false), 1, 1),
		dense(bf16, bf16, bf16, 200, 136, 104, false), dense(f16, f16, f16, 200, 136, 104, true), turned(dense(bf16, bf16, bf16, 136, 200, 72, true)),
		dense(f16, f16, f16, 131, 77, 133, false), dense(bf16, bf16, bf16, 131, 77, 133, true), batched(dense(bf16, bf16, bf16, 24, 40, 64, false), 1, 1), apart(dense(bf16, bf16, bf16, 70, 64, 64, false), 8),
		dense(f32, bf16, f32, 1, 200, 1096, false), dense(f32, bf16, f32, 3, 200, 1096, true), dense(f32, f32, f32, 8, 204, 517, false), dense(f32, f32, f32, 1, 33, 1096, true), apart(dense(f32, f32, f32, 2, 64, 64, false), 3),
		dense(bf16, bf16, bf16, 1, 200, 1096, false), dense(bf16, bf16, bf16, 5, 200, 1096, true), dense(f16, f16, f16, 16, 520, 520, true), dense(f16, f16, f16, 11, 1000, 4096, false), batched(dense(f32, bf16, f32, 2, 40, 64, false), 1, 1),
		dense(bf16, bf16, bf16, 600, 520, 1096, false), dense(f32, f32, f32, 1, 1, 1, false), dense(f16, f16, f16, 1, 7, 3, false),
		dense(f32, bf16, f32, 13, 200, 1096, false), heads(dense(bf16, bf16, bf16, 70, 72, 64, true)), dense(bf16, bf16, bf16, 2200, 2104, 200, true), dense(f16, f16, f16, 2200, 2104, 200, false),
	}
}

// biased adds a row and a number of each line to results, and takes those below 0 away.
func (s *Shape) biased() {
	s.Finish = Finish{
		Params: []string{fmt.Sprintf("const %s *bias", elem(s.Out.Elem))},
		Body:   "    const float x = sum + gemm::to_float(bias[n]) + 0.25f * m;\n    return x < 0 ? 0 : x;",
	}
}

// some are the kernels of a shape that are tested: a quarter, or all when FORGE_CONFORMANCE
// is full.
func (s *Shape) some(t Target, at int) []Kernel {
	var list []Kernel
	for i, k := range s.every(t) {
		if os.Getenv("FORGE_CONFORMANCE") == "full" || (i+at)%4 == 0 {
			list = append(list, k)
		}
	}
	return list
}

// TestKernels compares kernels with sums in float64.
func TestKernels(t *testing.T) {
	c := device(t)
	for at, s := range kernelShapes() {
		s.biased()
		bias := randomOperand(s.Out.Elem, s.N, 5)
		t.Run(s.String(), func(t *testing.T) {
			b := newBench(t, c, s, 1, bias)
			b.reference = func(z, m, n int, sum float64) float64 {
				return max(0, sum+bias.at(n)+0.25*float64(m))
			}
			want := b.sampled(3000)
			for _, k := range compileAll(t, c, s.some(targetOf(c), at)) {
				b.check(k, want)
			}
		})
	}
}

// TestSpecial sees that zeros, numbers below the normal ones, infinities and NaN of few rows
// give what they give in float64: kernels that take numbers apart must not make others of
// them.
func TestSpecial(t *testing.T) {
	c := device(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	a := []float32{0, 1, -3, 0x1p-149, inf, -inf, nan, 16777217}
	w := []float32{inf, -inf, nan, 0, 1, 2}
	for _, along := range []bool{false, true} {
		s := dense(f32, bf16, f32, len(a), 64, 64, along)
		t.Run(s.String(), func(t *testing.T) {
			b := newBench(t, c, s, 1)
			b.do(func() error { // row m has a special number at k = m, and column n one at k = n % 8
				for m, x := range a {
					b.operands[A].set(f32, s.at(&s.A, 0, m, m), x)
				}
				for n := range s.N {
					b.operands[B].set(bf16, s.at(&s.B, 0, n%len(a), n), w[n/len(a)%len(w)])
				}
				return errors.Join(b.s.Upload(b.operands[A].memory[0], 0, b.operands[A].raw), b.s.Upload(b.operands[B].memory[0], 0, b.operands[B].raw))
			})
			want := b.sampled(s.M * s.N)
			for _, k := range compileAll(t, c, s.every(targetOf(c))) {
				b.do(func() error {
					r, err := b.load(k)
					if err != nil {
						return fmt.Errorf("%s: %w", k.Name, err)
					}
					x, err := r.results()
					if err != nil {
						return fmt.Errorf("%s: %w", k.Name, err)
					}
					for _, p := range want {
						got := x.Elem(s.at(&s.Out, 0, p.m, p.n))
						if math.IsNaN(got) != math.IsNaN(p.want) || math.IsInf(p.want, 0) && got != p.want {
							t.Errorf("%s: row %d, column %d is %g, not %g", k.Name, p.m, p.n, got, p.want)
							break
						}
					}
					return r.close()
				})
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
