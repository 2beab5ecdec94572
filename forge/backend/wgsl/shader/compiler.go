package shader

import (
	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// maxOps bounds the code of one entry point. Calls are expanded in place, so
// that hostile text could otherwise grow without bound.
const maxOps = 1 << 18

// maxRegisters bounds the words of an entry point's registers, and maxPasses
// the passes that look for what can be narrow.
const (
	maxRegisters = 1 << 26
	maxPasses    = 8
)

// A reg is a register of one scalar: one word (narrow) where all running
// lanes have the same value, or one for each lane (wide).
type reg struct {
	off  int32
	wide bool
	// mutable: the register of a variable, which a later statement may change.
	mutable bool
}

// A value is the registers of its scalars, in the order of package check.
type value []reg

// variable is the memory of a function or private variable: its scalars in a
// row, each a register.
type variable struct {
	off   int32
	width int32 // words of a scalar: 1, or the lanes
	id    int
	level int
	words int
}

func (v *variable) reg(slot int) reg {
	return reg{off: v.off + int32(slot)*v.width, wide: v.width > 1, mutable: true}
}

// region is what a jump can leave: a loop, a switch or a called function.
type region struct {
	id        int
	level     int
	loop      bool
	broken    int // saved masks, by number
	continued int
}

// compiler turns an entry point into code for a workgroup of so many lanes.
//
// It runs in passes. A variable is first taken to be narrow and every jump to
// be taken by all lanes or none; where the code shows otherwise (a store of a
// wide value, or under a condition that lanes do not share) the variable or
// region is marked and the pass is repeated, until nothing is marked anew.
type compiler struct {
	lanes   int
	program *program
	code    *sequence
	ops     int

	next     int32    // first word never used
	free     [2][]reg // temporaries to use again, narrow and wide
	temps    [][]reg  // of the statements under way, the innermost last
	consts   map[uint32]reg
	values   map[*check.Var]value // of lets and parameters
	pointers map[*check.Var]place // of lets and parameters that are pointers
	vars     map[*check.Var]*variable
	memo     map[*check.Expr]place // of the left side of the assignment under way
	into     value                 // the registers that its right side may write

	level       int // how many divergent conditions surround the code
	regions     []*region
	calls       []*frame
	masks       int
	varCount    int
	regionCount int

	wideVars  map[int]bool // by number, over all passes
	divergent map[int]bool
	changed   bool
	careful   bool // everything is taken to be marked
	effects   int  // ops so far that may fault or change memory

	algebra *algebra // nil where each operation is rounded by itself
}

// frame is a function being expanded.
type frame struct {
	region *region
	result *variable // where returns leave the value
	direct value     // the value of a function whose only return is its end
	single bool
}

func (c *compiler) fail(at syntax.Pos, format string, args ...any) {
	panic(syntax.Errorf(at, format, args...))
}

func (c *compiler) emit(o op) {
	if c.ops++; c.ops > maxOps {
		c.fail(c.program.entry.Pos, "entry point '%s' has more than %d operations once its calls are expanded", c.program.entry.Name, maxOps)
	}
	*c.code = append(*c.code, o)
}

// effect emits an op that may fault or changes memory, which must not run for
// lanes that are not there.
func (c *compiler) effect(o op) {
	c.effects++
	c.emit(o)
}

// sequence compiles into code of its own.
func (c *compiler) sequence(f func()) sequence {
	var s sequence
	outer := c.code
	c.code = &s
	f()
	c.code = outer
	return s
}

func (c *compiler) words(wide bool) int32 {
	if wide {
		return int32(c.lanes)
	}
	return 1
}

// list is the free list of temporaries of a width.
func list(wide bool) int {
	if wide {
		return 1
	}
	return 0
}

// temp is a register until the end of the statement under way.
func (c *compiler) temp(wide bool) reg {
	var r reg
	if free := &c.free[list(wide)]; len(*free) > 0 {
		r = (*free)[len(*free)-1]
		*free = (*free)[:len(*free)-1]
	} else {
		r = reg{off: c.next, wide: wide}
		c.next += c.words(wide)
	}
	top := len(c.temps) - 1
	c.temps[top] = append(c.temps[top], r)
	return r
}

// scoped compiles with temporaries of its own, free again at its end.
func (c *compiler) scoped(f func()) {
	c.temps = append(c.temps, nil)
	f()
	top := len(c.temps) - 1
	for _, r := range c.temps[top] {
		c.release(r)
	}
	c.temps = c.temps[:top]
}

// kept compiles a value and frees the temporaries it took, but not those of
// the value itself, which the enclosing scope keeps.
func (c *compiler) kept(f func() value) (v value) {
	c.temps = append(c.temps, nil)
	v = f()
	top := len(c.temps) - 1
	used := map[int32]bool{}
	for _, r := range v {
		used[r.off] = true
	}
	for _, r := range c.temps[top] {
		if used[r.off] {
			c.temps[top-1] = append(c.temps[top-1], r)
		} else {
			c.release(r)
		}
	}
	c.temps = c.temps[:top]
	return v
}

// release lets a temporary be used again, unless its number may be asked for later.
func (c *compiler) release(r reg) {
	if c.algebra == nil {
		c.free[list(r.wide)] = append(c.free[list(r.wide)], r)
	}
}

// constant is a narrow register that always holds w.
func (c *compiler) constant(w uint32) reg {
	r, ok := c.consts[w]
	if !ok {
		r = reg{off: c.next}
		c.next++
		c.consts[w] = r
		c.program.presets = append(c.program.presets, preset{r, w})
		if c.algebra != nil {
			c.algebra.sums[r.off] = collect(sum{newTerm(f32(w), nil)})
		}
	}
	return r
}

// fixed is a register that the program, not an op, gives its value.
func (c *compiler) fixed(wide bool) reg {
	r := reg{off: c.next, wide: wide}
	c.next += c.words(wide)
	return r
}

func (c *compiler) saved() int {
	c.masks++
	return c.masks - 1
}

// allot gives a variable its registers.
func (c *compiler) allot(words int) *variable {
	v := &variable{id: c.varCount, level: c.level, words: words, width: 1}
	c.varCount++
	if c.careful {
		c.wideVars[v.id] = true
	}
	if c.wideVars[v.id] {
		v.width = int32(c.lanes)
	}
	v.off = c.next
	if int64(c.next)+int64(words)*int64(v.width) > maxRegisters {
		c.fail(c.program.entry.Pos, "a workgroup of entry point '%s' has variables of more than %d words", c.program.entry.Name, maxRegisters)
	}
	c.next += int32(words) * v.width
	return v
}

// widen marks a variable as one of each lane.
func (c *compiler) widen(v *variable) {
	if !c.wideVars[v.id] && c.lanes > 1 {
		c.wideVars[v.id], c.changed = true, true
	}
}

// enter begins a region.
func (c *compiler) enter(loop bool) *region {
	r := &region{id: c.regionCount, loop: loop, broken: c.saved(), continued: -1}
	c.regionCount++
	if loop {
		r.continued = c.saved()
	}
	if c.careful {
		c.divergent[r.id] = true
	}
	if c.divergent[r.id] {
		c.level++
	}
	r.level = c.level
	c.regions = append(c.regions, r)
	return r
}

func (c *compiler) leave(r *region) {
	if c.divergent[r.id] {
		c.level--
	}
	c.regions = c.regions[:len(c.regions)-1]
}

// jumps marks a region whose lanes may leave one by one.
func (c *compiler) jumps(r *region) {
	if c.level > r.level && !c.divergent[r.id] {
		c.divergent[r.id], c.changed = true, true
	}
}

// stable copies what a later op of the same statement may change.
func (c *compiler) stable(v value) value {
	out := v
	for i, r := range v {
		if !r.mutable {
			continue
		}
		if &out[0] == &v[0] {
			out = append(value(nil), v...)
		}
		out[i] = c.copied(r)
	}
	return out
}

func (c *compiler) copied(r reg) reg {
	d := c.temp(r.wide)
	c.move(d, r)
	return d
}

// move sets a temporary.
func (c *compiler) move(d, r reg) {
	switch {
	case !d.wide:
		c.emit(func(m *machine) { m.regs[d.off] = m.regs[r.off] })
	case r.wide:
		c.emit(func(m *machine) { copy(m.span(d), m.span(r)) })
	default:
		c.emit(func(m *machine) {
			w, s := m.narrow(r), m.span(d)
			for i := range s {
				s[i] = w
			}
		})
	}
}
