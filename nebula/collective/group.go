package collective

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// group is a [Group] over links to its other ranks.
type group struct {
	name    string
	id      uint32
	epoch   uint32
	rank    int
	members []int   // the job's ranks
	chunk   int     // bytes; see [chunkSize]
	links   []*link // by rank of the group; nil for this one
	options Options
	look    bool                                                    // while waiting, without regard to who else may want the processor
	divide  func(g *group, name string, ranks []int) (Group, error) // makes a Sub
	release func(well bool)                                         // ends what lies behind the links, if anything

	call     sync.Mutex // held during a call; guards what follows
	seq      uint64     // of collectives
	now      call
	ctx      context.Context
	begun    time.Time
	waited   time.Duration
	looked   time.Time
	stood    time.Duration // of the call, in which this rank could not look
	crowded  time.Time     // until when it does not give way while it waits, but sleeps
	timer    *time.Timer
	combiner *combiner
	sources  [][]byte

	waiting atomic.Int32 // 1 + the rank that this one waits for, negative when the others have been told; 0 for none

	names   sync.Mutex
	subs    map[string]bool // names of smaller groups
	account account
	closed  atomic.Bool
	failure atomic.Pointer[Error] // the first one
	told    chan struct{}         // closed when the others know of it
}

// link is the way to and from one other rank.
type link struct {
	rank     int // of the group
	out      writer
	in       reader
	sent     uint64 // number of Sends
	received uint64
	met      bool         // its line of this call has come
	ends     atomic.Int32 // signs still to come that it has closed the group
	waits    atomic.Int32 // 1 + the rank that it says it has waited too long for
	post     post
	yield    func() // lets others have the processor, among them that rank; nil if it is across a network
}

// post is how a rank tells another of what happens outside of calls.
type post interface {
	abort(e *Error)
	late(rank int) // this rank has waited too long for that of the group
	leave()        // nothing follows
}

// newGroup is a group without links yet.
func newGroup(name string, epoch uint32, rank int, members []int, o Options) *group {
	g := &group{
		name: name, id: groupID(name, members), epoch: epoch, rank: rank, members: members,
		links: make([]*link, len(members)), options: o, chunk: chunkSize(o.Buffer), timer: time.NewTimer(time.Hour),
		combiner: newCombiner(), sources: make([][]byte, len(members)),
		subs: map[string]bool{}, told: make(chan struct{}),
	}
	g.timer.Stop()
	g.account.s.Group = name
	return g
}

func (g *group) Rank() int     { return g.rank }
func (g *group) Size() int     { return len(g.members) }
func (g *group) Name() string  { return g.name }
func (g *group) Epoch() uint32 { return g.epoch }

// Stats implements [Group].
func (g *group) Stats() Stats {
	s := g.account.read()
	s.Waits = -1
	if w := int(g.waiting.Load()); w != 0 {
		s.Waits = g.members[max(w, -w)-1]
	}
	return s
}

// begin starts a call. Where it returns no error the caller has to call end.
func (g *group) begin(ctx context.Context, c call, seq uint64) error {
	g.begun, g.waited, g.stood, g.ctx = time.Now(), 0, 0, ctx
	g.looked = g.begun
	c.epoch, c.group, c.seq = g.epoch, g.id, seq
	g.now = c
	if e := g.failure.Load(); e != nil {
		return e
	}
	g.account.begin(c.op, seq, g.begun)
	if ctx.Err() != nil {
		return g.interrupted()
	}
	for _, l := range g.links {
		if l != nil {
			l.met = false
		}
	}
	return nil
}

// end closes a call that begin started or refused.
func (g *group) end(bytes int, err error) error {
	total := time.Since(g.begun)
	if err == nil {
		g.account.end(g.now.op, bytes, total, g.waited)
	}
	g.ctx = nil
	if g.options.Trace != nil {
		peer := -1
		if g.now.op >= Send || g.now.op == Broadcast {
			peer = g.members[g.now.peer]
		}
		g.options.Trace(Event{g.name, g.now.op, g.now.seq, peer, bytes, g.begun, total, g.waited, err})
	}
	return err
}

// fail makes the group unusable and tells all ranks why. The result is the first
// failure, which may be another one.
func (g *group) fail(peer int, err error) *Error {
	if peer >= 0 {
		peer = g.members[peer]
	}
	return g.settle(g.failed(peer, err), true)
}

// failed is a failure at the present call, or the last one, with a rank of the
// job at fault.
func (g *group) failed(peer int, err error) *Error {
	e := &Error{Group: g.name, Rank: g.members[g.rank], Epoch: g.epoch, Peer: peer, Err: err}
	if last := g.account.read().Last; last.Seq != 0 {
		e.Seq, e.Op = last.Seq, last.Op.String()
	}
	return e
}

// settle records a failure, unless there is one, and wakes the rank.
func (g *group) settle(e *Error, tell bool) *Error {
	if !g.failure.CompareAndSwap(nil, e) {
		return g.failure.Load()
	}
	for _, l := range g.links {
		if l == nil {
			continue
		}
		if tell {
			l.post.abort(e)
		}
		l.rouse()
	}
	close(g.told)
	return e
}

// rouse makes a rank that waits for this link look around.
func (l *link) rouse() {
	l.in.written.wake()
	l.out.read.wake()
}

// aborted is the failure of another rank that it has told this one. It is passed
// on, so that whoever hears this rank leave has heard why before.
func (g *group) aborted(from int, n notice) {
	r := &reason{kind: ErrAborted, text: fmt.Sprintf("%v by rank %d: %s", ErrAborted, g.members[from], n.text)}
	if int(n.kind) < len(kinds) {
		r.cause = kinds[n.kind]
	}
	g.settle(g.failed(n.peer, r), true)
}

// lost is the end of a stream of a rank. Only the end of what it had said tells that
// it died of itself: a stream that broke has lost what came last, which may be that
// the rank leaves because of another, who is then seen to be dead, too.
func (g *group) lost(rank int, cause error) {
	if !errors.Is(cause, io.EOF) {
		time.Sleep(grace)
	}
	g.died(rank, cause)
}

// died is the end of a rank that did not say goodbye.
func (g *group) died(rank int, cause error) {
	g.fail(rank, &reason{ErrDead, fmt.Sprintf("rank %d has died", g.members[rank]), cause})
}

// gone is a sign that a rank has closed the group. Over a stream there are two:
// what it said, and the end of its bytes.
func (g *group) gone(rank int) {
	l := g.links[rank]
	l.ends.Add(-1)
	l.rouse()
}

// Abort implements [Group].
func (g *group) Abort(cause error) {
	if cause == nil {
		cause = errors.New("no cause was given")
	}
	g.fail(-1, &reason{ErrAborted, fmt.Sprintf("%v: %v", ErrAborted, cause), cause})
}

// Close implements [Group].
func (g *group) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	mine := g.failed(-1, ErrClosed)
	well := g.settle(mine, false) == mine
	<-g.told      // before they are told that this rank leaves
	g.call.Lock() // nobody is in a ring after this
	defer g.call.Unlock()
	for _, l := range g.links {
		if l != nil {
			l.post.leave()
		}
	}
	if g.release != nil {
		g.release(well)
	}
	return nil
}

// Sub implements [Group].
func (g *group) Sub(name string, ranks []int) (Group, error) {
	mine := false
	seen := make([]bool, len(g.members))
	for _, r := range ranks {
		if r < 0 || r >= len(seen) {
			return nil, fmt.Errorf("group %s/%s: there is no rank %d in group %s of %d ranks", g.name, name, r, g.name, len(seen))
		}
		if seen[r] {
			return nil, fmt.Errorf("group %s/%s: rank %d is named twice", g.name, name, r)
		}
		seen[r] = true
		mine = mine || r == g.rank
	}
	if !mine {
		return nil, fmt.Errorf("group %s/%s: this rank, %d, is not in it", g.name, name, g.rank)
	}
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("group %s: %q cannot be the name of a group in it", g.name, name)
	}
	if e := g.failure.Load(); e != nil {
		return nil, e
	}
	if !g.reserve(name) {
		return nil, fmt.Errorf("group %s has a group %s already", g.name, name)
	}
	return g.divide(g, name, ranks)
}

// reserve takes a name for a smaller group, once.
func (g *group) reserve(name string) bool {
	g.names.Lock()
	defer g.names.Unlock()
	free := !g.subs[name]
	g.subs[name] = true
	return free
}
