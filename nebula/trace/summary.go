package trace

import (
	"fmt"
	"time"

	"forgekernel/display"
)

// Job is what all ranks of a job did.
type Job []Rank

// Summary lists for each rank how much of its time it spent on what, in percent of the
// time from its first region to its last. What is not recorded by itself is in the
// column of steps only.
func (j Job) Summary() display.Table {
	t := display.Table{Title: "Where the time of each rank went, in percent", Columns: []display.Column{{Name: "rank"}, {Name: "stage"}, {Name: "time", Unit: "ms", Align: display.AlignRight}}}
	shown := j.kinds()
	for _, k := range shown {
		t.Columns = append(t.Columns, display.Column{Name: k.String(), Align: display.AlignRight})
	}
	t.Columns = append(t.Columns, display.Column{Name: "pipeline idle", Align: display.AlignRight})
	bubbles := Bubbles(j)
	for i, r := range j {
		whole, spent := r.spent()
		row := []any{r.Rank, r.Stage, fmt.Sprintf("%.1f", whole.Seconds()*1e3)}
		for _, k := range shown {
			row = append(row, percent(float64(spent[k]), float64(whole)))
		}
		t.Rows = append(t.Rows, append(row, percent(bubbles[i].Share(), 1)))
	}
	return t
}

// kinds are those that some rank recorded, in order.
func (j Job) kinds() []Kind {
	var seen [kinds]bool
	for _, r := range j {
		for _, g := range r.Regions {
			seen[g.Kind] = true
		}
	}
	var list []Kind
	for k := range kinds {
		if seen[k] {
			list = append(list, k)
		}
	}
	return list
}

// spent is the time that the regions cover, and that of each kind.
func (r Rank) spent() (whole time.Duration, by [kinds]time.Duration) {
	var all span
	for i, g := range r.Regions {
		if i == 0 {
			all = span{g.Start, g.End}
		}
		all = span{min(all.from, g.Start), max(all.to, g.End)}
		by[g.Kind] += g.End - g.Start
	}
	return all.to - all.from, by
}

// percent is a share of a whole; nil where there is none.
func percent(part, whole float64) any {
	if whole == 0 {
		return nil
	}
	return fmt.Sprintf("%.1f", 100*part/whole)
}
