package vector_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/backend/portable/vector"
)

// arguments are float32 numbers from all over their range: every bit pattern in
// equal steps, and dense around where the functions change their method.
func arguments() []float32 {
	var list []float32
	const step = 90_007
	for bits := uint64(0); bits < 1<<32; bits += step {
		list = append(list, math.Float32frombits(uint32(bits)))
	}
	for x := -120.0; x < 120; x += 0.0071 {
		list = append(list, float32(x))
	}
	for _, at := range []float32{0, 0.625, 1, 1.25, 14.6, 15, 17, 89, 104, 110, 0x1p-126} {
		for d := range uint32(40) {
			bits := math.Float32bits(at) + d - 20*min(1, math.Float32bits(at))
			list = append(list, math.Float32frombits(bits), -math.Float32frombits(bits))
		}
	}
	return list[:len(list)/vector.Lanes*vector.Lanes]
}

// differ reports where two slices have different bits; NaNs need not have the
// same payload, but masks are NaNs too.
func differ(got, want []float32) int {
	for i := range want {
		g, w := math.Float32bits(got[i]), math.Float32bits(want[i])
		if g != w && (got[i] == got[i] || want[i] == want[i] || g == math.MaxUint32 || w == math.MaxUint32) {
			return i
		}
	}
	return -1
}

// TestFunctions demands the bits of the plain Go of every set.
func TestFunctions(t *testing.T) {
	x := arguments()
	y, mask, got, want := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
	for i := range x { // the same numbers in another order
		y[i] = x[i*7%len(x)]
	}
	vector.Generic.Binary["lt"](mask, x, y)
	for _, s := range vector.Sets() {
		check := func(name string) {
			t.Helper()
			if i := differ(got, want); i >= 0 {
				t.Errorf("%s of %s at %g, %g is %x, want %x", name, s.Name, x[i], y[i], got[i], want[i])
			}
		}
		if len(s.Unary) != len(vector.Generic.Unary) || len(s.Binary) != len(vector.Generic.Binary) {
			t.Errorf("%s lacks functions", s.Name)
		}
		for name, f := range s.Unary {
			f(got, x)
			vector.Generic.Unary[name](want, x)
			check(name)
		}
		for name, f := range s.Binary {
			f(got, x, y)
			vector.Generic.Binary[name](want, x, y)
			check(name)
		}
		s.Where(got, mask, x, y)
		vector.Generic.Where(want, mask, x, y)
		check("where")
		s.Fill(got[:48], -3)
		vector.Generic.Fill(want[:48], -3)
		check("fill")
		copy(got, x) // in place
		vector.Generic.Where(want, mask, x, y)
		s.Where(got, mask, got, y)
		check("where")
	}
}

func TestFolds(t *testing.T) {
	for _, s := range vector.Sets() {
		for name, f := range s.Folds {
			for _, special := range []float32{1, float32(math.NaN()), float32(math.Inf(-1)), float32(math.Copysign(0, -1))} {
				x := make([]float32, 7*vector.Lanes)
				for i := range x {
					x[i] = float32(i%13) - 6
				}
				x[40] = special
				got := [vector.Lanes]float32{3, -9}
				want := got
				f(&got, x)
				vector.Generic.Folds[name](&want, x)
				if i := differ(got[:], want[:]); i >= 0 {
					t.Errorf("%s of %s with %g: lane %d is %g, want %g", name, s.Name, special, i, got[i], want[i])
				}
			}
		}
	}
}

// TestTiles compares every tile with float64, with strides of all kinds, and
// looks at what stands around the result.
func TestTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32() - 0.5
		}
		return x
	}
	for _, s := range vector.Sets() {
		for shape, tile := range s.Tiles {
			columns := shape.Columns * vector.Lanes
			for _, c := range []struct{ k, lda, ska, ldb, ldc int }{{0, 1, 1, columns, columns}, {1, 5, 1, columns, columns + 3}, {19, 19, 1, columns, columns}, {33, 1, shape.Rows, columns + 9, columns}} {
				a, b, bias := random(max(1, shape.Rows*c.lda+c.k*c.ska)), random(max(1, c.k*c.ldb)), random(columns)
				for _, start := range [][]float32{nil, bias} {
					out := make([]float32, shape.Rows*c.ldc+1)
					for i := range out {
						out[i] = 777
					}
					var first *float32
					if start != nil {
						first = &start[0]
					}
					tile(&a[0], c.lda, c.ska, &b[0], c.ldb, c.k, first, &out[0], c.ldc)
					for i := range out {
						row, column := i/c.ldc, i%c.ldc
						want := 777.0
						if row < shape.Rows && column < columns {
							want = 0
							if start != nil {
								want = float64(start[column])
							}
							for k := range c.k {
								want += float64(a[row*c.lda+k*c.ska]) * float64(b[k*c.ldb+column])
							}
						}
						if math.Abs(float64(out[i])-want) > 1e-5 {
							t.Fatalf("tile %v of %s, %+v: (%d,%d) is %g, want %g", shape, s.Name, c, row, column, out[i], want)
						}
					}
				}
			}
		}
	}
}

// BenchmarkTiles measures tiles whose operands are in the nearest cache.
func BenchmarkTiles(b *testing.B) {
	for _, s := range vector.Sets() {
		for _, shape := range []vector.Shape{{Rows: 8, Columns: 3}, {Rows: 8, Columns: 2}, {Rows: 6, Columns: 4}, {Rows: 6, Columns: 1}, {Rows: 4, Columns: 1}, {Rows: 3, Columns: 2}} {
			tile := s.Tiles[shape]
			if tile == nil {
				continue
			}
			b.Run(s.Name, func(b *testing.B) {
				const k = 128
				columns := shape.Columns * vector.Lanes
				x, y, z := make([]float32, shape.Rows*k), make([]float32, k*columns), make([]float32, shape.Rows*columns)
				for b.Loop() {
					tile(&x[0], k, 1, &y[0], columns, k, nil, &z[0], columns)
				}
				b.ReportMetric(float64(2*k*shape.Rows*columns)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}

// BenchmarkFunctions measures a chunk in the nearest cache.
func BenchmarkFunctions(b *testing.B) {
	x, y := make([]float32, 1024), make([]float32, 1024)
	for i := range x {
		x[i] = float32(i%17) - 8
	}
	for _, s := range vector.Sets() {
		for _, name := range []string{"exp", "gelu", "tanh"} {
			b.Run(s.Name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					s.Unary[name](y, x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
			})
		}
	}
}
