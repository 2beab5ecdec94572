package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/display/chart"
)

// drawnRegions is how many of the latest regions a timeline shows.
const drawnRegions = 2000

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

// Chart draws the latest regions: a lane per rank, one below the other on the clock of
// rank 0, so that what happens at once stands at one place. The steps stand above what
// they are made of. Time in which all ranks wait is cut short.
func (j Job) Chart() chart.Figure {
	lanes, spans := j.spans()
	return chart.Timeline("What ranks did", lanes, spans)
}

func (j Job) spans() (lanes []string, spans []chart.Span) {
	for _, r := range j {
		lanes = append(lanes, fmt.Sprintf("rank %d", r.Rank))
	}
	for _, b := range j.bars() {
		s := chart.Span{
			Lane: b.lane, Row: 1, Start: b.from.Seconds(), End: b.to.Seconds(), Name: b.Kind.String(), Class: classes[b.Kind],
			Tip: strings.TrimSpace(fmt.Sprintf("%v %s", b.Kind, b.Name)), Wait: b.Kind == Recv,
		}
		if b.Kind == Step {
			s.Row, s.Label = 0, fmt.Sprint(b.Step)
		}
		spans = append(spans, s)
	}
	return lanes, spans
}

// Display shows the timeline as a picture, and the summary as text.
func (j Job) Display() display.Bundle {
	b := j.Chart().Display()
	b.Data["text/plain"] = j.Summary().Text()
	return b
}
