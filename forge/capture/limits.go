package capture

import (
	"context"
	"sync"
	"time"

	"forgekernel/forge/backend/cpu"
)

// Limits are what one core of the machine can do at most: the roofs under which
// every candidate with one thread stays. Zero is unknown.
type Limits struct {
	FLOPs float64 `json:"flop_per_s"` // of float32 multiply-adds, two each
	Bytes float64 `json:"byte_per_s"` // read from memory that no cache holds
	// Error says why a limit is unknown.
	Error string `json:"error,omitempty"`
}

// String is "238.1 GFLOP/s of float32, 24.50 GB/s from memory".
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
	return text
}

// Runs of each limit. The best counts, as the one that nothing disturbed.
const (
	peakRuns   = 500 // of 20 microseconds
	streamRuns = 30  // of some milliseconds
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
	if ctx.Err() == nil {
		measured.limits = l
	}
	return l
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
