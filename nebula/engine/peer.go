package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"forgekernel/nebula/collective"
	"forgekernel/nebula/trace"
)

// peer is what rank 0 knows of another rank.
type peer struct {
	*conn
	ready chan struct{} // a token for each answer that it is ready
	told  chan []byte   // what it was asked to tell
	asked chan struct{} // has a token when a ping is wanted now
	news  chan struct{} // has a token when a ping has been answered
	ended chan struct{} // closed when it will say nothing more

	mu    sync.Mutex
	state RankStatus
	waits int // the rank that it waits for, or -1
	clock trace.Clock
}

func newPeer(c *conn) *peer {
	return &peer{conn: c, ready: make(chan struct{}, 1), told: make(chan []byte, 1), asked: make(chan struct{}, 1), news: make(chan struct{}, 1), ended: make(chan struct{}),
		state: RankStatus{Rank: c.peer, State: "starting"}, waits: -1}
}

// listen handles what a rank says until its link ends.
func (l *Leader) listen(p *peer) {
	defer close(p.ended)
	for {
		k, body, err := p.receive()
		if err == nil && k == kindStopped {
			return
		}
		if err == nil {
			err = l.heed(p, k, body)
		}
		if err != nil {
			l.blame(p.peer, opCommand, err)
			return
		}
	}
}

// heed handles one message of a rank.
func (l *Leader) heed(p *peer, k kind, body []byte) error {
	switch k {
	case kindReady:
		select {
		case p.ready <- struct{}{}:
			return nil
		default:
			return errors.New("a rank is ready for what it was not asked")
		}
	case kindPong:
		return p.pong(body, len(l.peers), l.self.rec.Now())
	case kindTold:
		select {
		case p.told <- append([]byte(nil), body...):
			return nil
		default:
			return errors.New("a rank tells what it was not asked")
		}
	case kindFailed:
		e, w, err := decodeCause(body, p.epoch, len(l.peers))
		if err == nil {
			l.health.fail(report{p.peer, w, e})
		}
		return err
	}
	return fmt.Errorf("rank %d sends %q, which is a command", p.peer, k)
}

// pong reads the answer to a ping of one of some ranks.
func (p *peer) pong(b []byte, ranks int, now time.Duration) error {
	const least = 32
	if len(b) < least {
		return errors.New("the answer to a ping is cut short")
	}
	le := binary.LittleEndian
	waits := le.Uint32(b[28:])
	if int64(waits) > int64(ranks) {
		return fmt.Errorf("it waits for rank %d of %d", waits-1, ranks)
	}
	p.pinged.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock.Exchange(time.Duration(le.Uint64(b)), now, time.Duration(le.Uint64(b[8:])))
	p.state.Step, p.state.State = le.Uint64(b[16:]), "idle"
	if le.Uint32(b[24:]) == 1 {
		p.state.State = "running"
	}
	p.waits = int(waits) - 1
	p.state.Last, p.state.Seen = string(b[least:]), time.Now()
	select {
	case p.news <- struct{}{}:
	default:
	}
	return nil
}

func (p *peer) status() RankStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// pingInterval is the longest between signs of life.
const pingInterval = 250 * time.Millisecond

// ping asks a rank for signs of life, as long as the engine lives. One that has been
// told to stop closes its link: whether it has stopped well is for who listens to say.
func (l *Leader) ping(p *peer) {
	tick := time.NewTicker(min(l.deadline/looks, pingInterval))
	defer tick.Stop()
	for {
		if err := p.send(kindPing, binary.LittleEndian.AppendUint64(nil, uint64(l.self.rec.Now()))); err != nil {
			if !l.stopping.Load() {
				l.blame(p.peer, opCommand, err)
			}
			return
		}
		select {
		case <-l.health.over:
			return
		case <-p.ended:
			return
		case <-p.asked:
		case <-tick.C:
		}
	}
}

// refreshTime is how long a status waits for ranks to say how they are: longer than
// they need, unless they are in trouble, and shorter than a person notices.
const refreshTime = 30 * time.Millisecond

// refresh asks all ranks how they are. What is known of one that does not answer stays.
func (l *Leader) refresh() {
	asked := time.Now()
	for _, p := range l.peers[1:] {
		select {
		case p.asked <- struct{}{}:
		default:
		}
	}
	late := time.After(refreshTime)
	for _, p := range l.peers[1:] {
		for p.status().Seen.Before(asked) {
			select {
			case <-p.news:
			case <-late:
				return
			case <-p.ended:
				return
			case <-l.health.over:
				return
			}
		}
	}
}

// watch fails the engine when a rank gives no sign of life or a step does not end.
func (l *Leader) watch() {
	tick := time.NewTicker(l.deadline / looks)
	defer tick.Stop()
	for {
		select {
		case <-l.health.over:
			return
		case <-tick.C:
		}
		if l.health.failing() { // ranks have something better to say
			return
		}
		for _, p := range l.peers[1:] {
			p.look()
			if e := p.silence(l.deadline, 1); e != nil {
				l.health.fail(report{0, overdue, e})
			}
		}
		if number, seen, deadlines := l.look(); seen > deadlines*looks {
			age := time.Duration(seen) * l.deadline / looks
			err := fmt.Errorf("%w: the step has taken %v", collective.ErrTimeout, age.Round(time.Millisecond))
			l.health.fail(report{0, overdue, &Error{Rank: l.laggard(), Epoch: l.health.epoch, Step: number, Op: opExecute, Err: err}})
		}
	}
}

// laggard is the rank that keeps the others from ending a step: it waits for none, and
// is found from the first that executes one by who waits for whom. In a circle it is
// that one. When none executes, results do not come through to rank 0.
func (l *Leader) laggard() int {
	first := l.executing()
	at := first
	for range l.peers {
		next := l.waits(at)
		if next < 0 {
			return at
		}
		at = next
	}
	return first
}

// executing is the first rank that executes a step, or 0.
func (l *Leader) executing() int {
	if l.self.busy.Load() {
		return 0
	}
	for _, p := range l.peers[1:] {
		if p.status().State == "running" {
			return p.peer
		}
	}
	return 0
}

// waits is the rank that another waits for, or -1.
func (l *Leader) waits(rank int) int {
	if rank == 0 {
		return l.self.waits()
	}
	p := l.peers[rank]
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waits
}

// command sends a message to all ranks.
func (l *Leader) command(k kind, payload []byte) error {
	for _, p := range l.peers[1:] {
		if err := p.send(k, payload); err != nil {
			l.blame(p.peer, opCommand, err)
			return l.health.err()
		}
	}
	return nil
}

// everyReady waits until all ranks have answered that they are.
func (l *Leader) everyReady(ctx context.Context) error {
	late, stop := countdown(startLimit)
	defer stop()
	for _, p := range l.peers[1:] {
		select {
		case <-p.ready:
		case <-l.health.over:
			return l.health.err()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			l.blame(p.peer, opPrepare, fmt.Errorf("%w: it was not ready within %v", collective.ErrTimeout, startLimit))
			return l.health.err()
		}
	}
	return nil
}

// blame reports a failure of a rank that was seen on rank 0.
func (l *Leader) blame(rank int, op string, err error) {
	step := uint64(0)
	if rank == 0 && l.self.busy.Load() {
		step = l.self.at.Load()
	}
	l.health.fail(report{0, weigh(0, err), causeOf(rank, l.health.epoch, step, op, err)})
}

// fail records a failure of rank 0 and returns the cause.
func (l *Leader) fail(op string, err error) error {
	l.blame(0, op, err)
	return l.health.err()
}

// tell sends the cause of the engine's failure to all ranks.
func (l *Leader) tell(e *Error) {
	for _, p := range l.peers[1:] {
		l.running.Go(func() { _ = p.send(kindAbort, encodeCause(e, conclusive)) })
	}
}
