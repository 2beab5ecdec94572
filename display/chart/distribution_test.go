package chart

import (
	"math"
	"testing"
)

// Interpolated quantiles are those of the straight line through evenly spaced
// samples, for every number of samples.
func TestQuantile(t *testing.T) {
	var line []float64
	for n := 1; n <= 100; n++ {
		line = append(line, float64(n-1))
		for _, q := range []float64{0, 0.05, 0.25, 0.5, 0.95, 0.99, 1} {
			if got, want := Quantile(line, q), q*float64(n-1); math.Abs(got-want) > 1e-9 {
				t.Errorf("quantile %v of 0 to %d is %v, want %v", q, n-1, got, want)
			}
		}
	}
}
