package gocell

import (
	"fmt"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

func BenchmarkFirstCell(b *testing.B) {
	for b.Loop() {
		s, _ := newTestSession(b, Options{})
		mustRun(b, s, `fmt.Println("hello")`)
	}
}

func BenchmarkWarmCell(b *testing.B) {
	s, out := newTestSession(b, Options{})
	mustRun(b, s, `x := 1`)
	for b.Loop() {
		mustRun(b, s, `fmt.Println(x + 1)`)
		out.take()
	}
}

func BenchmarkExpression(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	for b.Loop() {
		mustRun(b, s, `1 + 1`)
	}
}

func BenchmarkIntLoop(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	mustRun(b, s, `func loop(n int) int { t := 0; for i := 0; i < n; i++ { t += i }; return t }`)
	for b.Loop() {
		mustRun(b, s, `loop(1_000_000)`)
	}
}

func BenchmarkFib(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	mustRun(b, s, `func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }`)
	for b.Loop() {
		mustRun(b, s, `fib(20)`)
	}
}

func BenchmarkFloatSum(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	mustRun(b, s, "xs := make([]float64, 100_000)\nfunc sum(xs []float64) (t float64) { for i := range xs { t += xs[i] }; return }")
	for b.Loop() {
		mustRun(b, s, `sum(xs)`)
	}
}

// Compiled code that calls back: the comparison runs about 300,000 times.
func BenchmarkSortSlice(b *testing.B) {
	benchmarkCell(b, `func less(xs []int) []int {
	ys := slices.Clone(xs)
	sort.Slice(ys, func(i, j int) bool { return ys[i] < ys[j] })
	return ys
}
xs := make([]int, 20_000)
for i := range xs { xs[i] = i * 7919 % 20_011 }`, `less(xs)[0]`)
}

func BenchmarkSortInterface(b *testing.B) {
	benchmarkCell(b, `type byValue []int
func (s byValue) Len() int           { return len(s) }
func (s byValue) Less(i, j int) bool { return s[i] < s[j] }
func (s byValue) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
xs := make([]int, 20_000)
for i := range xs { xs[i] = i * 7919 % 20_011 }`, `ys := slices.Clone(xs); sort.Sort(byValue(ys)); ys[0]`)
}

func BenchmarkInterfaceCall(b *testing.B) {
	benchmarkCell(b, `type shape interface{ area(k int) float64 }
type square struct{ side float64 }
func (s square) area(k int) float64 { return s.side * float64(k) }
func total(s shape, n int) (t float64) { for i := range n { t += s.area(i) }; return }`, `total(square{2}, 100_000)`)
}

func BenchmarkMapRunes(b *testing.B) {
	benchmarkCell(b, `text := strings.Repeat("a", 100_000)`, `len(strings.Map(func(r rune) rune { return r + 1 }, text))`)
}

// The product of two matrices of 200 rows.
func BenchmarkMatMulNested(b *testing.B) {
	benchmarkCell(b, `func mat(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
		for j := range m[i] { m[i][j] = float64(i + j) }
	}
	return m
}
func mul(a, b [][]float64) [][]float64 {
	n := len(a)
	c := mat(n)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := 0.0
			for k := 0; k < n; k++ { s += a[i][k] * b[k][j] }
			c[i][j] = s
		}
	}
	return c
}
a := mat(200)`, `mul(a, a)[1][1]`)
}

func BenchmarkMatMulFlat(b *testing.B) {
	benchmarkCell(b, `func mul(a, b []float64, n int) []float64 {
	c := make([]float64, n*n)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := 0.0
			for k := 0; k < n; k++ { s += a[i*n+k] * b[k*n+j] }
			c[i*n+j] = s
		}
	}
	return c
}
a := make([]float64, 200*200)`, `mul(a, a, 200)[1]`)
}

func benchmarkCell(b *testing.B, setup, cell string) {
	s, _ := newTestSession(b, Options{})
	mustRun(b, s, setup)
	b.ReportAllocs()
	for b.Loop() {
		mustRun(b, s, cell)
	}
}

// A person waits for these at each key; the bar is 10 ms.
func BenchmarkComplete(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	for i := range 200 {
		mustRun(b, s, fmt.Sprintf("variable%d := %d\nfunc function%d(n int) int { return n + variable%d }", i, i, i, i))
	}
	mustRun(b, s, "keyed := map[string]int{}\nfor i := range 10_000 { keyed[strconv.Itoa(i)] = i }")
	for name, source := range map[string]string{
		"keys": "keyed[\"12", "case": "switch time.Monday {\ncase ", "argument": "function1(", "members": "strings.", "names": "vari", "broken": "xs := []string{\"a\"}\nfor _, x := range xs {\n\tfmt.Println(function1(len(x)), vari",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if len(s.Complete(source, len(source)).Candidates) == 0 {
					b.Fatal("no candidates")
				}
			}
		})
	}
}

func BenchmarkInspect(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	const source = "fmt.Println(strings.Builder{})"
	for b.Loop() {
		if _, ok := s.Inspect(source, 6, 0); !ok {
			b.Fatal("nothing is known of Println")
		}
	}
}

// What a loop costs while a debugger is attached.
func BenchmarkTracedLoop(b *testing.B) {
	s, _ := newTestSession(b, Options{})
	mustRun(b, s, `func loop(n int) int { t := 0; for i := 0; i < n; i++ { t += i }; return t }`)
	s.Debugger().Attach(func(eval.Halt) {})
	defer s.Debugger().Detach()
	for b.Loop() {
		mustRun(b, s, `loop(100_000)`)
	}
}
