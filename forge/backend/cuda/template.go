package cuda

import (
	"context"
	"fmt"
	"slices"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
)

// A template makes kernels of a node in a better way than its loop nest. It returns no
// choice and the reason when the node is not of its kind; the reason may be empty when
// nobody would expect the template to take it. It must not change the program.
type template func(p *program, n *ir.Node) (list []choice, why string)

// templates are asked in this order. The first choice of the first one that takes a node
// is the default; all others are candidates, and the loop nest is the last of them.
var templates []template

// choice is one way to run a node.
type choice struct {
	name   string // for a person: "gemm bf16, 128x128x64 tiles, wgmma"
	reason string // why it would be picked: "8 rows: weights stream through once"
	pieces []piece
	// covers are later nodes that the pieces compute too. Nothing else is done for them.
	covers []*ir.Node
	// moves are results of the node and of those nodes that get memory of their own, so
	// that no memory which the pieces still read is theirs; see [moved].
	moves []*ir.Value
	// begun is the choice in place of this one where an earlier node is computed as well,
	// which it replaces. It is as good a choice, and the node's kernels are not run.
	begun    *choice
	replaces *ir.Node
	// scratch is the bytes of memory that pieces may use as [scratch] says. Its
	// contents are undefined when the node begins.
	scratch int64
	// counters is the bytes of memory that pieces may use as [counters] says. It is
	// zero when the node begins, and the pieces leave it so.
	counters int64
}

// piece is one kernel, or one call of a library, of a choice.
type piece struct {
	// shared is text that the kernel needs before it, such as device functions and
	// includes of them; each block stands in a file once, in the order of first use.
	shared []string
	// text is the kernel, with @kernel@ for its name. Its parameters are the addresses
	// of args in order, then int *fault, int step. An equal text is compiled once.
	text   string
	launch launch
	args   []planned.Place
	// boxes are the arguments that are no addresses: by their numbers, what the copy engine
	// is told of the tensor there.
	boxes map[int]*driver.Boxes
	// specific says that the text has instructions of one architecture alone, so that
	// the file is compiled for sm_90a in place of sm_90.
	specific bool
	// enters says that the kernel does what ENTER does where it wants to, later than first.
	enters bool
	// canFault says that the kernel may call FAULT.
	canFault bool
	// call is a library's part instead of a kernel; nil for kernels. It only puts work
	// into the stream, which is being captured, and gets the addresses of args. ctx
	// has the groups of ranks ([forgekernel/forge/backend.Group]).
	call call
	// mailboxes is the group whose peer memory the kernel exchanges tensors by: its words
	// follow the args. It is nil for other kernels.
	mailboxes *mailboxes
	// machine is machine code in place of text; nil for kernels in CUDA C.
	machine *machine
}

// call puts a library's work into a stream.
type call func(ctx context.Context, s *driver.Stream, at []uint64) error

// launch is how a kernel is started.
type launch struct {
	grid, threads [3]uint32 // blocks, and threads of each
	shared        int       // bytes of dynamic shared memory of a block
}

// flat is a launch in one dimension.
func flat(blocks, threads int) launch {
	return launch{grid: [3]uint32{uint32(blocks), 1, 1}, threads: [3]uint32{uint32(threads), 1, 1}}
}

func (l launch) String() string {
	text := fmt.Sprintf("%d blocks of %d threads", l.grid[0]*l.grid[1]*l.grid[2], l.threads[0]*l.threads[1]*l.threads[2])
	if l.shared > 0 {
		text += fmt.Sprintf(" with %d KiB", (l.shared+1023)>>10)
	}
	return text
}

// Buffers that stand for memory of a choice in the places of its pieces.
const (
	inScratch  = -2
	inCounters = -3
	inMoved    = -4
)

// moved is the place of the value with an index in the moves of a choice.
func moved(i int) planned.Place { return planned.Place{Buffer: inMoved, Offset: int64(i)} }

// scratch is a place in the scratch memory of a choice.
func scratch(offset int64) planned.Place { return planned.Place{Buffer: inScratch, Offset: offset} }

// counters is a place in the counters of a choice.
func counters(offset int64) planned.Place { return planned.Place{Buffer: inCounters, Offset: offset} }

// Candidate is one way to run a node.
type Candidate struct{ Name, Reason string }

// Selector picks one of the candidates of a node, of which the first is the default, and
// says why; the reason is empty for that of the candidate itself.
type Selector func(n *ir.Node, list []Candidate) (pick int, why string)

// first is the selector of defaults.
func first(*ir.Node, []Candidate) (int, string) { return 0, "" }

// ask asks templates about a node. The reasons are of those that refused.
func (p *program) ask(templates []template, n *ir.Node) (list []choice, reasons []string) {
	for _, t := range templates {
		more, why := t(p, n)
		list = append(list, more...)
		if len(more) == 0 && why != "" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	return list, reasons
}
