package capture

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Tie is the difference, relative to the faster, up to which two candidates
// count as equally fast: near ties change sides from run to run.
const Tie = 0.03

// Verdict says how the second of two series compares with the first.
type Verdict string

// Verdicts. It is a tie if the ratio of the times is within [Tie], or if its interval
// holds 1: see [Estimate].
const (
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	Even   Verdict = "tie"
)

// verdictRule says in a line what all verdicts and ranks of a capture go by.
var verdictRule = fmt.Sprintf("by medians; a tie where the interval of the ratio holds 1, or the ratio is within %.0f %%; ties stand in the order of the candidates", 100*Tie)

// verdict is that of a ratio, new over old.
func (e Estimate) verdict() Verdict {
	switch {
	case e.Interval.Low <= 1 && 1 <= e.Interval.High:
		return Even
	case e.Value > 1+Tie:
		return Slower
	case e.Value < 1/(1+Tie):
		return Faster
	}
	return Even
}

// Rank returns the indices of the series that were timed, the best first. The fastest
// has the least estimate of its time. All that its verdict does not find slower tie with
// it and come first, in the order of the candidates; ties is their number. The others
// follow by their estimates.
func (w *Workload) Rank(blocks int) (order []int, ties int) {
	times, fastest := make([]float64, len(w.Series)), -1
	for i := range w.Series {
		if w.Series[i].Summary == nil {
			continue
		}
		order = append(order, i)
		if times[i] = w.Series[i].value(blocks); fastest < 0 || times[i] < times[fastest] {
			fastest = i
		}
	}
	for _, i := range order {
		if i == fastest || w.Series[i].Over(&w.Series[fastest], blocks).verdict() != Slower {
			times[i] = 0
			ties++
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	return order, ties
}

// rank words a place in the order of [Workload.Rank].
func rank(place, ties int) string {
	switch {
	case place >= ties:
		return strconv.Itoa(place + 1)
	case ties == 1:
		return "fastest"
	case place == 0:
		return "first of a tie"
	}
	return "tie"
}
