package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"forgekernel/display"
)

// Bounds of a drawn timeline: the latest regions that fit.
const (
	drawnRegions = 2000
	drawnColumns = 50
)

// classes colour what the executor of a rank does. Waiting is not drawn.
var classes = map[Kind]display.Class{
	Step: display.ClassFused, Attention: display.ClassContraction, Projection: display.ClassElementwise, FF: display.ClassReduction,
	Append: display.ClassState, Compute: display.ClassConstant, Collective: display.ClassTransfer, Send: display.ClassOutput, Recv: display.ClassInput,
}

// bar is a region of a rank on the clock of rank 0.
type bar struct {
	lane int
	span
	Region
}

// bars are the latest regions to be drawn, enclosing ones before those inside.
func (j Job) bars() []bar {
	var list []bar
	for i, r := range j {
		for _, g := range r.Regions {
			if _, drawn := classes[g.Kind]; drawn && g.Lane == Executor {
				list = append(list, bar{i, span{g.Start - r.Offset, g.End - r.Offset}, g})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b bar) int { return cmp.Compare(a.from, b.from) })
	list = list[max(0, len(list)-drawnRegions):]
	slices.SortStableFunc(list, func(a, b bar) int { return cmp.Compare(bit(a.Kind != Step), bit(b.Kind != Step)) })
	return list
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}

// Timeline draws the latest regions: a lane per rank, one below the other on the clock
// of rank 0, so that what happens at once stands at one place. The steps stand above
// what they are made of.
func (j Job) Timeline() display.Timeline {
	t := display.Timeline{Title: "What ranks did, in milliseconds", Names: make(map[display.Class]string)}
	for k, c := range classes {
		t.Names[c] = k.String()
	}
	for _, r := range j {
		t.Lanes = append(t.Lanes, display.Lane{Name: fmt.Sprintf("rank %d", r.Rank), Rows: 2})
	}
	list := j.bars()
	if len(list) == 0 {
		return t
	}
	all := list[0].span
	for _, b := range list {
		all = span{min(all.from, b.from), max(all.to, b.to)}
	}
	column := columnOf(all.to - all.from)
	for at := time.Duration(0); at < max(all.to-all.from, 1); at += column {
		t.Steps = append(t.Steps, strconv.FormatFloat(at.Seconds()*1e3, 'g', -1, 64))
	}
	for _, b := range list {
		label, row := "", int64(1)
		if b.Kind == Step {
			label, row = fmt.Sprint(b.Step), 0
		}
		t.Bars = append(t.Bars, display.Bar{
			Lane: b.lane, Offset: row, Bytes: 1, Start: float64(b.from-all.from) / float64(column), End: float64(b.to-all.from) / float64(column),
			Label: label, Class: classes[b.Kind], Tooltip: fmt.Sprintf("%v %s: %v", b.Kind, b.Name, b.to-b.from),
		})
	}
	return t
}

// columnOf is the shortest of 1, 2, 5, 10 … by which a time is cut into few columns.
func columnOf(whole time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if whole <= n*unit*drawnColumns {
				return n * unit
			}
		}
	}
}

// Display shows the timeline as a picture, and the summary as text.
func (j Job) Display() display.Bundle {
	b := j.Timeline().Display()
	b.Data["text/plain"] = j.Summary().Text()
	return b
}
