package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestRecorderKeepsTheLatest(t *testing.T) {
	r := New(3)
	for i := range 5 {
		r.Put(Region{Step: uint64(i)})
	}
	list, lost := r.Regions()
	if lost != 2 || len(list) != 3 || list[0].Step != 2 || list[2].Step != 4 {
		t.Errorf("holds %v after losing %d", list, lost)
	}
}

func TestNoRecorder(t *testing.T) {
	var r *Recorder
	allocs := testing.AllocsPerRun(100, func() { r.Add(Region{Start: r.Now(), Name: "x"}) })
	if list, lost := r.Regions(); list != nil || lost != 0 || allocs != 0 {
		t.Errorf("regions %v, lost %d, %v allocations", list, lost, allocs)
	}
}

func TestClock(t *testing.T) {
	var c Clock
	if off, e := c.Offset(); off != 0 || e != 0 {
		t.Errorf("without an exchange: %v ± %v", off, e)
	}
	// The other clock is 100 ms ahead. Slow exchanges are skewed, the quick one is not.
	c.Exchange(0, 40*ms, 135*ms)
	c.Exchange(50*ms, 52*ms, 151*ms)
	c.Exchange(60*ms, 90*ms, 161*ms)
	c.Exchange(99*ms, 98*ms, 500*ms) // no time runs backwards
	if off, e := c.Offset(); off != 100*ms || e != 1*ms {
		t.Errorf("offset %v ± %v, want 100ms ± 1ms", off, e)
	}
}

// pipeline is two stages whose second clock is 7 ms ahead. Each step takes both of
// them 10 ms; the second one waits 5 ms more for each.
func pipeline() []Rank {
	first, second := Rank{Rank: 0}, Rank{Rank: 1, Stage: 1, Offset: 7 * ms, Error: ms}
	for i := range time.Duration(4) {
		step := uint64(i + 1)
		at := i * 15 * ms
		first.Regions = append(first.Regions,
			Region{Kind: Step, Step: step, Start: at, End: at + 10*ms},
			Region{Kind: Send, Name: "send", Step: step, Start: at + 9*ms, End: at + 10*ms, Flow: step})
		at += 5*ms + second.Offset
		second.Regions = append(second.Regions,
			Region{Kind: Recv, Name: "recv", Step: step, Start: at, End: at + 5*ms, Flow: step},
			Region{Kind: Step, Step: step, Start: at, End: at + 15*ms})
	}
	return []Rank{first, second}
}

func TestBubbles(t *testing.T) {
	got := Bubbles(pipeline())
	// Steady from 10 ms, when the second stage has its first input, to 55 ms, when the
	// first stage ends. The first is busy in [15,25], [30,40] and [45,55] of that, the
	// second in [10,20], [25,35] and [40,50].
	for i, b := range got {
		if b.Rank != i || b.Stage != i || b.Window != 45*ms || b.Busy != 30*ms || math.Abs(b.Share()-1.0/3) > 1e-9 {
			t.Errorf("stage %d: %+v, share %v", i, b, b.Share())
		}
	}
	full := []Rank{{Regions: []Region{{Start: 0, End: 10 * ms}, {Start: 10 * ms, End: 20 * ms}, {Kind: Collective, Start: 5 * ms, End: 15 * ms}}}}
	if b := Bubbles(full)[0]; b.Share() != 0 || b.Window != 20*ms {
		t.Errorf("a rank that is always busy: %+v", b)
	}
	for name, ranks := range map[string][]Rank{
		"nothing recorded": {{Rank: 0, Regions: full[0].Regions}, {Rank: 1}},
		"never at once":    {{Regions: []Region{{End: ms}}}, {Regions: []Region{{Start: 2 * ms, End: 3 * ms}}}},
		"no ranks":         nil,
	} {
		for _, b := range Bubbles(ranks) {
			if b.Share() != 0 || b.Window != 0 {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}

func TestWithout(t *testing.T) {
	list := joined([]span{{20, 30}, {0, 10}, {5, 12}})
	got := without(list, []span{{-5, 1}, {3, 4}, {11, 22}, {30, 40}})
	if want := []span{{1, 3}, {4, 11}, {22, 30}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWriteChrome(t *testing.T) {
	var out bytes.Buffer
	if err := WriteChrome(&out, pipeline()...); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name, Cat, Ph, ID string
			TS, Dur           float64
			PID, TID          int
			Args              map[string]any
		}
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	count := make(map[string]int)
	for _, e := range file.TraceEvents {
		count[e.Ph]++
		switch {
		case e.Ph == "X" && e.PID == 1 && e.Cat == "recv" && e.Args["step"] == 1.0:
			if e.TS != 5000 || e.Dur != 5000 { // its clock is 7 ms ahead
				t.Errorf("the first recv begins at %v us and takes %v us", e.TS, e.Dur)
			}
		case e.Ph == "f" && (e.PID != 1 || e.TID != int(Executor)):
			t.Errorf("an arrow ends at rank %d, lane %d", e.PID, e.TID)
		case e.Ph == "s" && (e.PID != 0 || e.TID != int(Executor)):
			t.Errorf("an arrow begins at rank %d, lane %d", e.PID, e.TID)
		}
	}
	if count["X"] != 16 || count["s"] != 4 || count["f"] != 4 || count["M"] != 2*(2+int(lanes)) {
		t.Errorf("events by phase: %v", count)
	}
}

func TestBinary(t *testing.T) {
	for _, want := range append(pipeline(), Rank{Rank: 3, Lost: 9, Regions: []Region{}}) {
		raw, err := want.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got Rank
		if err := got.UnmarshalBinary(raw); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		for cut := range raw {
			if err := got.UnmarshalBinary(raw[:cut]); err == nil {
				t.Errorf("%d of %d bytes were read without an error", cut, len(raw))
			}
		}
	}
}

func FuzzBinary(f *testing.F) {
	for _, r := range pipeline() {
		raw, err := r.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r, again Rank
		if r.UnmarshalBinary(raw) != nil {
			return
		}
		back, err := r.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(back); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%+v came back as %+v, %v", r, again, err)
		}
	})
}

func TestSummary(t *testing.T) {
	const want = `Where the time of each rank went, in percent
rank  stage  time (ms)   step  send  recv  pipeline idle
----  -----  ---------  -----  ----  ----  -------------
   0      0       55.0   72.7   7.3   0.0           33.3
   1      1       60.0  100.0   0.0  33.3           33.3
`
	if got := Job(pipeline()).Summary().Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Job{{Rank: 0}}).Display().Data["text/plain"]; got == "" {
		t.Error("a job without regions shows nothing")
	}
}

func TestChart(t *testing.T) {
	lanes, spans := Job(pipeline()).spans()
	if len(lanes) != 2 || len(spans) != 16 {
		t.Fatalf("%d lanes, %d spans", len(lanes), len(spans))
	}
	// The second stage begins 5 ms after the first, and its steps stand before what is
	// inside them.
	first, s, last := spans[0], spans[1], spans[15]
	if s.Lane != 1 || math.Abs(s.Start-first.Start-5e-3) > 1e-12 || math.Abs(s.End-s.Start-15e-3) > 1e-12 || s.Label != "1" || s.Row != 0 || last.Label != "" || last.Row != 1 {
		t.Errorf("the second span is %+v", s)
	}
	picture, err := Job(pipeline()).Chart().SVG()
	if err != nil || !strings.Contains(picture, "rank 1") || !strings.Contains(picture, "recv") || strings.Contains(picture, "fused") {
		t.Errorf("%v", err)
	}
	many := Rank{}
	for i := range time.Duration(3 * drawnRegions) {
		many.Regions = append(many.Regions, Region{Start: i * ms, End: (i + 1) * ms})
	}
	if _, spans := (Job{many}).spans(); len(spans) != drawnRegions {
		t.Errorf("%d spans", len(spans))
	}
	if _, err := (Job{many}).Chart().SVG(); err != nil {
		t.Error(err)
	}
}
