package shader

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

func source(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".wgsl")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t testing.TB, src string) *Module {
	t.Helper()
	m, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func floatBytes(v ...float32) []byte {
	b := make([]byte, 4*len(v))
	for i, f := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
	}
	return b
}

func intBytes(v ...uint32) []byte {
	b := make([]byte, 4*len(v))
	for i, w := range v {
		binary.LittleEndian.PutUint32(b[4*i:], w)
	}
	return b
}

func bytesFloats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// kernelCase is a kernel with its reference in float64.
type kernelCase struct {
	name  string
	calls func() Call
	out   Binding
	want  []float64
	// tolerance is relative to the largest magnitude of want.
	tolerance float64
}

func matmulCase(m, n, k int) kernelCase {
	a, b := random(1, m*k), random(2, k*n)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				want[i*n+j] += float64(a[i*k+l]) * float64(b[l*n+j])
			}
		}
	}
	return kernelCase{"matmul", func() Call {
		return Call{Groups: [3]uint32{uint32(n+15) / 16, uint32(m+15) / 16, 1}, Bindings: map[Binding][]byte{
			{0, 0}: floatBytes(a...), {0, 1}: floatBytes(b...), {0, 2}: make([]byte, 4*m*n),
			{0, 3}: intBytes(uint32(m), uint32(n), uint32(k)),
		}}
	}, Binding{0, 2}, want, 1e-6}
}

func softmaxCase(rows, columns int) kernelCase {
	// So far apart that exp overflows unless the largest is subtracted.
	x := random(3, rows*columns)
	for i := range x {
		x[i] *= 300
	}
	want := make([]float64, rows*columns)
	for r := range rows {
		sum, top := 0.0, float64(slices.Max(x[r*columns:(r+1)*columns]))
		for i := range columns {
			want[r*columns+i] = math.Exp(float64(x[r*columns+i]) - top)
			sum += want[r*columns+i]
		}
		for i := range columns {
			want[r*columns+i] /= sum
		}
	}
	return kernelCase{"softmax", func() Call {
		return Call{Groups: [3]uint32{uint32(rows), 1, 1}, Bindings: map[Binding][]byte{
			{0, 0}: floatBytes(x...), {0, 1}: make([]byte, 4*rows*columns), {0, 2}: intBytes(uint32(rows), uint32(columns)),
		}}
	}, Binding{0, 1}, want, 1e-6}
}

func reduceCase(n int) kernelCase {
	x := random(4, n)
	want := make([]float64, (n+63)/64)
	for i, v := range x {
		want[i/64] += float64(v)
	}
	return kernelCase{"reduce", func() Call {
		return Call{Groups: [3]uint32{uint32(len(want)), 1, 1}, Bindings: map[Binding][]byte{
			{0, 0}: floatBytes(x...), {0, 1}: make([]byte, 4*len(want))}}
	}, Binding{0, 1}, want, 1e-6}
}

// kernelCases are of sizes that end within each part of a tile.
func kernelCases() []kernelCase {
	return []kernelCase{matmulCase(37, 45, 50), softmaxCase(5, 150), softmaxCase(40, 70), reduceCase(330), reduceCase(360)}
}

// wrong is the largest error relative to the largest magnitude wanted.
func wrong(got []float32, want []float64) float64 {
	scale, worst := 0.0, 0.0
	for i, w := range want {
		scale = max(scale, math.Abs(w))
		d := math.Abs(float64(got[i]) - w)
		if d != d {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst / scale
}

func TestKernels(t *testing.T) {
	for _, k := range kernelCases() {
		t.Run(fmt.Sprint(k.name, len(k.want)), func(t *testing.T) {
			m := parse(t, source(t, k.name))
			call := k.calls()
			if err := m.Dispatch(context.Background(), call); err != nil {
				t.Fatal(err)
			}
			if e := wrong(bytesFloats(call.Bindings[k.out]), k.want); e > k.tolerance {
				t.Errorf("relative error %g", e)
			}
		})
	}
}

func BenchmarkMatmul128(b *testing.B) { benchmark(b, matmulCase(128, 128, 128)) }
func BenchmarkSoftmax(b *testing.B)   { benchmark(b, softmaxCase(64, 1024)) }
func BenchmarkReduce(b *testing.B)    { benchmark(b, reduceCase(1<<16)) }

// benchmark tells how many instructions of single invocations run in a second.
func benchmark(b *testing.B, k kernelCase) {
	m := parse(b, source(b, k.name))
	var work int64
	for b.Loop() {
		n, err := m.dispatch(context.Background(), k.calls())
		if err != nil {
			b.Fatal(err)
		}
		work += n
	}
	b.ReportMetric(float64(work)/b.Elapsed().Seconds(), "instructions/s")
}

func BenchmarkParse(b *testing.B) {
	src := source(b, "softmax")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile measures what the first dispatch of a module takes more.
func BenchmarkCompile(b *testing.B) {
	src := source(b, "softmax")
	for b.Loop() {
		m := parse(b, src)
		if _, err := m.program(Call{}, Limits{}.defaults()); err != nil {
			b.Fatal(err)
		}
	}
}
