package wgsl

import (
	"fmt"
	"time"
)

// Rates of the estimate, those of small GPUs in laptops as a browser reaches them, and of
// one thread of a quick processor.
const (
	startTime    = 2 * time.Millisecond  // of a run: submission, and the wait until results can be read
	dispatchTime = 20 * time.Microsecond // of each dispatch
	busBytes     = 4e9                   // a second, of inputs and results
	deviceBytes  = 30e9
	deviceFLOPs  = 300e9
	hostBytes    = 40e9
	hostFLOPs    = 30e9
	// leastSpeedup is what a plan has to gain.
	leastSpeedup = 2
)

// Worth is how long a run is estimated to take on a small GPU and on one thread of the
// processor. A plan is worth it when the GPU takes at most half as long. Constants are
// on the GPU before. By this rule a product of two square matrices is worth it from
// about 500 rows on, and a chain of elementwise operations never: its inputs and results
// cross the bus for a few operations each.
type Worth struct {
	Device, Host time.Duration
}

// Worth estimates the times of a program.
func (p *Program) Worth() Worth {
	cost, crossing := p.Graph.Cost(), int64(0)
	for _, b := range p.Plan.Buffers {
		switch b.Kind {
		case Input, Output:
			crossing += b.Bytes
		case Updated:
			crossing += 2 * b.Bytes
		}
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	flops, bytes := float64(cost.FLOPs), float64(cost.Bytes)
	w := Worth{Device: startTime + time.Duration(len(p.Plan.Dispatches))*dispatchTime}
	w.Device += seconds(float64(crossing)/busBytes + max(flops/deviceFLOPs, bytes/deviceBytes))
	w.Host = seconds(max(flops/hostFLOPs, bytes/hostBytes))
	return w
}

// Yes reports whether a GPU is worth it.
func (w Worth) Yes() bool { return w.Device*leastSpeedup <= w.Host }

func (w Worth) String() string {
	verdict := "is not worth a GPU"
	if w.Yes() {
		verdict = "is worth a GPU"
	}
	return fmt.Sprintf("it %s: a run is estimated to take %v on a small one, with its copies, and %v on one thread of the processor",
		verdict, rounded(w.Device), rounded(w.Host))
}

// rounded is a time in two or three digits, since an estimate has no more.
func rounded(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return max(d.Round(unit), time.Nanosecond)
}
