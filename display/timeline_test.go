package display

import (
	"bytes"
	"fmt"
	"image/png"
	"strings"
	"testing"
)

func sampleTimeline() Timeline {
	return Timeline{
		Title: "Memory of <layer>",
		Steps: []string{"linear", "gelu", "linear", "add"},
		Lanes: []Lane{{"slot 0 f32", 6144, 0}, {"slot 1 i64", 64, 0}},
		Bars: []Bar{
			{Lane: 0, Bytes: 4096, Start: 0, End: 1.5, Label: "%up", Class: ClassContraction, Tooltip: "%up: f32[8,128]"},
			{Lane: 0, Bytes: 4096, Start: 1.5, End: 3, Label: "%act", Class: ClassElementwise},
			{Lane: 0, Offset: 4096, Bytes: 2048, Start: 2, End: 4, Label: "%down & more", Class: ClassContraction},
			{Lane: 1, Bytes: 64, Start: 3, End: 4, Label: "%i", Class: "no such class"},
		},
		Level: []int64{4096, 4096, 6144, 2112},
		Marks: []Mark{{6208, "planned"}, {6144, "lower bound"}},
	}
}

func TestTimelineGolden(t *testing.T) {
	line := sampleTimeline()
	svg, err := line.SVG()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "timeline.svg", svg)
	golden(t, "timeline.txt", line.Text())
	checkSVG(t, svg)
	line.Theme, line.Level, line.Marks, line.Title = Dark, nil, nil, ""
	if svg, err = line.SVG(); err != nil {
		t.Fatal(err)
	}
	golden(t, "timeline-dark.svg", svg)
	checkSVG(t, svg)
}

func TestTimelineBundle(t *testing.T) {
	b := sampleTimeline().Display()
	img, err := png.Decode(bytes.NewReader(b.Data[mimePNG].([]byte)))
	if err != nil {
		t.Fatal(err)
	}
	size := b.Metadata[mimePNG].(map[string]any)
	if img.Bounds().Dx() != 2*size["width"].(int) {
		t.Errorf("the picture is %v, to be shown as %v", img.Bounds(), size)
	}
	for name, broken := range map[string]func(*Timeline){
		"lane":  func(l *Timeline) { l.Bars[0].Lane = 2 },
		"below": func(l *Timeline) { l.Bars[0].Offset = -1 },
		"above": func(l *Timeline) { l.Bars[2].Offset = 4097 },
		"early": func(l *Timeline) { l.Bars[0].Start = -1 },
		"late":  func(l *Timeline) { l.Bars[0].End = 5 },
		"row":   func(l *Timeline) { l.Lanes[0] = Lane{Rows: 2}; l.Bars[0].Offset, l.Bars[0].Bytes = 2, 1 },
		"many":  func(l *Timeline) { l.Lanes = make([]Lane, drawnLanes+1) },
	} {
		line := sampleTimeline()
		broken(&line)
		b := line.Display()
		if text := b.Data[mimeText].(string); b.Data[mimeSVG] != nil || !strings.Contains(text, "no picture") {
			t.Errorf("%s: %v", name, text)
		}
	}
}

// Everything that is drawn lies inside the picture, however long, flat or
// crowded it is.
func TestTimelineFits(t *testing.T) {
	long := Timeline{Title: strings.Repeat("a long title ", 20)}
	for s := range 1500 {
		long.Steps = append(long.Steps, fmt.Sprintf("step_%d", s))
		long.Level = append(long.Level, int64(s)<<20)
	}
	for i := range 60 {
		long.Lanes = append(long.Lanes, Lane{Name: fmt.Sprint("slot ", i), Bytes: 1 << (i % 40)})
		long.Bars = append(long.Bars, Bar{Lane: i, Bytes: 1 << (i % 40), Start: float64(i), End: float64(1500 - i), Label: "%v"})
	}
	long.Marks = []Mark{{1499 << 20, "lower bound"}, {1500 << 20, "planned"}, {1501 << 20, "naive"}}
	for name, line := range map[string]Timeline{"empty": {}, "one": {Steps: []string{"x"}, Lanes: []Lane{{Name: "a"}}, Bars: []Bar{{End: 1}}}, "long": long} {
		p := line.plot()
		for i, lane := range p.lanes {
			if lane.X < cardPad || lane.X+lane.W > p.w-cardPad+0.5 || lane.Y+lane.H > p.h-cardPad {
				t.Errorf("%s: lane %d at %+v is outside %v x %v", name, i, lane, p.w, p.h)
			}
		}
		if p.w > 1400 {
			t.Errorf("%s: the picture is %v wide", name, p.w)
		}
		svg, err := line.SVG()
		if err != nil {
			t.Fatal(err)
		}
		checkSVG(t, svg)
		if _, err := p.png(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 6208: "6.06 KiB", 1 << 20: "1 MiB", 1<<40 + 1<<39: "1.5 TiB", 1<<63 - 1: "8 EiB", -2048: "-2 KiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
