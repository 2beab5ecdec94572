package plan

import (
	"cmp"
	"container/heap"
)

// policy chooses among the kernels whose operands are ready: the one with the
// greatest score runs next, and of equals the one whose name comes first.
type policy struct {
	name  string
	score func(k int, freed, produced int64) score
}

// score is compared in lexicographic order.
type score struct{ first, second int64 }

// programOrder keeps the order of the graph.
var programOrder = policy{"program order", func(k int, _, _ int64) score { return score{int64(-k), 0} }}

// policies are the ready-list policies in the order in which ties between plans
// are decided. freed counts the bytes that are read for the last time, produced
// the bytes that are written.
var policies = []policy{
	{"freed - produced", func(_ int, freed, produced int64) score { return score{freed - produced, 0} }},
	{"freed - 2 produced", func(_ int, freed, produced int64) score { return score{freed - 2*produced, 0} }},
	{"freed - produced/2", func(_ int, freed, produced int64) score { return score{2*freed - produced, 0} }},
	{"least produced first", func(_ int, freed, produced int64) score { return score{-produced, freed} }},
	programOrder,
	{"reverse program order", func(k int, _, _ int64) score { return score{int64(k), 0} }},
}

// scheduler is a list scheduler. A kernel that frees more because the other
// readers of an operand have run enters the ready list again with its new score;
// the older entry is skipped when it comes up.
type scheduler struct {
	*analysis
	policy  policy
	waiting []int // per kernel: kernels that it still waits for
	freed   []int64
	done    []bool
	// unread counts the readers of a storage that have not run and adds up their
	// indices, so that the last one is known without looking for it.
	unread []struct{ count, sum int }
	ready  readyList
}

// schedule orders the kernels by a policy, in O(e log e) for e reads.
func (a *analysis) schedule(p policy) []int {
	s := &scheduler{
		analysis: a,
		policy:   p,
		waiting:  make([]int, len(a.kernels)),
		freed:    make([]int64, len(a.kernels)),
		done:     make([]bool, len(a.kernels)),
		unread:   make([]struct{ count, sum int }, len(a.storages)),
	}
	for k := range a.kernels {
		s.waiting[k] = len(a.kernels[k].after)
		for _, i := range a.kernels[k].reads {
			s.unread[i].count++
			s.unread[i].sum += k
		}
	}
	for i := range a.storages {
		s.credit(i)
	}
	for k := range a.kernels {
		if s.waiting[k] == 0 {
			s.push(k)
		}
	}
	order := make([]int, 0, len(a.kernels))
	for s.ready.Len() > 0 {
		k := heap.Pop(&s.ready).(entry).kernel
		if s.done[k] {
			continue
		}
		order = append(order, k)
		s.run(k)
	}
	return order
}

// credit gives the last reader of a storage the bytes that it will free.
func (s *scheduler) credit(i int) {
	if s.unread[i].count != 1 || s.storages[i].escapes || s.storages[i].place != InSlot {
		return
	}
	k := s.unread[i].sum
	s.freed[k] += s.storages[i].bytes
	if s.waiting[k] == 0 {
		s.push(k)
	}
}

// run marks a kernel as done and tells those that wait for it.
func (s *scheduler) run(k int) {
	s.done[k] = true
	for _, i := range s.kernels[k].reads {
		s.unread[i].count--
		s.unread[i].sum -= k
		s.credit(i)
	}
	for _, next := range s.kernels[k].before {
		if s.waiting[next]--; s.waiting[next] == 0 {
			s.push(next)
		}
	}
}

func (s *scheduler) push(k int) {
	var produced int64
	for _, i := range s.kernels[k].writes {
		produced += s.storages[i].bytes
	}
	heap.Push(&s.ready, entry{k, s.kernels[k].rank, s.policy.score(k, s.freed[k], produced)})
}

// entry is a kernel in the ready list.
type entry struct {
	kernel, rank int
	score        score
}

type readyList []entry

func (r readyList) Len() int      { return len(r) }
func (r readyList) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r readyList) Less(i, j int) bool {
	x, y := r[i], r[j]
	return cmp.Or(cmp.Compare(y.score.first, x.score.first), cmp.Compare(y.score.second, x.score.second), cmp.Compare(x.rank, y.rank)) < 0
}
func (r *readyList) Push(x any) { *r = append(*r, x.(entry)) }
func (r *readyList) Pop() any {
	last := len(*r) - 1
	e := (*r)[last]
	*r = (*r)[:last]
	return e
}
