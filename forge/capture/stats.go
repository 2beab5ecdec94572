package capture

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"forgekernel/display/chart"
)

// Summary is what a series comes down to, in seconds per run.
type Summary struct {
	Min    float64 `json:"min_s"`
	Median float64 `json:"median_s"`
	P95    float64 `json:"p95_s"`
	Mean   float64 `json:"mean_s"`
}

// Summarise derives the summary of at least one sample.
func Summarise(samples []float64) Summary {
	sorted := slices.Sorted(slices.Values(samples))
	return Summary{
		Min:    sorted[0],
		Median: chart.Quantile(sorted, 0.5),
		P95:    chart.Quantile(sorted, 0.95),
		Mean:   stat.Mean(samples, nil),
	}
}

// Interval is a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Constants of the bootstrap. The seed is fixed: equal samples give equal
// intervals.
const (
	resamples  = 2000
	confidence = 0.95
	seed       = 0x666f726765
)

// bootstrap is the confidence interval of a statistic, each value of which is
// computed from one resampling of the data.
func bootstrap(statistic func(*rand.Rand) float64) Interval {
	rng := rand.New(rand.NewPCG(seed, seed))
	values := make([]float64, resamples)
	for i := range values {
		values[i] = statistic(rng)
	}
	slices.Sort(values)
	return Interval{chart.Quantile(values, (1-confidence)/2), chart.Quantile(values, (1+confidence)/2)}
}

// MedianInterval is the bootstrap confidence interval (95 %) of the median.
func MedianInterval(samples []float64) Interval {
	drawn := make([]float64, len(samples))
	return bootstrap(func(rng *rand.Rand) float64 {
		for i := range drawn {
			drawn[i] = samples[rng.IntN(len(samples))]
		}
		return medianOf(drawn)
	})
}

// medianOf sorts the samples.
func medianOf(samples []float64) float64 {
	slices.Sort(samples)
	return chart.Quantile(samples, 0.5)
}
