package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/display/chart"
)

func TestSystemCaches(t *testing.T) {
	dir := t.TempDir()
	for i, c := range [][3]string{{"1", "Data", "48K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "many"}, {"3", "Unified", "32768K"}} {
		index := filepath.Join(dir, fmt.Sprintf("index%d", i))
		if err := os.Mkdir(index, 0o700); err != nil {
			t.Fatal(err)
		}
		for j, name := range []string{"level", "type", "size"} {
			if err := os.WriteFile(filepath.Join(index, name), []byte(c[j]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []CacheLimit{{Name: "L1", Size: 48 << 10}, {Name: "L2", Size: 1 << 20}, {Name: "L3", Size: 32 << 20}}
	if got := systemCaches(dir); !slices.Equal(got, want) {
		t.Errorf("caches are %v, want %v", got, want)
	}
	if got := systemCaches(filepath.Join(dir, "none")); got != nil {
		t.Errorf("caches of nothing are %v", got)
	}
}

// TestLimits sees that what was measured can be true: each cache is quicker than what is
// behind it, and the capture of a machine with them is read back.
func TestLimits(t *testing.T) {
	l := MeasureLimits(t.Context())
	if l.Error != "" {
		t.Skip("there is no C compiler: ", l.Error)
	}
	t.Log(l)
	behind := l.Bytes
	for _, c := range slices.Backward(l.Caches) {
		if c.Bytes <= behind {
			t.Errorf("%+v is no quicker than %g B/s", c, behind)
		}
		behind = c.Bytes
	}
	if err := l.check(); err != nil {
		t.Error(err)
	}
	if roof := l.Roof(); roof.FLOPs != l.FLOPs || len(roof.Caches) != len(l.Caches) {
		t.Errorf("the roof is %+v", roof)
	}
}

func TestLimitsAreChecked(t *testing.T) {
	good := CacheLimit{"L1", 48 << 10, 500e9}
	for want, caches := range map[string][]CacheLimit{
		"":                                 {good, {"L2", 1 << 20, 200e9}},
		"cannot have 9 caches":             slices.Repeat([]CacheLimit{good}, maxCaches+1),
		`a cache "L2" of 1 bytes`:          {good, {"L2", 1, 200e9}},
		`a cache "L1" of 49152 bytes with`: {{"L1", 48 << 10, -1}},
		`a cache "" of`:                    {{"", 48 << 10, 1e9}},
	} {
		err := (&Limits{FLOPs: 1e9, Bytes: 1e9, Caches: caches}).check()
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got, want := (&Limits{FLOPs: 2e11, Bytes: 2e10, Caches: []CacheLimit{good}}).String(), "200.0 GFLOP/s of float32, 20.00 GB/s from memory; L1 of 48 KiB 500.0 GB/s"; got != want {
		t.Errorf("they are %q, want %q", got, want)
	}
}

func TestLimitsTable(t *testing.T) {
	l := &Limits{FLOPs: 2e11, Bytes: 2e10, Caches: []CacheLimit{{"L1", 48 << 10, 500e9}, {"L2", 1 << 20, 200e9}}}
	const want = `What one core does at most
what                                            at most
----------------------------------------  -------------
multiplications and additions of float32  200.0 GFLOP/s
reading from memory                          20.00 GB/s
moving within L2, 1 MiB                      200.0 GB/s
moving within L1, 48 KiB                     500.0 GB/s
`
	if got := l.Table().Text(); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := (&Limits{Error: "no compiler"}).Table().Text(); !strings.Contains(got, "not measured: no compiler") {
		t.Errorf("got\n%s", got)
	}
}

// TestRooflineOfThreads has each candidate under the roof of as many cores as it has
// threads, and those of a GPU under none.
func TestRooflineOfThreads(t *testing.T) {
	c := gaining(t)
	w := &c.Workloads[0]
	w.Series[1].Threads = 2
	device := w.Series[1]
	device.Label = Label{"cuda", Optimised, 1}
	device.Device = device.Wall
	w.Series = append(w.Series, device)
	d, drawn := (&Report{capture: c}).Roofline()
	text, err := d.Plain()
	if err != nil || !drawn || !strings.Contains(text, "roof 2 cores") || strings.Contains(text, "cuda") {
		t.Errorf("drawn %v, %v:\n%s", drawn, err, text)
	}
	one := c.Environment.Limits.Roof()
	two := one.Times(2, "2 cores")
	work := chart.Work{FLOPs: float64(w.FLOPs), Bytes: float64(w.Bytes), Seconds: w.Series[1].Summary.Median}
	limit, _ := two.Over(work)
	if share := fmt.Sprintf("%.0f %%", 100*work.Rate()/limit); !strings.Contains(text, share) {
		t.Errorf("no work reaches %s of its roof:\n%s", share, text)
	}
}
