package display

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
	"time"
)

func sampleSchedule() Schedule {
	ms := time.Millisecond
	return Schedule{
		Title: "Two <ranks>",
		Lanes: []string{"rank 0", "rank 1 & more"},
		Spans: []Span{
			{Lane: 0, Start: 10 * ms, End: 14 * ms, Kind: "step", Class: ClassContraction, Tooltip: "step 1"},
			{Lane: 0, Start: 12 * ms, End: 14 * ms, Kind: "collective", Class: ClassTransfer, Label: "all_reduce tp", Inner: true},
			{Lane: 1, Start: 11 * ms, End: 15 * ms, Kind: "step", Class: ClassContraction},
			{Lane: 1, Start: 14 * ms, End: 14*ms + 1, Kind: "collective", Class: ClassTransfer, Inner: true},
			{Lane: 1, Start: 18 * ms, End: 20 * ms, Kind: "wait"},
		},
	}
}

func TestScheduleGolden(t *testing.T) {
	s := sampleSchedule()
	svg, err := s.SVG()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "schedule.svg", svg)
	golden(t, "schedule.txt", s.Text())
	checkSVG(t, svg)
}

func TestScheduleBundle(t *testing.T) {
	b := sampleSchedule().Display()
	img, err := png.Decode(bytes.NewReader(b.Data[mimePNG].([]byte)))
	if err != nil {
		t.Fatal(err)
	}
	if size := b.Metadata[mimePNG].(map[string]any); img.Bounds().Dx() != 2*size["width"].(int) {
		t.Errorf("the picture is %v, to be shown as %v", img.Bounds(), size)
	}
	for name, broken := range map[string]func(*Schedule){
		"lane":     func(s *Schedule) { s.Spans[0].Lane = 2 },
		"before":   func(s *Schedule) { s.Spans[0].Lane = -1 },
		"backward": func(s *Schedule) { s.Spans[0].End = 0 },
		"many":     func(s *Schedule) { s.Lanes = make([]string, drawnLanes+1) },
		"bars":     func(s *Schedule) { s.Spans = make([]Span, drawnBars+1) },
	} {
		s := sampleSchedule()
		broken(&s)
		b := s.Display()
		if text := b.Data[mimeText].(string); b.Data[mimeSVG] != nil || !strings.Contains(text, "no picture") {
			t.Errorf("%s: %s", name, text)
		}
		if _, err := s.SVG(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, s := range []Schedule{{}, {Lanes: []string{"idle"}}, {Lanes: []string{"x"}, Spans: []Span{{Start: 5, End: 5}}}} {
		if b := s.Display(); b.Data[mimeSVG] == nil {
			t.Errorf("%+v has no picture", s)
		}
	}
}
