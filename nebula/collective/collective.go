// Package collective is how the ranks of a job exchange tensors.
//
// A [Group] is an ordered set of ranks, seen from one of them. Between every two
// of its ranks lie two rings of bytes, one for each direction, and every
// operation is a fixed pattern of writes into rings and reads from them; nothing
// else is shared. What is behind a ring decides where the ranks can be:
//
//   - the memory of one process, for ranks that are goroutines ([Local]);
//   - memory that two processes on one host share, if the mesh can pass it ([Over]);
//   - a stream, whose bytes two goroutines carry between it and a ring ([Over]).
//
// A waiting rank first looks at the ring for two microseconds, then for a millisecond
// as often as nobody else wants its processor, and then sleeps; where somebody does,
// it sleeps earlier. A stream is not waited for in this way.
//
// # Order and agreement
//
// Reductions combine ranks in ascending order, each element on its own, so that
// results are the same bits on all ranks and in every run. f16 and bf16 are added
// in float32 and rounded once, at the end; sums of integers wrap around; on bool
// both sum and max mean "or".
//
// Every call begins with a line of 64 bytes that says what it is: operation,
// reduction, element type, shape, root, group, epoch and number. In a collective
// every rank gets this line from all others before it uses any of their elements,
// and a line that differs from its own is [ErrDiverged], in words. Send and Recv
// are numbered for themselves in each direction between two ranks.
//
// # Failure
//
// A call ends within its deadline, that of its context or [Options.Timeout] (or what
// [WithTimeout] says instead), whichever is sooner, and a moment in which the ranks
// tell one another for whom they wait, so that all name the one at the root. Time in
// which this rank could not look whether others have come hardly counts, unless its
// context ends. The first failure makes the group unusable on this rank and is what
// every later call returns, as an [*Error]. The others are told, and fail with
// ErrAborted and the kind of the first failure, unless they have noticed it themselves.
// A call that its context interrupts is such a failure, since the others wait for it.
package collective

import (
	"context"
	"time"

	"forgekernel/forge/backend"
)

// Group is a set of ranks, seen from one of them. The calls of one rank run one
// after another; a call from a second goroutine waits for the first.
type Group interface {
	backend.Collective
	// Barrier returns when all ranks have called it.
	Barrier(ctx context.Context) error
	// Sub is a group of some of these ranks, in the given order: the result's rank
	// i is this group's rank ranks[i]. All of them call it, and no others; the name
	// must be new in this group. It fails and is closed for itself.
	Sub(name string, ranks []int) (Group, error)
	// Abort makes the group unusable. Whoever waits in it, on whichever rank, gets
	// an error at once that wraps ErrAborted; on this rank it wraps cause as well,
	// on the others its text.
	Abort(cause error)
	// Name is "world" for a group of all ranks, else what Sub was told, after the
	// name of the larger group: "world/tp".
	Name() string
	// Epoch is the number of the job's incarnation.
	Epoch() uint32
	// Stats tells what this rank has done so far. It does not wait for a call.
	Stats() Stats
	// Close gives up what the group holds. Ranks that wait for this one get
	// ErrClosed; they can still receive what it sent before.
	Close() error
}

// Options are the same on all ranks of a job. The zero value means the defaults.
type Options struct {
	// Timeout bounds every call. The default is 10 s.
	Timeout time.Duration
	// Buffer is the size of a ring in bytes, rounded up to a power of two: how much
	// a Send may be ahead of its Recv. The default is 1 MiB, the least 64 KiB and
	// the most 1 GiB.
	Buffer int
	// Trace, if any, is told of every call when it ends. It may not call the group.
	Trace func(Event)
}

const (
	defaultTimeout = 10 * time.Second
	defaultBuffer  = 1 << 20
	leastBuffer    = 64 << 10
	mostBuffer     = 1 << 30
)

// complete fills in the defaults.
func (o Options) complete() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	o.Buffer = ringSize(o.Buffer)
	return o
}
