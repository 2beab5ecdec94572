package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// nap is how long a rank sleeps before it looks whether its context has ended.
const nap = 2 * time.Millisecond

// grace is how much longer than its deadline a rank waits, after it has told the
// others for whom: whoever it waits for may itself wait for another, and then says so.
// A rank looks some times before it blames one: where all ranks stand still for a while,
// as when their machine does, the time alone is over before any of them can answer. Of the
// time between two looks no more counts than a share of the timeout.
const (
	grace = 100 * time.Millisecond
	looks = 10
	share = 8
)

// A rank that waits first does nothing but look, about as long as ranks differ in one
// call. Then it looks whenever nobody else wants its processor, as long as they may
// differ in the work between two calls, for a rank that sleeps takes longer to wake
// than most calls take; and ranks that work by turns look to the operating system like
// one that works, which it leaves on one processor. After that it sleeps. Where somebody
// does want the processor it sleeps at once, for a while: who gives way so often gets
// it back later than who sleeps.
const (
	look    = 2 * time.Microsecond
	poll    = time.Millisecond
	crowd   = 100 * time.Microsecond // it is somebody else who has had the processor so long
	retreat = 100 * time.Millisecond
)

// alert looks at a position until it moves or the time for that is over.
func (g *group) alert(l *link, p *side, seen uint32, begun time.Time) bool {
	for i := 1; g.look; i++ {
		if p.position.Load() != seen {
			return true
		}
		if i%64 == 0 && time.Since(begun) > look {
			break
		}
	}
	if l.yield == nil || begun.Before(g.crowded) {
		return false
	}
	for last := time.Since(begun); last < poll; {
		if p.position.Load() != seen {
			return true
		}
		l.yield()
		now := time.Since(begun)
		if now-last > crowd {
			g.crowded = begun.Add(now + retreat)
			break
		}
		last = now
	}
	return p.position.Load() != seen
}

// await waits until a position of a link is not any more what was seen.
func (g *group) await(l *link, p *side, seen uint32) error {
	begun := time.Now()
	g.sees(begun)
	defer func() { g.waited += time.Since(begun) }()
	if g.alert(l, p, seen, begun) {
		return nil
	}
	g.waiting.Store(int32(l.rank) + 1)
	defer g.waiting.Store(0)
	for asked := 0; ; {
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
		now := time.Now()
		g.sees(now)
		switch rest := g.limit().Sub(now); {
		case rest < -grace && asked >= looks:
			return g.late(l, p)
		case rest <= 0:
			g.tellWait()
			asked++
		case rest > 0 && g.ctx.Err() != nil:
			return g.interrupted()
		}
		p.sleep(seen, nap, g.timer)
	}
}

// sees notes that this rank looks now, and how much of the time since it did does not
// count.
func (g *group) sees(now time.Time) {
	if apart := now.Sub(g.looked); apart > nap {
		g.stood += max(0, apart-max(g.timeout()/share, nap))
	}
	g.looked = now
}

// limit is when the call that is under way has waited long enough.
func (g *group) limit() time.Time {
	limit := g.begun.Add(g.timeout() + g.stood)
	if d, ok := g.ctx.Deadline(); ok && d.Before(limit) {
		return d
	}
	return limit
}

// interrupted is the failure of a call whose context has ended.
func (g *group) interrupted() error {
	cause := context.Cause(g.ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return g.fail(-1, &reason{ErrTimeout, "its deadline had passed before it began", cause})
	}
	return g.fail(-1, &reason{ErrAborted, fmt.Sprintf("it was interrupted: %v", cause), cause})
}

// tellWait tells all ranks for which one this rank waits, once in a wait.
func (g *group) tellWait() {
	w := g.waiting.Load()
	if w <= 0 || !g.waiting.CompareAndSwap(w, -w) {
		return
	}
	for _, l := range g.links {
		if l != nil {
			l.post.late(int(w) - 1)
		}
	}
}

// heardLate is told by a rank that it has waited too long for another. If that is this
// rank, the others want to know whether it waits itself.
func (g *group) heardLate(from, rank int) {
	g.links[from].waits.Store(int32(rank) + 1)
	if rank == g.rank {
		g.tellWait()
	}
}

// missing are the ranks that a call waits for, among them that of l.
func (g *group) missing(l *link, p *side) []*link {
	var list []*link
	if g.now.op < Send && !l.met && p == &l.in.written {
		for _, k := range g.links {
			if k != nil && !k.met && len(k.in.span()) == 0 {
				list = append(list, k)
			}
		}
	}
	if len(list) == 0 {
		list = append(list, l)
	}
	return list
}

// root follows what ranks have told of whom they wait for, and returns the one
// that waits for none. In a circle that is the rank itself.
func (g *group) root(l *link) *link {
	at := l
	for range g.members {
		next := int(at.waits.Load()) - 1
		if next < 0 {
			return at
		}
		if next == g.rank || g.links[next] == l {
			return l
		}
		at = g.links[next]
	}
	return l
}

// late is the failure of a call that waited too long, with the ranks that are the
// reason.
func (g *group) late(l *link, p *side) error {
	var roots, kept []int // the job's ranks: at fault, and waiting for these
	for _, k := range g.missing(l, p) {
		root := g.root(k)
		roots = append(roots, g.members[root.rank])
		if root != k {
			kept = append(kept, g.members[k.rank])
		}
	}
	what := "did not come"
	if p == &l.out.read && len(kept) == 0 {
		what = "did not take what is sent to it"
	}
	patience := min(g.timeout(), g.limit().Sub(g.begun))
	slices.Sort(roots)
	roots = slices.Compact(roots)
	text := fmt.Sprintf("%s %s within %v", ranks(roots), what, patience.Round(time.Millisecond))
	if len(kept) > 0 {
		text += fmt.Sprintf(", and keeps %s waiting", ranks(kept))
	} else if l.waits.Load()-1 == int32(g.rank) {
		text += ": it waits for this rank"
	}
	return g.fail(slices.Index(g.members, roots[0]), &reason{kind: ErrTimeout, text: text})
}

// ranks are some ranks in words.
func ranks(list []int) string {
	if len(list) == 1 {
		return fmt.Sprint("rank ", list[0])
	}
	last := len(list) - 1
	return fmt.Sprintf("ranks %s and %d", strings.Trim(strings.ReplaceAll(fmt.Sprint(list[:last]), " ", ", "), "[]"), list[last])
}
