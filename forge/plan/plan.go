// Package plan decides in which order the kernels of a graph run and where
// their results stand in memory.
//
// A kernel is a node that computes; constants and views are not. Kernel t of
// the schedule is step t, and a value is live in the closed interval from the
// step that produces it to the last step that reads it. A view (a reshape,
// transpose, narrow, expand or split that strides can express) has no memory of
// its own: it borrows the storage of its operand and keeps it live until the
// last kernel that reads the view.
//
// Storage is arranged in slots. Values of one slot have the element type and the
// device of the slot, and two of them may share bytes only if the earlier is read for the last
// time before, not in, the step that produces the later. The exceptions are
// donations. An elementwise result may overwrite an operand of the same type and
// shape in the step that reads it last, if the kernel reads that storage through
// no other layout. It may also be written over a window on a wider value that no
// other kernel reads, and then stands in the strides of the window; New plans with
// and without that. And an operator that declares a donation, as the appending to
// a cache does, always writes into the storage of its operand.
//
// Inputs and constants are given, and outputs are returned: they have storage
// outside the slots and are not in [Plan.Planned]. An output that is only a part
// of an intermediate value, or has another order, is copied out of its slot after
// the last step. A cache that is an input is updated in the caller's memory; a
// backend whose callers keep their inputs has to copy it first.
//
// [New] tries several schedules, all of them for a small graph, and several
// packings of each, and keeps the plan that needs the fewest bytes. [Verify] proves a plan right from its result
// alone.
package plan

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Align is what offsets within a slot are multiples of: the width of the widest
// vector registers and of a cache line, in bytes. Slots themselves are to be
// aligned as well.
const Align = 64

// Place says whose memory holds a value.
type Place string

// Places.
const (
	InSlot     Place = "slot"
	InInput    Place = "input"    // of the caller
	InConstant Place = "constant" // of the program
	InOutput   Place = "output"   // allocated for each call and returned
	Nowhere    Place = "nowhere"  // a value without elements
)

// Plan is an execution order and a memory layout for one graph.
type Plan struct {
	// Graph is the program with its nodes in execution order. It shares values
	// and nodes with the graph that was planned.
	Graph  *ir.Graph
	Steps  []Step
	Slots  []Slot
	Values []Value // of the graph, in the order of [ir.Graph.Values]

	Policy  string // the ready-list policy that made the schedule
	Packing string // how values were packed into slots

	Naive   int64 // sum of all materialised intermediate values
	Planned int64 // sum of the slots
	// Lower is the most bytes that are live at one step of this schedule: no
	// packing needs less.
	Lower int64
	// Bound is what every schedule needs at some step. For a small graph it is
	// exact: some schedule needs no more.
	Bound int64
	// Scratch is the most temporary memory that a thread of a kernel needs. It is
	// needed beside the slots and is not in Planned.
	Scratch int64

	Candidates []Candidate // what was tried, in order
}

// Step is one kernel.
type Step struct {
	Node    *ir.Node
	Live    int64 // bytes in slots that are live while it runs
	Scratch int64 // bytes that a thread of the kernel needs beside them
}

// Slot is a piece of memory for values of one element type on one device.
type Slot struct {
	DType  tensor.DType
	Device ir.Device
	Bytes  int64
}

// Value is where one value of the graph stands.
type Value struct {
	Name  string
	Spec  ir.Spec
	Bytes int64 // elements times their size, also of a view
	Place Place
	Slot  int // index of the slot; -1 when Place is not [InSlot]
	// Offset is where the first element stands, in bytes from the start of the
	// slot, or of the storage of Base where the place is another.
	Offset int64
	// Strides are the steps between neighbours in each dimension, in elements.
	Strides []int
	// Start and End are the first and last step at which the value is live: its
	// production, or that of the value it is a view of, and the last read of it
	// or of a view of it. Inputs and constants are live from step 0; what the
	// caller gets is live to the last.
	Start, End int
	Base       string // the value whose storage this one was first written to
	ViewOf     string // the operand that a view borrows from
	Donated    string // the operand whose storage a result takes over
	Copied     bool   // an output that has to be copied to storage of its own
}

// Candidate is one schedule that [New] considered.
type Candidate struct {
	Policy  string
	Lower   int64  // most live bytes
	Planned int64  // with the best packing that was tried
	Packing string // that packing
}

// Ratio is planned bytes over the lower bound, 1 for an ideal plan.
func (p *Plan) Ratio() float64 {
	if p.Lower == 0 {
		return 1
	}
	return float64(p.Planned) / float64(p.Lower)
}

// Options choose what [New] may do.
type Options struct {
	// NoReuseInPlace keeps elementwise results from overwriting operands, to see
	// what that saves. Declared donations stay.
	NoReuseInPlace bool
	// KeepOrder keeps the order of the program, to see what another saves.
	KeepOrder bool
}

// New plans a valid graph. It fails if a value is read after the storage that
// holds it was donated.
func New(g *ir.Graph, opts Options) (*Plan, error) {
	a, err := analyse(g, nil)
	if err != nil {
		return nil, fmt.Errorf("plan of %s: %w", g.Name, err)
	}
	best := a.plan(opts)
	if opts.NoReuseInPlace {
		return best, nil
	}
	if over := a.windows(); len(over) > 0 {
		if a, err = analyse(g, over); err != nil {
			return nil, fmt.Errorf("plan of %s: %w", g.Name, err)
		}
		over := a.plan(opts)
		bound := min(best.Bound, over.Bound)
		if over.Planned < best.Planned {
			best = over
		}
		best.Bound = bound
	}
	return best, nil
}

func (a *analysis) plan(opts Options) *Plan {
	best, candidates, bound := a.search(opts)
	p := a.assemble(best)
	p.Candidates, p.Bound = candidates, bound
	return p
}
