package model

import (
	"math"
	"testing"
)

// TestFrequencies compares with values by hand for a head of 8 channels: its
// frequencies are 1, 0.1, 0.01 and 0.001, which in 256 positions turn 40.7, 4.07,
// 0.407 and 0.0407 times.
func TestFrequencies(t *testing.T) {
	for _, c := range []struct {
		rope Rope
		want []float64
	}{
		{Rope{Scaling: Linear, Factor: 4}, []float64{0.25, 0.025, 0.0025, 0.00025}},
		{Rope{Scaling: Factors, Factors: []float64{1, 2, 4, 5}}, []float64{1, 0.05, 0.0025, 0.0002}},
		// From 1 to 8 turns the share kept rises: (4.0744-1)/7 = 0.43920.
		{Rope{Scaling: Llama3, Factor: 8, Original: 256, LowFactor: 1, HighFactor: 8}, []float64{1, 0.1 * (0.43920 + 0.56080/8), 0.01 / 8, 0.001 / 8}},
		// 32 turns at pair 0.1049, 1 turn at 1.6101: rounded outward to 0 and 2.
		{Rope{Scaling: YaRN, Factor: 8, Original: 256, BetaFast: 32, BetaSlow: 1}, []float64{1, 0.1 * (1 + 1.0/8) / 2, 0.01 / 8, 0.001 / 8}},
		{Rope{Scaling: YaRN, Factor: 8, Original: 256, BetaFast: 32, BetaSlow: 1, Untruncated: true}, []float64{1, 0.1 * (1 - 0.594689*7.0/8), 0.01 / 8, 0.001 / 8}},
	} {
		c.rope.Base = 10000
		for i, f := range c.rope.frequencies(8) {
			if math.Abs(f-c.want[i]) > 1e-5*c.want[i] {
				t.Errorf("%+v: frequency %d is %v, want %v", c.rope, i, f, c.want[i])
			}
		}
	}
	if f := (&Rope{Base: 10000}).frequencies(8); f != nil {
		t.Errorf("frequencies without scaling are given as %v", f)
	}
}
