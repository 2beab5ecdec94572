package forge

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"forgekernel/display"
)

// BenchOptions say how long to measure. A zero field means its default.
type BenchOptions struct {
	Samples int           // at most; 200
	Budget  time.Duration // start no sample after; 2 s
	Warmup  int           // runs before the first sample; 3
}

func (o BenchOptions) withDefaults() BenchOptions {
	if o.Samples <= 0 {
		o.Samples = 200
	}
	if o.Budget <= 0 {
		o.Budget = 2 * time.Second
	}
	if o.Warmup <= 0 {
		o.Warmup = 3
	}
	return o
}

// minSample is the shortest stretch that is timed; quicker programs run
// several times per sample, so that the clock's resolution does not show.
const minSample = 50 * time.Microsecond

// Timing is a benchmark of a program: raw samples and where they were taken.
type Timing struct {
	Program     string      `json:"program"`
	Backend     string      `json:"backend"`
	Threads     int         `json:"threads"` // that may share a run
	Samples     []float64   `json:"samples"` // seconds per run, in order of measurement
	RunsEach    int         `json:"runs_per_sample"`
	FLOPs       int64       `json:"flops"`
	Bytes       int64       `json:"bytes"` // memory traffic of the graph
	Environment Environment `json:"environment"`
}

// Environment is the machine that a benchmark ran on.
type Environment struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"` // that Go uses
	OS    string `json:"os"`
	Go    string `json:"go"`
	Load  string `json:"load"` // average over a minute when the benchmark began
}

// Bench is [Program.BenchContext] for a cell, with default options: it runs in
// the cell's context and panics with the error.
func (p *Program) Bench(args ...*Tensor) *Timing {
	return cell(p.BenchContext(callContext(), BenchOptions{}, args...))
}

// BenchContext times runs of the program. Without arguments it takes random
// ones.
func (p *Program) BenchContext(ctx context.Context, o BenchOptions, args ...*Tensor) (*Timing, error) {
	args, err := p.orRandom(args)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	cost := p.graph().Cost()
	t := &Timing{Program: p.Name(), Backend: p.backend, Threads: p.threads, FLOPs: cost.FLOPs, Bytes: cost.Bytes, Environment: environment()}
	meter := display.Progress(ctx, "timing "+p.Name()+", samples", 0) // the budget may allow fewer than o.Samples
	if err := t.measure(ctx, p, o, args, meter); err != nil {
		meter.Fail(err)
		return nil, err
	}
	meter.Done()
	return t, nil
}

func (t *Timing) measure(ctx context.Context, p *Program, o BenchOptions, args []*Tensor, meter *display.Meter) error {
	begin := time.Now()
	quickest := time.Duration(math.MaxInt64)
	for range o.Warmup {
		start := time.Now()
		if _, err := p.run(ctx, args); err != nil {
			return err
		}
		quickest = min(quickest, time.Since(start))
	}
	t.RunsEach = 1 + int(minSample/max(quickest, time.Nanosecond))
	for len(t.Samples) < o.Samples && (len(t.Samples) == 0 || time.Since(begin) < o.Budget) {
		start := time.Now()
		for range t.RunsEach {
			if _, err := p.run(ctx, args); err != nil {
				return err
			}
		}
		t.Samples = append(t.Samples, time.Since(start).Seconds()/float64(t.RunsEach))
		meter.Add(1)
	}
	return nil
}

// Quantile is the q-quantile of the samples in seconds, for 0 <= q <= 1.
func (t *Timing) Quantile(q float64) float64 {
	return stat.Quantile(q, stat.Empirical, slices.Sorted(slices.Values(t.Samples)), nil)
}

// decileSamples is the fewest samples of which a tenth is a sample.
const decileSamples = 10

// Display shows the distribution of the samples, as far as their number tells
// one, and the environment.
func (t *Timing) Display() display.Bundle {
	const micro = 1e6
	table := display.Table{
		Title:   t.title(),
		Columns: []display.Column{{Name: "time per run"}, {Name: "", Unit: "µs"}, {Name: "rate", Unit: "GFLOP/s"}},
	}
	row := func(name string, seconds float64) {
		table.Rows = append(table.Rows, []any{name, seconds * micro, float64(t.FLOPs) / seconds / 1e9})
	}
	switch n := len(t.Samples); {
	case n == 1:
		row("the sample", t.Samples[0])
	case n > 1:
		row("minimum", t.Quantile(0))
		if n >= decileSamples {
			row("10 % quantile", t.Quantile(0.1))
		}
		row("median", t.Quantile(0.5))
		if n >= decileSamples {
			row("90 % quantile", t.Quantile(0.9))
		}
		row("maximum", t.Quantile(1))
		mean, dev := stat.MeanStdDev(t.Samples, nil)
		row("mean", mean)
		table.Rows = append(table.Rows, []any{"standard deviation", dev * micro, nil})
	}
	e := t.Environment
	table.Title += fmt.Sprintf(" (%s, %d cores, %s, %s, load %s)", e.CPU, e.Cores, e.OS, e.Go, e.Load)
	return display.ToBundle(table)
}

// title says what was measured how often.
func (t *Timing) title() string {
	samples := fmt.Sprintf("%d samples", len(t.Samples))
	if len(t.Samples) == 1 {
		samples = "1 sample"
	}
	runs := fmt.Sprintf("%d runs", t.RunsEach)
	if t.RunsEach == 1 {
		runs = "1 run"
	}
	threads := fmt.Sprintf("%d threads", t.Threads)
	if t.Threads == 1 {
		threads = "1 thread"
	}
	s := fmt.Sprintf("%s on %s with %s: %s of %s", t.Program, t.Backend, threads, samples, runs)
	if len(t.Samples) < decileSamples {
		s += ", too slow for quantiles"
	}
	return s
}

// environment describes this machine.
func environment() Environment {
	return Environment{
		CPU:   cpuName(),
		Cores: runtime.GOMAXPROCS(0),
		OS:    runtime.GOOS + "/" + runtime.GOARCH,
		Go:    runtime.Version(),
		Load:  firstField("/proc/loadavg"),
	}
}

// cpuName is the processor's own name, where the system tells it.
func cpuName() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// firstField is the first word of a file, or "unknown".
func firstField(path string) string {
	data, err := os.ReadFile(path)
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}
