package capture

import (
	"context"
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

// limitRuns is how often each limit is measured; the best counts, as the one that
// nothing disturbed.
const limitRuns = 500

// MeasureLimits measures the limits of this machine, which takes a C compiler and
// some milliseconds.
func MeasureLimits(ctx context.Context) *Limits {
	l := &Limits{}
	peak, err := cpu.New().NewPeak(ctx)
	if err != nil {
		l.Error = err.Error()
		return l
	}
	l.FLOPs = best(ctx, limitRuns, peak.Run)
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
