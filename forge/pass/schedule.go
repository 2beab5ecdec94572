package pass

import (
	"container/heap"
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

var scheduleRule = Rule{"reorder", true, "a node computes the same whenever its operands are ready; nodes with effects keep their order, and storage is taken after its last reader"}

// schedule puts the nodes into the order in which they are to run. Of the nodes
// that are ready, the one comes first that frees most more bytes than it makes,
// and of equal ones the first of the program. The order of the program stays
// where that does not lower the peak of live bytes. Planners start from this
// order and may find better ones.
func schedule(g *ir.Graph, r *report) error {
	if len(g.Nodes) == 0 {
		return nil
	}
	s := newScheduler(g)
	order := s.run()
	before, after := peakBytes(g, g.Nodes), peakBytes(g, order)
	if after >= before {
		r.declined(&scheduleRule, g.Outputs[0], fmt.Sprintf("the greedy order has a peak of %d live bytes, that of the program %d", after, before))
		return nil
	}
	s.report(r, order, before, after)
	g.Nodes = order
	return nil
}

// scheduler is a ready list ordered by what running a node does to memory.
type scheduler struct {
	g       *ir.Graph
	place   map[*ir.Node]int        // in the program
	wait    map[*ir.Node]int        // predecessors that have not run
	next    map[*ir.Node][]*ir.Node // successors, one entry per wait
	pending map[*ir.Value]int       // readers of storage that have not run
	readers map[*ir.Value][]*ir.Node
	ready   readyList
}

func newScheduler(g *ir.Graph) *scheduler {
	s := &scheduler{
		g: g, place: make(map[*ir.Node]int), wait: make(map[*ir.Node]int), next: make(map[*ir.Node][]*ir.Node),
		pending: make(map[*ir.Value]int), readers: make(map[*ir.Value][]*ir.Node),
	}
	var effect *ir.Node
	for i, n := range g.Nodes {
		s.place[n] = i
		for _, v := range distinctOwners(n) {
			s.readers[v] = append(s.readers[v], n)
			s.pending[v]++
		}
		for _, v := range n.In {
			s.after(v.Def, n)
		}
		if n.Op.Effect {
			s.after(effect, n)
			effect = n
		}
		if n.Op.Donates { // everything that reads the storage stands before, as the verifier sees to
			for _, m := range s.readers[n.In[0].Owner()] {
				s.after(m, n)
			}
		}
	}
	for _, v := range g.Outputs {
		s.pending[v.Owner()]++ // never freed
	}
	return s
}

// after makes n wait for m.
func (s *scheduler) after(m, n *ir.Node) {
	if m != nil && m != n {
		s.next[m] = append(s.next[m], n)
		s.wait[n]++
	}
}

func (s *scheduler) run() []*ir.Node {
	for _, n := range s.g.Nodes {
		if s.wait[n] == 0 {
			s.push(n)
		}
	}
	done := make(map[*ir.Node]bool)
	var order []*ir.Node
	for len(s.ready) > 0 {
		n := heap.Pop(&s.ready).(readyNode).node
		if done[n] {
			continue // a better entry of it came first
		}
		done[n] = true
		order = append(order, n)
		for _, m := range s.next[n] {
			if s.wait[m]--; s.wait[m] == 0 {
				s.push(m)
			}
		}
		for _, v := range distinctOwners(n) {
			if s.pending[v]--; s.pending[v] == 1 {
				s.promote(v, done)
			}
		}
	}
	return order
}

// promote enters the last reader of v again if it is ready: it frees v now.
func (s *scheduler) promote(v *ir.Value, done map[*ir.Node]bool) {
	for _, m := range s.readers[v] {
		if !done[m] && s.wait[m] == 0 {
			s.push(m)
		}
	}
}

func (s *scheduler) push(n *ir.Node) {
	gain := int64(0)
	for _, v := range distinctOwners(n) {
		if s.pending[v] == 1 && occupies(v) {
			gain += v.Spec.Bytes()
		}
	}
	for _, v := range n.Out {
		if occupies(v) {
			gain -= v.Spec.Bytes()
		}
	}
	heap.Push(&s.ready, readyNode{n, gain, s.place[n]})
}

// report says which nodes have overtaken others.
func (s *scheduler) report(r *report, order []*ir.Node, before, after int64) {
	done := make([]bool, len(order))
	first := 0 // the first node of the program that has not run
	for _, n := range order {
		for done[first] {
			first++
		}
		if n != s.g.Nodes[first] && n.Op.Class != ir.Constant {
			overtaken := s.g.Nodes[first].Out[0]
			r.applied(&scheduleRule, n.Out[0], fmt.Sprintf("runs before %v: the peak of live bytes falls from %d to %d", overtaken, before, after), overtaken)
		}
		done[s.place[n]] = true
	}
}

// distinctOwners are the storages that n reads.
func distinctOwners(n *ir.Node) []*ir.Value {
	var list []*ir.Value
	for _, v := range n.In {
		if owner := v.Owner(); !slices.Contains(list, owner) {
			list = append(list, owner)
		}
	}
	return list
}

// occupies reports whether the program makes storage for v when it runs.
func occupies(v *ir.Value) bool { return v.Def != nil && v.Owner() == v && !isConst(v) }

// peakBytes is the most memory that live values occupy when the nodes run in
// the given order; inputs and constants do not count.
func peakBytes(g *ir.Graph, order []*ir.Node) int64 {
	last := make(map[*ir.Value]int)
	for i, n := range order {
		for _, v := range n.Out {
			last[v.Owner()] = max(last[v.Owner()], i)
		}
		for _, v := range n.In {
			last[v.Owner()] = i
		}
	}
	for _, v := range g.Outputs {
		last[v.Owner()] = len(order)
	}
	var live, peak int64
	for i, n := range order {
		for _, v := range n.Out {
			if occupies(v) {
				live += v.Spec.Bytes()
			}
		}
		peak = max(peak, live)
		for _, v := range append(distinctOwners(n), n.Out...) {
			if occupies(v) && last[v] == i {
				live -= v.Spec.Bytes()
			}
		}
	}
	return peak
}

// readyNode is a node that can run, with the bytes that it frees beyond those
// that it makes at the time of its entry.
type readyNode struct {
	node  *ir.Node
	gain  int64
	place int
}

type readyList []readyNode

func (l readyList) Len() int { return len(l) }
func (l readyList) Less(i, j int) bool {
	if l[i].gain != l[j].gain {
		return l[i].gain > l[j].gain
	}
	return l[i].place < l[j].place
}
func (l readyList) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *readyList) Push(x any)   { *l = append(*l, x.(readyNode)) }
func (l *readyList) Pop() any {
	old := *l
	x := old[len(old)-1]
	*l = old[:len(old)-1]
	return x
}
