package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLeading compares the best score, its margin and the first that is no number with a
// plain search, on ties, at all lengths and with the wrong number anywhere.
func TestLeading(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 300; n++ {
		scores := make([]float32, n)
		for i := range scores {
			scores[i] = float32(random.IntN(20)) - 10
		}
		first, second, best := math.Inf(-1), math.Inf(-1), 0
		for i, x := range scores {
			if v := float64(x); v > first {
				first, second, best = v, first, i
			} else {
				second = max(second, v)
			}
		}
		got, margin, err := leading(scores)
		if err != nil || int(got) != best || margin != first-second {
			t.Fatalf("of %d: %d by %v, %v; want %d by %v", n, got, margin, err, best, first-second)
		}
		for _, wrong := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			at := random.IntN(n)
			kept := scores[at]
			scores[at] = float32(wrong)
			if _, _, err := leading(scores); err == nil {
				t.Fatalf("of %d: %v at %d is no error", n, wrong, at)
			}
			scores[at] = kept
		}
	}
}
