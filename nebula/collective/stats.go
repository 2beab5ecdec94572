package collective

import (
	"sync"
	"time"
)

// Stats is what a rank has done in a group.
type Stats struct {
	Group string
	Ops   [numOps]OpStats // by Op
	Last  Call
	Waits int // the job's rank that this one waits for now, or -1
}

// OpStats adds up the calls of one operation that ended well.
type OpStats struct {
	Count uint64
	Bytes uint64        // of this rank's tensors; an all-gather counts its part, not the result
	Wait  time.Duration // for other ranks
	Total time.Duration // from beginning to end
}

// Call is the last call of a rank, which may not have ended. Op is meaningless
// while Seq is 0.
type Call struct {
	Op    Op
	Seq   uint64
	Begun time.Time
	Done  bool
}

// Event is one call, for a trace.
type Event struct {
	Group string
	Op    Op
	Seq   uint64
	Peer  int // the job's rank: the root of a broadcast, the other end of a send or recv; else -1
	Bytes int
	Begun time.Time
	Total time.Duration
	Wait  time.Duration // of Total, for other ranks
	Err   error
}

// account is the statistics of a group that may be read while it works.
type account struct {
	mu sync.Mutex
	s  Stats
}

func (a *account) begin(op Op, seq uint64, now time.Time) {
	a.mu.Lock()
	a.s.Last = Call{Op: op, Seq: seq, Begun: now}
	a.mu.Unlock()
}

func (a *account) end(op Op, bytes int, total, wait time.Duration) {
	a.mu.Lock()
	o := &a.s.Ops[op]
	o.Count++
	o.Bytes += uint64(bytes)
	o.Total += total
	o.Wait += wait
	a.s.Last.Done = true
	a.mu.Unlock()
}

func (a *account) read() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.s
}
