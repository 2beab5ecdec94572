package shader

import (
	"context"
	"fmt"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// An op is one instruction for all running lanes of a workgroup.
type op func(m *machine)

// A sequence is straight-line code; it ends early where no lane runs on.
type sequence []op

func (s sequence) run(m *machine) {
	m.work += int64(len(s)) * int64(m.n)
	for _, o := range s {
		o(m)
		if m.n == 0 {
			return
		}
	}
}

// machine runs the workgroups of one dispatch, one after the other. A register
// is one word for the whole workgroup (narrow) or one for each lane (wide).
type machine struct {
	mask
	lanes    int
	regs     []uint32
	saved    []mask  // of the control flow that surrounds the running op
	list     []int32 // the running lanes, where they have gaps
	listed   bool
	identity []int32

	shared  []uint32 // workgroup memory, one word for each scalar
	tracks  []track  // of workgroup memory
	epoch   uint32
	clock   clock
	buffers []*buffer

	ctx         context.Context
	program     *program
	group       [3]uint32
	work, limit int64 // invocation-instructions of this workgroup
	turns       int
}

// set makes k the running lanes.
func (m *machine) set(k *mask) {
	m.mask = *k
	m.listed = false
}

// active lists the running lanes.
func (m *machine) active() []int32 {
	if m.n == m.hi-m.lo {
		return m.identity[m.lo:m.hi]
	}
	if !m.listed {
		m.list = m.list[:0]
		for i := m.lo; i < m.hi; i++ {
			if m.bits[i/64]>>(i%64)&1 != 0 {
				m.list = append(m.list, int32(i))
			}
		}
		m.listed = true
	}
	return m.list
}

// span is the part of a wide register that running lanes may use.
func (m *machine) span(r reg) []uint32 {
	return m.regs[int(r.off)+m.lo : int(r.off)+m.hi]
}

// wide is a whole wide register.
func (m *machine) wide(r reg) []uint32 { return m.regs[r.off : int(r.off)+m.lanes] }

// narrow is the word of a narrow register.
func (m *machine) narrow(r reg) uint32 { return m.regs[r.off] }

// at is the word of a register for one lane.
func (m *machine) at(r reg, lane int) uint32 {
	if r.wide {
		return m.regs[int(r.off)+lane]
	}
	return m.regs[r.off]
}

// Error is a fault of a running shader: where in the text, and which
// invocation of which workgroup.
type Error struct {
	Pos       syntax.Pos
	Entry     string
	Workgroup [3]uint32
	Local     [3]uint32
	Message   string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (entry point %s, workgroup %s, local invocation %s)",
		e.Pos, e.Message, e.Entry, triple(e.Workgroup), triple(e.Local))
}

func triple(v [3]uint32) string { return fmt.Sprintf("(%d, %d, %d)", v[0], v[1], v[2]) }

// fail ends the dispatch with a fault of one lane.
func (m *machine) fail(at syntax.Pos, lane int, format string, args ...any) {
	panic(&Error{Pos: at, Entry: m.program.entry.Name, Workgroup: m.group, Local: m.program.local(lane),
		Message: fmt.Sprintf(format, args...)})
}

// tick counts one turn of a loop, and ends the dispatch when it took too long
// or nobody waits for it.
func (m *machine) tick(at syntax.Pos) {
	if m.work++; m.work > m.limit {
		m.fail(at, m.first(), "this loop is where the workgroup passed its limit of %d invocation-instructions; it may be endless", m.limit)
	}
	if m.turns++; m.turns&1023 == 0 {
		m.check()
	}
}

// cancelled carries the error of a context out of the running code.
type cancelled struct{ err error }

func (m *machine) check() {
	if err := m.ctx.Err(); err != nil {
		panic(cancelled{err})
	}
}
