package plan

import (
	"fmt"
	"slices"

	"forgekernel/forge/ir"
)

// analysis is what holds for every schedule of a graph: which nodes are kernels,
// which values share storage, and what must run before what.
type analysis struct {
	graph    *ir.Graph
	kernels  []kernel
	storages []storage
	at       map[*ir.Value]location
	over     map[*ir.Node]*ir.Value // windows that results are written over
}

// kernel is a node that computes.
type kernel struct {
	node   *ir.Node
	rank   int   // among the names of all kernels' results: breaks ties
	reads  []int // storages in slots, each once
	writes []int // storages in slots that it is the first to write
	after  []int // kernels that must have run, each once
	before []int // kernels that wait for this one, each once
}

// storage is memory that one kernel allocates and the values in it.
type storage struct {
	root    *ir.Value // the value written first
	place   Place
	bytes   int64
	writers []int // kernels, in program order
	readers []int // kernels, in program order, each once
	escapes bool  // an output has to be copied out after the last step
}

// location is where a value stands, independent of schedules.
type location struct {
	storage int
	layout  ir.Layout
	writer  int       // the kernel that wrote the elements; -1 for inputs and constants
	donor   *ir.Value // the operand whose place it took, whatever the schedule
}

const notWritten = -1

// analyse lets results take the places of the operands over.
func analyse(g *ir.Graph, over map[*ir.Node]*ir.Value) (*analysis, error) {
	a := &analysis{graph: g, at: make(map[*ir.Value]location), over: over}
	for _, v := range g.Inputs {
		a.own(v, InInput, notWritten)
	}
	for _, n := range g.Nodes {
		switch {
		case n.Op.Class == ir.Constant:
			a.own(n.Out[0], InConstant, notWritten)
		case !a.borrow(n):
			if err := a.addKernel(n); err != nil {
				return nil, err
			}
		}
	}
	a.placeOutputs()
	a.connect()
	a.orderEffects()
	if err := a.orderDonations(); err != nil {
		return nil, err
	}
	a.rankNames()
	return a, nil
}

// own gives v storage of its own.
func (a *analysis) own(v *ir.Value, place Place, writer int) {
	if v.Spec.Bytes() == 0 {
		place = Nowhere
	}
	s := storage{root: v, place: place, bytes: v.Spec.Bytes()}
	if writer != notWritten {
		s.writers = []int{writer}
	}
	a.at[v] = location{storage: len(a.storages), layout: ir.Dense(v.Spec.Shape), writer: writer}
	a.storages = append(a.storages, s)
}

// borrow lets the results of a view stand in the storage of its operand.
func (a *analysis) borrow(n *ir.Node) bool {
	if !n.Op.View {
		return false
	}
	from := a.at[n.In[0]]
	layouts, ok := n.Layouts(from.layout)
	if !ok {
		return false
	}
	for i, v := range n.Out {
		a.at[v] = location{storage: from.storage, layout: layouts[i], writer: from.writer}
	}
	return true
}

func (a *analysis) addKernel(n *ir.Node) error {
	k := len(a.kernels)
	a.kernels = append(a.kernels, kernel{node: n})
	for _, v := range n.In {
		s := &a.storages[a.at[v].storage]
		if last := len(s.readers) - 1; last < 0 || s.readers[last] != k {
			s.readers = append(s.readers, k)
		}
	}
	for _, v := range n.Out {
		switch window := a.over[n]; {
		case window != nil:
			a.stand(v, window, k)
		case !n.Op.Donates || !a.takeOver(v, n.In[0], k):
			a.own(v, InSlot, k)
		}
	}
	return nil
}

// stand lets v stand where an operand of kernel k does.
func (a *analysis) stand(v, operand *ir.Value, k int) {
	from := a.at[operand]
	s := &a.storages[from.storage]
	s.writers = append(s.writers, k)
	a.at[v] = location{storage: from.storage, layout: from.layout, writer: k, donor: operand}
}

// takeOver lets v stand where the donated operand stands. Constants cannot be
// overwritten, nor can what is only a part of something else.
func (a *analysis) takeOver(v, operand *ir.Value, k int) bool {
	if a.storages[a.at[operand].storage].place == InConstant || !a.whole(operand) || !v.Spec.Equal(operand.Spec) {
		return false
	}
	a.stand(v, operand, k)
	return true
}

// whole reports whether v is its whole storage in row-major order.
func (a *analysis) whole(v *ir.Value) bool {
	at := a.at[v]
	return v.Spec.Bytes() == a.storages[at.storage].bytes && at.layout.Offset == 0 && at.layout.Contiguous(v.Spec.Shape)
}

// placeOutputs moves storage that an output consists of out of the slots.
func (a *analysis) placeOutputs() {
	for _, v := range a.graph.Outputs {
		if s := &a.storages[a.at[v].storage]; s.place == InSlot && a.whole(v) {
			s.place = InOutput
		}
	}
	for _, v := range a.graph.Outputs {
		s := &a.storages[a.at[v].storage]
		s.escapes = s.escapes || s.place == InSlot
	}
}

// connect finds the storages that each kernel touches and the kernels that it
// needs.
func (a *analysis) connect() {
	for i := range a.storages {
		s := &a.storages[i]
		if s.place != InSlot {
			continue
		}
		for _, k := range s.readers {
			a.kernels[k].reads = append(a.kernels[k].reads, i)
		}
		first := &a.kernels[s.writers[0]]
		first.writes = append(first.writes, i)
	}
	for k := range a.kernels {
		for _, v := range a.kernels[k].node.In {
			if w := a.at[v].writer; w != notWritten {
				a.edge(w, k)
			}
		}
	}
}

// edge says that a kernel runs before another. All edges into a kernel are
// added together, so a repeated one is near the end.
func (a *analysis) edge(first, then int) {
	if !slices.Contains(a.kernels[then].after, first) {
		a.kernels[then].after = append(a.kernels[then].after, first)
		a.kernels[first].before = append(a.kernels[first].before, then)
	}
}

// orderEffects keeps kernels that other ranks observe in program order.
func (a *analysis) orderEffects() {
	last := notWritten
	for k := range a.kernels {
		if !a.kernels[k].node.Op.Effect {
			continue
		}
		if last != notWritten {
			a.edge(last, k)
		}
		last = k
	}
}

// orderDonations makes every reader of a donated value or of a view of it run
// before the kernel that may overwrite it, as the program says, whether or not
// this plan lets it overwrite.
func (a *analysis) orderDonations() error {
	readers := make(map[*ir.Value][]int)
	for k := range a.kernels {
		n := a.kernels[k].node
		if n.Op.Donates {
			for _, r := range readers[n.In[0].Owner()] {
				a.edge(r, k)
			}
		}
		for _, v := range n.In {
			readers[v.Owner()] = append(readers[v.Owner()], k)
		}
	}
	return a.checkDonations()
}

// checkDonations reports a read, or an output, of a value that was overwritten
// before.
func (a *analysis) checkDonations() error {
	overwritten := func(v *ir.Value, by int) *ir.Node {
		at := a.at[v]
		for _, w := range a.storages[at.storage].writers {
			if w > at.writer && w < by {
				return a.kernels[w].node
			}
		}
		return nil
	}
	for k := range a.kernels {
		for _, v := range a.kernels[k].node.In {
			if w := overwritten(v, k); w != nil {
				return fmt.Errorf("%v = %s reads %v, whose storage %v = %s has taken over", a.kernels[k].node.Out[0], a.kernels[k].node.Op.Name, v, w.Out[0], w.Op.Name)
			}
		}
	}
	for _, v := range a.graph.Outputs {
		if w := overwritten(v, len(a.kernels)); w != nil {
			return fmt.Errorf("the output %v is overwritten by %v = %s", v, w.Out[0], w.Op.Name)
		}
	}
	return nil
}

func (a *analysis) rankNames() {
	order := make([]int, len(a.kernels))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int { return compareNames(a.nameOf(x), a.nameOf(y)) })
	for rank, k := range order {
		a.kernels[k].rank = rank
	}
}

func (a *analysis) nameOf(k int) string { return a.kernels[k].node.Out[0].Name }

// compareNames orders names so that %9 stands before %10.
func compareNames(x, y string) int {
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
