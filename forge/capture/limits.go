package capture

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/backend/cpu"
)

// Limits are what one core of the machine can do at most: the roofs under which every
// candidate with one thread stays, those of memory for data that no cache holds. Zero is
// unknown.
type Limits struct {
	FLOPs float64 `json:"flop_per_s"` // of float32 multiply-adds, two each
	Bytes float64 `json:"byte_per_s"` // read from memory that no cache holds
	// Caches are those of the core, the nearest first, as far as the system tells and
	// each is quicker than what is behind it.
	Caches []CacheLimit `json:"caches,omitempty"`
	// Error says why a limit is unknown.
	Error string `json:"error,omitempty"`
}

// CacheLimit is what a core can move at most within a cache: read, or read and written.
type CacheLimit struct {
	Name  string  `json:"name"`  // "L2"
	Size  int64   `json:"bytes"` // all of it, whoever shares it
	Bytes float64 `json:"byte_per_s"`
}

// Roof is what the limits are in a roofline.
func (l *Limits) Roof() chart.Roof {
	r := chart.Roof{Name: "one core", FLOPs: l.FLOPs, Bytes: l.Bytes}
	for _, c := range l.Caches {
		r.Caches = append(r.Caches, chart.Cache{Name: c.Name, Size: float64(c.Size), Bytes: c.Bytes})
	}
	return r
}

// String is "238.1 GFLOP/s of float32, 24.50 GB/s from memory; L1 of 48 KiB 500.0 GB/s".
func (l *Limits) String() string {
	if l == nil || l.FLOPs == 0 && l.Error == "" {
		return "not measured"
	}
	if l.Error != "" {
		return "not measured: " + l.Error
	}
	text := significant(l.FLOPs/1e9) + " GFLOP/s of float32"
	if l.Bytes > 0 {
		text += ", " + significant(l.Bytes/1e9) + " GB/s from memory"
	}
	for i, c := range l.Caches {
		text += [2]string{"; ", ", "}[min(i, 1)] + c.Name + " of " + display.FormatBytes(c.Size) + " " + significant(c.Bytes/1e9) + " GB/s"
	}
	return text
}

// Table shows each limit in a row.
func (l *Limits) Table() display.Table {
	t := display.Table{Title: "What one core does at most", Columns: []display.Column{{Name: "what"}, right("at most")}}
	if l == nil || l.FLOPs == 0 {
		t.Rows = append(t.Rows, []any{l.String()})
		return t
	}
	rate := func(what string, x float64, unit string) {
		t.Rows = append(t.Rows, []any{what, significant(x/1e9) + unit})
	}
	rate("multiplications and additions of float32", l.FLOPs, " GFLOP/s")
	if l.Bytes > 0 {
		rate("reading from memory", l.Bytes, " GB/s")
	}
	for _, c := range slices.Backward(l.Caches) {
		rate("moving within "+c.Name+", "+display.FormatBytes(c.Size), c.Bytes, " GB/s")
	}
	return t
}

// Display shows the table.
func (l *Limits) Display() display.Bundle { return l.Table().Display() }

// Runs of each limit. The best counts, as the one that nothing disturbed.
const (
	peakRuns   = 500 // of 20 microseconds
	streamRuns = 30  // of some milliseconds
	cacheRuns  = 200 // of some 10 to 100 microseconds
)

// measured are the limits of this machine, once they were measured.
var measured struct {
	sync.Mutex
	limits *Limits
}

// MeasureLimits measures the limits of this machine, which takes a C compiler, 128
// MiB of memory and some tenths of a second, once in a process.
func MeasureLimits(ctx context.Context) *Limits {
	measured.Lock()
	defer measured.Unlock()
	if measured.limits != nil {
		return measured.limits
	}
	b := cpu.New()
	peak, err := b.NewPeak(ctx)
	if err != nil {
		return &Limits{Error: err.Error()}
	}
	stream, err := b.NewStream(ctx)
	if err != nil {
		return &Limits{Error: err.Error()}
	}
	l := &Limits{FLOPs: best(ctx, peakRuns, peak.Run), Bytes: best(ctx, streamRuns, stream.Run)}
	l.measureCaches(ctx, stream, systemCaches(cacheFolder))
	if ctx.Err() == nil {
		measured.limits = l
	}
	return l
}

// largestPart bounds the data by which a cache is measured.
const largestPart = 32 << 20

// measureCaches measures each cache with data that fill half of it, the furthest first.
func (l *Limits) measureCaches(ctx context.Context, s *cpu.Stream, caches []CacheLimit) {
	behind := l.Bytes
	for _, c := range slices.Backward(caches) {
		for _, run := range []func(int) float64{s.Read, s.Add} {
			c.Bytes = max(c.Bytes, best(ctx, cacheRuns, func() float64 { return run(int(min(c.Size/2, largestPart))) }))
		}
		if c.Bytes > behind {
			behind = c.Bytes
			l.Caches = slices.Insert(l.Caches, 0, c)
		}
	}
}

// cacheFolder is where Linux describes the caches of a processor.
const cacheFolder = "/sys/devices/system/cpu/cpu0/cache"

// systemCaches are the caches for data that a folder describes, the nearest first; none
// where there is no such folder.
func systemCaches(folder string) (list []CacheLimit) {
	for i := 0; ; i++ {
		field := func(name string) string {
			raw, _ := os.ReadFile(fmt.Sprintf("%s/index%d/%s", folder, i, name))
			return strings.TrimSpace(string(raw))
		}
		if field("level") == "" {
			return list
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(field("size"), "K"), 10, 64)
		if err != nil || kilobytes < 1 || field("type") == "Instruction" {
			continue
		}
		list = append(list, CacheLimit{Name: "L" + field("level"), Size: kilobytes << 10})
	}
}

// best is the highest rate of several runs, each of which returns the work it did.
func best(ctx context.Context, runs int, run func() float64) (rate float64) {
	for i := 0; i < runs && ctx.Err() == nil; i++ {
		start := time.Now()
		work := run()
		if took := time.Since(start).Seconds(); took > 0 {
			rate = max(rate, work/took)
		}
	}
	return rate
}
