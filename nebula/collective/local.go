package collective

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Local is a group of n ranks that are goroutines of this process, n at least 1.
// Result i is for rank i. Their epoch is 0.
func Local(n int, o Options) []Group {
	members := make([]int, n)
	for i := range members {
		members[i] = i
	}
	groups := make([]Group, n)
	for i, g := range newHub("world", members, o.complete()).groups {
		groups[i] = g
	}
	return groups
}

// hub is the ranks of a group in one process.
type hub struct {
	groups []*group
	mu     sync.Mutex
	subs   map[string][]*sub // by name; groups of one name have no ranks in common
}

// sub is a smaller group as its ranks ask for it.
type sub struct {
	*hub
	ranks []int // of the larger group
}

func newHub(name string, members []int, o Options) *hub {
	h := &hub{groups: make([]*group, len(members)), subs: map[string][]*sub{}}
	for i := range members {
		g := newGroup(name, 0, i, members, o)
		g.divide, g.look = h.divide, len(members) <= runtime.GOMAXPROCS(0)
		h.groups[i] = g
		for j, other := range h.groups[:i] {
			there, back := localRing(o.Buffer), localRing(o.Buffer)
			g.links[j] = &link{rank: j, out: writer{ring: there}, in: reader{ring: back}, post: localPost{i, other}, yield: runtime.Gosched}
			other.links[i] = &link{rank: i, out: writer{ring: back}, in: reader{ring: there}, post: localPost{j, g}, yield: runtime.Gosched}
			g.links[j].ends.Store(1)
			other.links[i].ends.Store(1)
		}
	}
	return h
}

// divide gives a rank its place in a smaller group, which the first of them makes.
func (h *hub) divide(g *group, name string, ranks []int) (Group, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	full := g.name + "/" + name
	var s *sub
	for _, k := range h.subs[name] {
		if slices.Equal(k.ranks, ranks) {
			s = k
		} else if slices.ContainsFunc(k.ranks, func(r int) bool { return slices.Contains(ranks, r) }) {
			return nil, fmt.Errorf("group %s: rank %d wants ranks %v in it, another wants %v", full, g.rank, ranks, k.ranks)
		}
	}
	if s == nil {
		members := make([]int, len(ranks))
		for i, r := range ranks {
			members[i] = g.members[r]
		}
		s = &sub{newHub(full, members, g.options), slices.Clone(ranks)}
		h.subs[name] = append(h.subs[name], s)
	}
	return s.groups[slices.Index(ranks, g.rank)], nil
}

// localPost tells a rank in this process what another one does.
type localPost struct {
	from int
	to   *group
}

func (p localPost) abort(e *Error) { p.to.aborted(p.from, e.notice()) }
func (p localPost) late(rank int)  { p.to.heardLate(p.from, rank) }
func (p localPost) leave()         { p.to.gone(p.from) }
