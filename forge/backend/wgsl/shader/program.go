package shader

import (
	"fmt"
	"sync"

	"forgekernel/forge/backend/wgsl/shader/check"
)

// program is the code of one entry point with the values of its overrides.
type program struct {
	entry     *check.Func
	overrides map[*check.Var][]uint64
	size      [3]uint32 // of a workgroup
	lanes     int
	code      sequence
	words     int32 // of registers
	masks     int
	presets   []preset
	machines  sync.Pool

	shared      []*check.Var // in the order of their place in memory
	sharedAt    map[*check.Var]int
	sharedWords int
	sharedBytes int

	buffers  []*check.Var
	bufferOf map[*check.Var]int
	lengths  []reg // elements of the runtime-sized array of each buffer
	hasHalf  bool

	ids, groupID, groups [3]reg // local_invocation_id, workgroup_id, num_workgroups
	globalID             [3]reg
	localIndex           reg
}

// preset is a register that has one value throughout.
type preset struct {
	reg  reg
	word uint32
}

// local is the local id of a lane.
func (p *program) local(lane int) [3]uint32 {
	n := uint32(lane)
	return [3]uint32{n % p.size[0], n / p.size[0] % p.size[1], n / p.size[0] / p.size[1]}
}

// groupOf is the id of the workgroup of a number.
func (p *program) groupOf(number int, groups [3]uint32) [3]uint32 {
	n := uint64(number)
	x, y := uint64(groups[0]), uint64(groups[1])
	return [3]uint32{uint32(n % x), uint32(n / x % y), uint32(n / x / y)}
}

// sharedName is the variable that has a word of workgroup memory, and the
// scalar's number in it.
func (p *program) sharedName(word int) (string, int) {
	for i := len(p.shared) - 1; i >= 0; i-- {
		if at := p.sharedAt[p.shared[i]]; at <= word {
			return p.shared[i].Name, word - at
		}
	}
	return "", word
}

// elements is how many elements a type has, 0 for a runtime-sized array.
func (p *program) elements(t *check.Type) int {
	if t.Count != nil {
		words, _ := t.Count.Resolve(p.overrides)
		return int(int32(words[0]))
	}
	return t.N
}

// build compiles an entry point.
func build(m *check.Module, entry *check.Func, overrides map[*check.Var][]uint64, limits Limits, reals bool) (p *program, err error) {
	defer catch(&err)
	p = &program{entry: entry, overrides: overrides, lanes: 1}
	if err := p.workgroup(limits); err != nil {
		return nil, err
	}
	vars := m.Reaches(entry)
	if err := p.memory(vars, limits); err != nil {
		return nil, err
	}
	c := &compiler{lanes: p.lanes, program: p, wideVars: map[int]bool{}, divergent: map[int]bool{}}
	for n := 0; n == 0 || c.changed; n++ {
		c.careful = n >= maxPasses
		if reals {
			c.algebra = newAlgebra()
		}
		c.pass(vars)
	}
	p.words, p.masks = c.next, c.masks
	return p, nil
}

// workgroup computes the size of a workgroup.
func (p *program) workgroup(limits Limits) error {
	total := uint64(1)
	most := [3]uint32{limits.InvocationsX, limits.InvocationsY, limits.InvocationsZ}
	for i, x := range p.entry.Workgroup {
		p.size[i] = 1
		if x == nil {
			continue
		}
		words, wrong := x.Resolve(p.overrides)
		if wrong != "" {
			return &Refusal{fmt.Sprintf("workgroup size of '%s': %s", p.entry.Name, wrong)}
		}
		if n := int32(words[0]); n < 1 || uint32(n) > most[i] {
			return &Refusal{fmt.Sprintf("workgroup size of '%s' is %d in dimension %d, the limit is %d", p.entry.Name, n, i, most[i])}
		}
		p.size[i] = uint32(words[0])
		total *= uint64(p.size[i])
	}
	if total > uint64(limits.Invocations) || total > maxLanes {
		return &Refusal{fmt.Sprintf("workgroup size of '%s' is %d invocations, the limit is %d", p.entry.Name, total, min(limits.Invocations, maxLanes))}
	}
	p.lanes = int(total)
	return nil
}

// memory gives workgroup variables and buffers their places.
func (p *program) memory(vars []*check.Var, limits Limits) error {
	p.sharedAt, p.bufferOf = map[*check.Var]int{}, map[*check.Var]int{}
	for _, v := range vars {
		switch v.Space {
		case check.Workgroup:
			words, bytes := v.Type.Words, v.Type.Size
			if v.Type.Count != nil {
				n := p.elements(v.Type)
				if n < 1 {
					return &Refusal{fmt.Sprintf("array count of '%s' is %d, it must be greater than 0", v.Name, n)}
				}
				words, bytes = n*v.Type.Elem.Words, n*v.Type.Stride()
			}
			p.sharedAt[v] = p.sharedWords
			p.shared = append(p.shared, v)
			p.sharedWords += words
			p.sharedBytes += (max(bytes, 4*words*map[bool]int{true: 1}[bytes == 0]) + 15) / 16 * 16
			if p.sharedBytes > int(limits.WorkgroupBytes) {
				return &Refusal{fmt.Sprintf("'%s' uses %d bytes of workgroup memory, the limit is %d", p.entry.Name, p.sharedBytes, limits.WorkgroupBytes)}
			}
		case check.Storage, check.Uniform:
			p.bufferOf[v] = len(p.buffers)
			p.buffers = append(p.buffers, v)
			p.hasHalf = p.hasHalf || v.Type.HasHalf()
		}
	}
	return nil
}

// pass compiles once.
func (c *compiler) pass(vars []*check.Var) {
	p := c.program
	c.ops, c.next, c.free, c.temps, c.masks = 0, 0, [2][]reg{}, nil, 0
	c.varCount, c.regionCount, c.level, c.changed = 0, 0, 0, false
	c.consts, c.values, c.pointers = map[uint32]reg{}, map[*check.Var]value{}, map[*check.Var]place{}
	c.vars, c.memo, c.regions, c.calls = map[*check.Var]*variable{}, map[*check.Expr]place{}, nil, nil
	p.presets, p.lengths, p.code = nil, nil, nil
	for i := range 3 {
		p.ids[i], p.globalID[i] = c.fixed(true), c.fixed(true)
		p.groupID[i], p.groups[i] = c.fixed(false), c.fixed(false)
	}
	p.localIndex = c.fixed(true)
	for range p.buffers {
		p.lengths = append(p.lengths, c.fixed(false))
	}
	p.code = c.sequence(func() {
		c.scoped(func() {
			for _, v := range vars {
				if v.Space == check.Private {
					c.private(v)
				}
			}
			r := c.enter(false)
			for _, v := range p.entry.Params {
				c.values[v] = c.input(v)
			}
			body := c.sequence(func() { c.block(p.entry.Body) })
			c.leave(r)
			c.emit(func(m *machine) { m.region(r, body) })
		})
	})
}

// private gives a variable of the module its first value.
func (c *compiler) private(v *check.Var) {
	c.vars[v] = c.allot(v.Type.Words)
	if v.Init == nil {
		c.clear(c.vars[v])
		return
	}
	words, wrong := v.Init.Resolve(c.program.overrides)
	if wrong != "" {
		c.fail(v.Init.Pos, "%s", wrong)
	}
	init := make(value, len(words))
	for i, w := range words {
		init[i] = c.constant(uint32(w))
	}
	c.store(c.root(v), init, v.Pos)
}

// input is the value of an entry point's parameter.
func (c *compiler) input(v *check.Var) value {
	if v.Builtin != "" {
		return c.builtinValue(v.Builtin)
	}
	var all value
	for _, f := range v.Type.Fields {
		all = append(all, c.builtinValue(f.Builtin)...)
	}
	return all
}

func (c *compiler) builtinValue(name string) value {
	p := c.program
	switch name {
	case "local_invocation_id":
		return p.ids[:]
	case "global_invocation_id":
		return p.globalID[:]
	case "workgroup_id":
		return p.groupID[:]
	case "num_workgroups":
		return p.groups[:]
	}
	return value{p.localIndex}
}
