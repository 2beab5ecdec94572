package capture

import (
	"fmt"
	"slices"

	"forgekernel/display"
)

// times is the table of a workload: the candidates in their order, and how they compare.
func (w *Workload) times(blocks int) display.Table {
	t := display.Table{
		Title: w.Name,
		Columns: []display.Column{
			{Name: "candidate"}, right("median"), right("interval"), right("× the first"), right("minimum"), right("GFLOP/s"),
		},
	}
	onDevice := slices.ContainsFunc(w.Series, func(s Series) bool { return s.Device != nil })
	if onDevice {
		t.Columns = append(t.Columns, right("on the device"))
	}
	t.Columns = append(t.Columns, display.Column{Name: "rank"})
	order, ties := w.Rank(blocks)
	for i, s := range w.Series {
		if s.Summary == nil {
			t.Rows = append(t.Rows, []any{s.Label.String(), "failed: " + s.Error})
			continue
		}
		e := s.Estimate(blocks)
		row := []any{
			s.Label.String(), formatTime(e.Value), formatInterval(e.Interval), w.ratio(i, blocks), formatTime(s.Summary.Min),
			significant(float64(w.FLOPs) / s.Summary.Median / 1e9),
		}
		if onDevice {
			row = append(row, s.device())
		}
		t.Rows = append(t.Rows, append(row, rank(slices.Index(order, i), ties)))
	}
	return t
}

// gates is a table of what stands behind the times of a workload: what was done before the
// first sample, and how many processors were at work.
func (w *Workload) gates() display.Table {
	t := display.Table{
		Title:   "Behind the times of " + w.Name,
		Columns: []display.Column{{Name: "candidate"}, right("compile"), right("error / allowed"), right("CPU / wall")},
	}
	for _, s := range w.Series {
		if s.Summary != nil {
			t.Rows = append(t.Rows, []any{s.Label.String(), s.compiled(), significant(s.Gate.Worst), significant(sum(s.CPU) / sum(s.Wall))})
		}
	}
	return t
}

// ratio is how many times as long a candidate takes as the first, with the interval.
func (w *Workload) ratio(i, blocks int) string {
	first := &w.Series[0]
	if i == 0 || first.Summary == nil {
		return ""
	}
	e := w.Series[i].Over(first, blocks)
	return fmt.Sprintf("%.3f (%.3f – %.3f)", e.Value, e.Interval.Low, e.Interval.High)
}

// compiled is the time that compiling took, and whether a cache had the result.
func (s *Series) compiled() string {
	if s.Cache == NoCache {
		return formatTime(s.Prepare)
	}
	return formatTime(s.Prepare) + ", " + string(s.Cache)
}

func sum(list []float64) (total float64) {
	for _, x := range list {
		total += x
	}
	return total
}
