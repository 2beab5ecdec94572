package trace

import (
	"cmp"
	"slices"
	"time"
)

// Bubble is how much of its time a rank of the pipeline waited.
type Bubble struct {
	Rank, Stage int
	Window      time.Duration // steady state
	Busy        time.Duration // of it, time inside steps that was not spent waiting
}

// Share is the idle part of the window, from 0 to 1; 0 for an empty window.
func (b Bubble) Share() float64 {
	if b.Window <= 0 {
		return 0
	}
	return 1 - float64(b.Busy)/float64(b.Window)
}

// Bubbles computes the idle share of each rank in steady state, which lasts from the
// time at which every rank has begun to compute to the time at which the first of
// them is done: filling and draining the pipeline do not count. A rank is busy in
// its steps, save for what it waits there for the stage before.
func Bubbles(ranks []Rank) []Bubble {
	list := make([]Bubble, len(ranks))
	busy := make([][]span, len(ranks))
	window := span{-1 << 62, 1 << 62}
	for i, r := range ranks {
		list[i] = Bubble{Rank: r.Rank, Stage: r.Stage}
		if busy[i] = r.busy(); len(busy[i]) == 0 {
			return list
		}
		window.from = max(window.from, busy[i][0].from)
		window.to = min(window.to, busy[i][len(busy[i])-1].to)
	}
	if window.to <= window.from {
		return list
	}
	for i := range list {
		list[i].Window = window.to - window.from
		for _, s := range busy[i] {
			list[i].Busy += max(0, min(s.to, window.to)-max(s.from, window.from))
		}
	}
	return list
}

type span struct{ from, to time.Duration }

// busy is the times inside steps without those inside idle regions, on the clock of
// rank 0, in order and apart from one another.
func (r Rank) busy() []span {
	var steps, idle []span
	for _, g := range r.Regions {
		s := span{g.Start - r.Offset, g.End - r.Offset}
		switch {
		case g.Lane != Executor:
		case g.Kind == Step:
			steps = append(steps, s)
		case g.Kind.Idle():
			idle = append(idle, s)
		}
	}
	return without(joined(steps), joined(idle))
}

// joined sorts spans and joins those that touch.
func joined(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// without cuts holes out of spans; both are in order.
func without(list, holes []span) []span {
	var out []span
	for _, s := range list {
		for len(holes) > 0 && holes[0].to <= s.from {
			holes = holes[1:]
		}
		for _, h := range holes {
			if h.from >= s.to {
				break
			}
			if h.from > s.from {
				out = append(out, span{s.from, h.from})
			}
			s.from = h.to
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	return out
}
