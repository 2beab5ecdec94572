package collective

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// nap is how long a rank sleeps before it looks whether its context has ended.
const nap = 2 * time.Millisecond

// grace is how much longer than its deadline a rank waits. Whoever it waits for
// may itself wait for another, since before; that one's message is about to come
// and names the right rank.
const grace = 50 * time.Millisecond

// spins is how long a rank looks at a ring before it sleeps: longer while that
// succeeds, shorter while it does not, as when ranks outnumber free processors.
type spins struct{ now, least, most time.Duration }

func newSpins(ranks int) spins {
	switch procs := runtime.GOMAXPROCS(0); {
	case procs == 1:
		return spins{} // whoever is waited for may need this processor
	case ranks > runtime.NumCPU():
		return spins{now: 0, least: 0, most: 5 * time.Microsecond}
	default:
		return spins{now: 50 * time.Microsecond, least: 2 * time.Microsecond, most: 100 * time.Microsecond}
	}
}

// spin looks at a position until it moves or the time for that is over.
func (s *spins) spin(p *side, seen uint32, begun time.Time) bool {
	for i := 1; s.now > 0; i++ {
		if p.position.Load() != seen {
			s.now = min(s.now+s.now/4, s.most)
			return true
		}
		if i%64 == 0 && time.Since(begun) > s.now {
			break
		}
	}
	s.now = max(s.now/2, s.least)
	return false
}

// await waits until a position of a link is not any more what was seen.
func (g *group) await(l *link, p *side, seen uint32) error {
	begun := time.Now()
	defer func() { g.waited += time.Since(begun) }()
	if g.spins.spin(p, seen, begun) {
		return nil
	}
	limit := g.begun.Add(g.options.Timeout)
	if d, ok := g.ctx.Deadline(); ok && d.Before(limit) {
		limit = d
	}
	for {
		left := l.ends.Load() <= 0 // before the position: what a rank wrote before it left still counts
		if p.position.Load() != seen {
			return nil
		}
		if e := g.failure.Load(); e != nil {
			return e
		}
		if left {
			return g.fail(l.rank, &reason{kind: ErrClosed, text: fmt.Sprintf("rank %d has closed the group", g.members[l.rank])})
		}
		rest := time.Until(limit)
		if rest < -grace {
			return g.late(l, p, limit)
		}
		if rest > 0 && g.ctx.Err() != nil {
			return g.interrupted()
		}
		p.sleep(seen, nap, g.timer)
	}
}

// interrupted is the failure of a call whose context has ended.
func (g *group) interrupted() error {
	cause := context.Cause(g.ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return g.fail(-1, &reason{ErrTimeout, "its deadline had passed before it began", cause})
	}
	return g.fail(-1, &reason{ErrAborted, fmt.Sprintf("it was interrupted: %v", cause), cause})
}

// late is the failure of a call that waited too long, with the ranks that are the
// reason.
func (g *group) late(l *link, p *side, limit time.Time) error {
	after := limit.Sub(g.begun).Round(time.Millisecond)
	if p == &l.out.read {
		return g.fail(l.rank, &reason{kind: ErrTimeout,
			text: fmt.Sprintf("rank %d did not take what is sent to it within %v", g.members[l.rank], after)})
	}
	missing := []*link{l}
	if g.now.op < Send && !l.met {
		missing = missing[:0]
		for _, k := range g.links {
			if k != nil && !k.met && len(k.in.span()) == 0 {
				missing = append(missing, k)
			}
		}
	}
	if len(missing) == 0 { // it came at the last moment
		missing = []*link{l}
	}
	names := make([]string, len(missing))
	for i, k := range missing {
		names[i] = fmt.Sprint(g.members[k.rank])
	}
	who := "rank " + names[0]
	if last := len(names) - 1; last > 0 {
		who = "ranks " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return g.fail(missing[0].rank, &reason{kind: ErrTimeout, text: fmt.Sprintf("%s did not come within %v", who, after)})
}
