// Package trace records what the ranks of a job do over time, to be looked at side
// by side.
//
// A [Recorder] belongs to one rank and holds its latest [Region] values: a kind, a
// name, two times on the rank's own monotonic clock, and the step. It is a ring of
// fixed size, so that a job may run for days. A nil recorder records nothing and
// costs a comparison.
//
// A [Rank] is what one recorder held, together with the offset of its clock to that
// of rank 0, by which the regions of all ranks get one time axis. [WriteChrome]
// writes one rank or all of them in the Chrome trace event format, for
// chrome://tracing and Perfetto: a process per rank, a thread per [Lane], and arrows
// between the regions of one collective on its ranks. [Bubbles] computes from the
// same regions how long each pipeline stage waits.
package trace

import (
	"sync"
	"time"
)

// Kind says what a rank does during a region.
type Kind uint8

// Kinds. A step encloses all others on its lane.
const (
	Step       Kind = iota // one compiled program of a step
	Attention              // scores, and sums of values
	Projection             // to queries, keys and values, and back from heads
	FF                     // the feed-forward part of a layer
	Append                 // of keys and values to the cache
	Compute                // anything else that a rank computes: embedding, norms, head
	Collective             // an operation of all ranks of a group, waiting included
	Send
	Recv  // waiting included
	Wait  // for the next step
	Agree // with all ranks about a step
	kinds
)

// String is the name of a kind, which is its category in a Chrome trace.
func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return [kinds]string{"step", "attention", "projection", "ff", "kv append", "compute", "collective", "send", "recv", "wait", "agree"}[k]
}

// Idle reports whether a rank does nothing but wait during a region of the kind. A
// collective is not idle: it is the price of tensor parallelism, not of the pipeline.
func (k Kind) Idle() bool { return k == Recv || k == Wait }

// Lane is one of the things that a rank does at once.
type Lane uint8

// Lanes.
const (
	Executor Lane = iota // programs, one after another
	Control              // commands of rank 0 and agreement about steps
	lanes
)

// String is the name of a lane.
func (l Lane) String() string {
	if l >= lanes {
		return "unknown"
	}
	return [lanes]string{"executor", "control"}[l]
}

// Region is what one lane of a rank did for some time.
type Region struct {
	Kind Kind
	Lane Lane
	Name string
	Step uint64 // 0 for none
	// Start and End are on the recorder's clock.
	Start, End time.Duration
	// Flow is the same number in the regions of one collective, or of one message, on
	// all ranks that take part; 0 for none.
	Flow uint64
}

// DefaultRegions is how many regions a recorder holds when nothing else is said:
// some hundred steps of a model with thirty layers.
const DefaultRegions = 1 << 16

// Recorder collects the regions of one rank. It is safe for concurrent use.
type Recorder struct {
	zero time.Time

	mu    sync.Mutex
	ring  []Region
	count uint64 // of all regions so far
}

// New returns a recorder that holds the latest regions, as many as capacity says.
func New(capacity int) *Recorder {
	return &Recorder{zero: time.Now(), ring: make([]Region, max(1, capacity))}
}

// Now is the time on the recorder's clock; 0 when there is no recorder.
func (r *Recorder) Now() time.Duration {
	if r == nil {
		return 0
	}
	return time.Since(r.zero)
}

// At is a time on the recorder's clock.
func (r *Recorder) At(t time.Time) time.Duration { return t.Sub(r.zero) }

// Add records a region that began at g.Start and ends now.
func (r *Recorder) Add(g Region) {
	if r == nil {
		return
	}
	g.End = time.Since(r.zero)
	r.Put(g)
}

// Put records a region whose times are both known.
func (r *Recorder) Put(g Region) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.ring[r.count%uint64(len(r.ring))] = g
	r.count++
	r.mu.Unlock()
}

// Regions copies what the recorder holds, in the order in which regions ended, and
// tells how many older ones it has lost.
func (r *Recorder) Regions() (list []Region, lost uint64) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	size := uint64(len(r.ring))
	if r.count <= size {
		return append(list, r.ring[:r.count]...), 0
	}
	at := r.count % size
	return append(append(list, r.ring[at:]...), r.ring[:at]...), r.count - size
}

// Rank is what one rank did.
type Rank struct {
	Rank, Stage int
	// Offset is the time on this rank's clock when that of rank 0 shows zero, and Error
	// the most by which it may be wrong.
	Offset, Error time.Duration
	Lost          uint64 // regions that the ring had no room for
	Regions       []Region
}
