package mathf_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/mathf"
)

// TestDots compares rows taken four at a time with one product after another,
// bit by bit, on numbers whose sums are half-way cases now and then.
func TestDots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, 1 + 0x1p-23, 0x1p-24, -0x1p-24, 0x1p-149, 0x1p-126, 0x1p100, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	number := func() float32 {
		if r.IntN(3) == 0 {
			return special[r.IntN(len(special))]
		}
		return float32(r.IntN(1<<20)) * 0x1p-10
	}
	for range 2000 {
		d, rows := r.IntN(9), r.IntN(11)
		q, k, got := make([]float32, d), make([]float32, rows*d), make([]float32, rows)
		for i := range q {
			q[i] = number()
		}
		for i := range k {
			k[i] = number()
		}
		mathf.Dots(got, q, k)
		for j := range got {
			var want float32
			for i := range q {
				want = mathf.FMA(q[i], k[j*d+i], want)
			}
			if math.Float32bits(got[j]) != math.Float32bits(want) && (got[j] == got[j] || want == want) {
				t.Fatalf("row %d of %d by %d is %v, want %v", j, rows, d, got[j], want)
			}
		}
	}
}
