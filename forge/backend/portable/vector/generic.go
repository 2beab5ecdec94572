package vector

import (
	"math"
	"unsafe"

	"forgekernel/forge/mathf"
)

// Generic is plain Go.
var Generic = Set{
	Name:    "go",
	Vectors: Lanes,
	Unary: map[string]Unary{
		"neg":       each(func(x float32) float32 { return -x }),
		"abs":       each(mathf.Abs),
		"not":       each(func(x float32) float32 { return fromBits(^math.Float32bits(x)) }),
		"relu":      each(relu),
		"sqrt":      each(mathf.Sqrt),
		"rsqrt":     each(mathf.Rsqrt),
		"exp":       each(mathf.Exp),
		"log":       each(mathf.Log),
		"sigmoid":   each(mathf.Sigmoid),
		"tanh":      each(mathf.Tanh),
		"silu":      each(mathf.Silu),
		"erf":       each(mathf.Erf),
		"gelu":      each(mathf.Gelu),
		"gelu_tanh": each(mathf.GeluTanh),
	},
	Binary: map[string]Binary{
		"add":     pairs(add),
		"sub":     pairs(func(x, y float32) float32 { return x - y }),
		"mul":     pairs(func(x, y float32) float32 { return x * y }),
		"div":     pairs(func(x, y float32) float32 { return x / y }),
		"maximum": pairs(larger),
		"minimum": pairs(smaller),
		"and":     pairs(func(x, y float32) float32 { return fromBits(math.Float32bits(x) & math.Float32bits(y)) }),
		"or":      pairs(func(x, y float32) float32 { return fromBits(math.Float32bits(x) | math.Float32bits(y)) }),
		"eq":      pairs(func(x, y float32) float32 { return condition(x == y) }),
		"ne":      pairs(func(x, y float32) float32 { return condition(x != y) }),
		"lt":      pairs(func(x, y float32) float32 { return condition(x < y) }),
		"le":      pairs(func(x, y float32) float32 { return condition(x <= y) }),
		"gt":      pairs(func(x, y float32) float32 { return condition(x > y) }),
		"ge":      pairs(func(x, y float32) float32 { return condition(x >= y) }),
	},
	Folds: map[string]Fold{"sum": fold(add), "max": fold(larger), "min": fold(smaller)},
	Where: func(dst, c, x, y []float32) {
		for i := range dst {
			v := y[i]
			if math.Float32bits(c[i]) != 0 {
				v = x[i]
			}
			dst[i] = v
		}
	},
	Fill: func(dst []float32, x float32) {
		for i := range dst {
			dst[i] = x
		}
	},
	Tiles: map[Shape]Tile{{1, 1}: rowsTile(1), {2, 1}: rowsTile(2), {3, 1}: rowsTile(3), {4, 1}: rowsTile(4)},
}

func each(f func(float32) float32) Unary {
	return func(dst, x []float32) {
		for i := range dst {
			dst[i] = f(x[i])
		}
	}
}

func pairs(f func(x, y float32) float32) Binary {
	return func(dst, x, y []float32) {
		for i := range dst {
			dst[i] = f(x[i], y[i])
		}
	}
}

func fold(f func(x, y float32) float32) Fold {
	return func(acc *[Lanes]float32, x []float32) {
		for ; len(x) >= Lanes; x = x[Lanes:] {
			for l := range acc {
				acc[l] = f(acc[l], x[l])
			}
		}
	}
}

func fromBits(b uint32) float32 { return math.Float32frombits(b) }

func condition(holds bool) float32 {
	if holds {
		return fromBits(0xffffffff)
	}
	return 0
}

func add(x, y float32) float32     { return x + y }
func larger(x, y float32) float32  { return max(x, y) }
func smaller(x, y float32) float32 { return min(x, y) }

func relu(x float32) float32 {
	if x <= 0 {
		return 0
	}
	return x
}

// rowsTile is a [Tile] of 16 columns in plain Go, two rows by two columns at a
// time. Sums are float64, in which products are exact, and rounded once.
func rowsTile(rows int) Tile {
	return func(a *float32, lda, ska int, b *float32, ldb, k int, bias, c *float32, ldc int) {
		for r := 0; r < rows; r += 2 {
			below := min(r+1, rows-1) // the last of an odd number of rows is computed twice
			for j := 0; j < Lanes; j += 2 {
				var s [4]float64
				if bias != nil {
					s[0], s[1] = float64(*at(bias, j)), float64(*at(bias, j+1))
					s[2], s[3] = s[0], s[1]
				}
				square(&s, a, r*lda, below*lda, ska, b, j, ldb, k)
				*at(c, r*ldc+j), *at(c, r*ldc+j+1) = float32(s[0]), float32(s[1])
				*at(c, below*ldc+j), *at(c, below*ldc+j+1) = float32(s[2]), float32(s[3])
			}
		}
	}
}

// square adds the products of two rows of A, which begin at r0 and r1, and two
// columns of B, from j on, to s.
func square(s *[4]float64, a *float32, r0, r1, ska int, b *float32, j, ldb, k int) {
	s00, s01, s10, s11 := s[0], s[1], s[2], s[3]
	for i := range k {
		x0, x1 := float64(*at(a, r0+i*ska)), float64(*at(a, r1+i*ska))
		y0, y1 := float64(*at(b, j+i*ldb)), float64(*at(b, j+i*ldb+1))
		s00 += float64(x0 * y0)
		s01 += float64(x0 * y1)
		s10 += float64(x1 * y0)
		s11 += float64(x1 * y1)
	}
	s[0], s[1], s[2], s[3] = s00, s01, s10, s11
}

func at(p *float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*i))
}
