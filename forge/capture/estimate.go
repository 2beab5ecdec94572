package capture

import (
	"slices"

	"forgekernel/display/chart"
)

// Estimate is what samples say of the time of a run, or of the ratio of two: a value
// and an interval.
//
// Without blocks the value is the median of the samples and the interval its bootstrap
// interval (95 %). Samples that follow one another resemble one another, so that this is
// the interval of a moment: another run is likely to lie outside.
//
// With blocks each block is one observation, the median of its samples. The value is the
// median of the blocks, and the interval reaches from the lowest to the highest. Were
// blocks independent, that of n blocks would hold the median of what they are drawn from
// with a confidence of 1 - 2^(1-n), whatever the distribution: 97 % for the fewest, and
// narrower ones would do for more. On a machine that others use they are not, because
// what disturbs lasts longer than a block, and narrower intervals of two runs miss one
// another. What changes over more than a run is in no interval; from ratios, both sides
// of which are of the same block, most of it cancels.
type Estimate struct {
	Value    float64  `json:"value"`
	Interval Interval `json:"interval"`
}

// Agrees reports whether two estimates have some value in both of their intervals.
func (e Estimate) Agrees(other Estimate) bool {
	return e.Interval.Low <= other.Interval.High && other.Interval.Low <= e.Interval.High
}

// Estimate is the time of a run in seconds, of a series with samples in a number of
// blocks.
func (s *Series) Estimate(blocks int) Estimate { return estimate(s.Wall, blocks) }

// value is that of the estimate alone, without the work of an interval.
func (s *Series) value(blocks int) float64 {
	if blocks == 0 {
		return s.Summary.Median
	}
	return medianOf(blockMedians(s.Wall, blocks))
}

func estimate(samples []float64, blocks int) Estimate {
	if blocks == 0 {
		return Estimate{Summarise(samples).Median, MedianInterval(samples)}
	}
	return middle(blockMedians(samples, blocks))
}

// Over is the ratio of the time of a series to that of a base of the same rounds.
func (s *Series) Over(base *Series, blocks int) Estimate {
	return over(base.Wall, s.Wall, blocks, true)
}

// over is the ratio of the times of two series, whose rounds are the same where they
// belong together.
func over(old, new []float64, blocks int, together bool) Estimate {
	if blocks == 0 {
		return Estimate{Summarise(new).Median / Summarise(old).Median, ratioInterval(old, new, together)}
	}
	a, b := blockMedians(old, blocks), blockMedians(new, blocks)
	if !together {
		return Estimate{Summarise(b).Median / Summarise(a).Median, ratioInterval(a, b, false)}
	}
	for i := range a {
		b[i] /= a[i]
	}
	return middle(b)
}

// blockMedians are the medians of equal parts of the samples.
func blockMedians(samples []float64, blocks int) []float64 {
	list := make([]float64, 0, blocks)
	for part := range slices.Chunk(samples, len(samples)/blocks) {
		list = append(list, medianOf(slices.Clone(part)))
	}
	return list
}

// middle is the median and the range of observations.
func middle(observations []float64) Estimate {
	sorted := slices.Sorted(slices.Values(observations))
	return Estimate{chart.Quantile(sorted, 0.5), Interval{sorted[0], sorted[len(sorted)-1]}}
}
