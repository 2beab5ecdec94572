package display

import (
	"fmt"
	"forgekernel/display/internal/cells"
	"math"
	"strconv"
	"strings"
)

// Timeline shows what stands in memory over the steps of a program: lanes of
// memory from top to bottom, steps from left to right, a bar for each tenant,
// and below them how much is in use at each step.
type Timeline struct {
	Title string
	Theme Theme
	Steps []string // names of the steps
	Lanes []Lane
	Bars  []Bar
	Level []int64 // bytes in use at each step; may be empty
	Marks []Mark  // lines across the level
	// Names are what the legend calls classes, where that is not their own name.
	Names map[Class]string
}

// Lane is one piece of memory, or something else, which has rows instead of bytes.
type Lane struct {
	Name  string
	Bytes int64
	Rows  int
}

// extent is what bars divide: bytes or rows.
func (l Lane) extent() int64 {
	if l.Rows > 0 {
		return int64(l.Rows)
	}
	return l.Bytes
}

// Bar is one tenant of a lane. It covers the bytes, or rows, from Offset on, and the
// time from Start to End, where step t is the time from t to t+1.
type Bar struct {
	Lane       int
	Offset     int64
	Bytes      int64
	Start, End float64
	Label      string
	Class      Class
	Tooltip    string
}

// Mark is a horizontal line at a number of bytes.
type Mark struct {
	Bytes int64
	Label string
}

// FormatBytes writes a number of bytes in the largest binary unit that keeps at
// least one digit before the point: "6 KiB", "1.5 MiB".
func FormatBytes(n int64) string {
	const units = "KMGTPE"
	x, unit := float64(n), -1
	for math.Abs(x) >= 1024 && unit+1 < len(units) {
		x, unit = x/1024, unit+1
	}
	if unit < 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) + " " + units[unit:unit+1] + "iB"
}

// Limits of a drawn timeline: beyond them nobody could read it.
const (
	drawnLanes = 100
	drawnBars  = 5000
)

// Display shows the timeline as a picture and, for terminals, as text.
func (t Timeline) Display() Bundle {
	text := t.Text()
	b := Bundle{Data: map[string]any{mimeText: text}, Metadata: map[string]any{}}
	if err := t.check(); err != nil {
		b.Data[mimeText] = fmt.Sprintf("%s(no picture: %v)\n", text, err)
		return b
	}
	p := t.plot()
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

// SVG is the picture as an SVG document. It fails for timelines that are too
// large or have bars outside their lanes.
func (t Timeline) SVG() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	return t.plot().svg(), nil
}

func (t Timeline) check() error {
	if len(t.Lanes) > drawnLanes || len(t.Bars) > drawnBars {
		return fmt.Errorf("timeline too large to draw: %s and %s, at most %d and %d", count(len(t.Lanes), "lane"), count(len(t.Bars), "bar"), drawnLanes, drawnBars)
	}
	for _, b := range t.Bars {
		if !t.holds(b) {
			return fmt.Errorf("bar %s is outside its lane or time", b.Label)
		}
	}
	return nil
}

// holds reports whether a bar is inside the picture.
func (t Timeline) holds(b Bar) bool {
	return b.Lane >= 0 && b.Lane < len(t.Lanes) && b.Offset >= 0 && b.Bytes >= 0 && b.Bytes <= t.Lanes[b.Lane].extent()-b.Offset &&
		b.Start >= 0 && b.Start <= b.End && b.End <= float64(len(t.Steps))
}

// textSteps is how many steps one row of text shows.
const textSteps = 100

// Text shows each lane as a row of characters, one per step or, in a long
// program, per several steps: the fuller the lane, the darker.
func (t Timeline) Text() string {
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(cells.OneLine(t.Title) + "\n")
	}
	per := max(1, (len(t.Steps)+textSteps-1)/textSteps)
	table := Table{Columns: []Column{{Name: "memory"}, {Name: "size", Align: AlignRight}, {Name: "steps"}}}
	if per > 1 {
		table.Columns[2].Unit = fmt.Sprintf("%d per character", per)
	}
	for i, lane := range t.Lanes {
		table.Rows = append(table.Rows, []any{lane.Name, FormatBytes(lane.Bytes), shades(t.occupied(i, per), float64(lane.Bytes))})
	}
	if len(t.Level) > 0 {
		peak := 0.0
		var level []float64
		for start := 0; start < len(t.Level); start += per {
			most := 0.0
			for _, x := range t.Level[start:min(start+per, len(t.Level))] {
				most = max(most, float64(x))
			}
			level, peak = append(level, most), max(peak, most)
		}
		table.Rows = append(table.Rows, []any{"in use, at most", FormatBytes(int64(peak)), shades(level, peak)})
	}
	b.WriteString(table.Text())
	for _, m := range t.Marks {
		fmt.Fprintf(&b, "%s: %s\n", cells.OneLine(m.Label), FormatBytes(m.Bytes))
	}
	return b.String()
}

// occupied is the most bytes of a lane that bars cover, per group of steps.
func (t Timeline) occupied(lane, per int) []float64 {
	steps := make([]float64, len(t.Steps))
	for _, bar := range t.Bars {
		if bar.Lane != lane || !t.holds(bar) {
			continue
		}
		for s := int(bar.Start); float64(s) < bar.End; s++ {
			share := min(bar.End, float64(s+1)) - max(bar.Start, float64(s))
			steps[s] += share * float64(bar.Bytes)
		}
	}
	var groups []float64
	for start := 0; start < len(steps); start += per {
		most := 0.0
		for _, x := range steps[start:min(start+per, len(steps))] {
			most = max(most, x)
		}
		groups = append(groups, most)
	}
	return groups
}

// shades draws a row of fillings between nothing and full.
func shades(row []float64, full float64) string {
	const marks = ".░▒▓█"
	levels := []rune(marks)
	var b strings.Builder
	for _, x := range row {
		i := 0
		if x > 0 && full > 0 {
			i = min(max(1, int(math.Round(x/full*4))), 4)
		}
		b.WriteRune(levels[i])
	}
	return b.String()
}
