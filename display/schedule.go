package display

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Schedule shows what several workers do over time: a lane for each, time from left
// to right, a bar for each piece of work. Bars that stand within others are drawn
// over them.
type Schedule struct {
	Title string
	Theme Theme
	Lanes []string
	Spans []Span
}

// Span is one piece of work.
type Span struct {
	Lane       int
	Start, End time.Duration
	Kind       string // what the legend calls such work
	Class      Class
	Label      string // shown where there is room
	Tooltip    string
	Inner      bool // stands within another one
}

// Display shows the schedule as a picture and, for terminals, as text.
func (s Schedule) Display() Bundle {
	text := s.Text()
	b := Bundle{Data: map[string]any{mimeText: text}, Metadata: map[string]any{}}
	if err := s.check(); err != nil {
		b.Data[mimeText] = fmt.Sprintf("%s(no picture: %v)\n", text, err)
		return b
	}
	p := s.plot()
	b.Data[mimeSVG] = p.svg()
	png, err := p.png()
	if err != nil {
		b.Data[mimeText] = fmt.Sprintf("%s(no PNG: %v)\n", text, err)
		return b
	}
	b.Data[mimePNG] = png
	b.Metadata[mimePNG] = map[string]any{"width": int(p.w), "height": int(p.h)}
	return b
}

// SVG is the picture as an SVG document. It fails for schedules that are too large or
// have bars outside their lanes.
func (s Schedule) SVG() (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	return s.plot().svg(), nil
}

func (s Schedule) check() error {
	if len(s.Lanes) > drawnLanes || len(s.Spans) > drawnBars {
		return fmt.Errorf("schedule too large to draw: %s and %s, at most %d and %d", count(len(s.Lanes), "lane"), count(len(s.Spans), "bar"), drawnLanes, drawnBars)
	}
	for _, x := range s.Spans {
		if x.Lane < 0 || x.Lane >= len(s.Lanes) || x.End < x.Start {
			return fmt.Errorf("bar %s is outside its lane or ends before it starts", x.Label)
		}
	}
	return nil
}

// extent is the time from the first bar to the last.
func (s Schedule) extent() (from, to time.Duration) {
	for i, x := range s.Spans {
		if i == 0 {
			from, to = x.Start, x.End
		}
		from, to = min(from, x.Start), max(to, x.End)
	}
	return from, max(to, from+1)
}

// kind is a sort of work in the legend.
type kind struct {
	name  string
	class Class
}

// kinds are those of the bars, in the order of their first.
func (s Schedule) kinds() []kind {
	var list []kind
	for _, x := range s.Spans {
		if k := (kind{x.Kind, x.Class}); !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return list
}

// Text of a schedule: a character is so long as the time divided by their number.
const (
	scheduleCells = 80
	scheduleMarks = "=#<>~+*o%@"
)

// Text shows each lane as a row of characters, by the kind of work that takes most of
// the time that a character stands for.
func (s Schedule) Text() string {
	from, to := s.extent()
	kinds := s.kinds()
	cell := float64(to-from) / scheduleCells
	rows := make([][][]float64, len(s.Lanes)) // by lane, cell and kind
	for i := range rows {
		rows[i] = make([][]float64, scheduleCells)
		for c := range rows[i] {
			rows[i][c] = make([]float64, len(kinds))
		}
	}
	for _, x := range s.Spans {
		if x.Lane < 0 || x.Lane >= len(rows) {
			continue
		}
		start, end := float64(x.Start-from)/cell, float64(x.End-from)/cell
		k := slices.Index(kinds, kind{x.Kind, x.Class})
		for c := max(int(start), 0); c < scheduleCells && float64(c) < end; c++ {
			share := min(end, float64(c+1)) - max(start, float64(c))
			if x.Inner { // it hides what it stands in
				share *= 2
			}
			rows[x.Lane][c][k] += share
		}
	}
	table := Table{Columns: []Column{{Name: ""}, {Name: fmt.Sprintf("%v a character", (time.Duration(cell)).Round(time.Microsecond/10))}}}
	for i, lane := range s.Lanes {
		var b strings.Builder
		for _, shares := range rows[i] {
			b.WriteByte(mark(shares))
		}
		table.Rows = append(table.Rows, []any{lane, b.String()})
	}
	var b strings.Builder
	if s.Title != "" {
		b.WriteString(oneLine(s.Title) + "\n")
	}
	b.WriteString(table.Text())
	for i, k := range kinds {
		fmt.Fprintf(&b, "%c %s  ", scheduleMarks[i%len(scheduleMarks)], oneLine(k.name))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// mark is the character of what takes most of a cell; a point where that is nothing.
func mark(shares []float64) byte {
	best, most := -1, 0.05
	for k, x := range shares {
		if x > most {
			best, most = k, x
		}
	}
	if best < 0 {
		return '.'
	}
	return scheduleMarks[best%len(scheduleMarks)]
}
