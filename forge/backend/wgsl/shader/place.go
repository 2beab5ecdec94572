package shader

import (
	"encoding/binary"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// A place is memory that an expression names. Its offset has a part known now
// and maybe a part in a register, in scalars for function, private and
// workgroup memory and in bytes for buffers.
type place struct {
	space    check.Space
	name     string
	t        *check.Type
	base     int
	dynamic  *reg
	variable *variable
	buffer   int
}

// bytes says whether offsets are in bytes.
func (p *place) bytes() bool { return p.space == check.Storage || p.space == check.Uniform }

func (c *compiler) place(x *check.Expr) place {
	if p, ok := c.memo[x]; ok {
		return p
	}
	switch x.Op {
	case check.VarRef:
		return c.root(x.Var)
	case check.Deref:
		return c.pointer(x.Args[0])
	case check.Member:
		p := c.place(x.Args[0])
		f := p.t.Fields[x.N]
		p.t = f.Type
		if p.bytes() {
			p.base += f.Offset
		} else {
			p.base += f.Slot
		}
		return p
	case check.Index:
		p := c.place(x.Args[0])
		return c.indexed(p, x)
	}
	panic("shader: expression is no memory")
}

// pointer is the place that a pointer points to.
func (c *compiler) pointer(x *check.Expr) place {
	switch x.Op {
	case check.AddressOf:
		return c.place(x.Args[0])
	case check.Value:
		return c.pointers[x.Var]
	}
	panic("shader: expression is no pointer")
}

func (c *compiler) root(v *check.Var) place {
	p := place{space: v.Space, name: v.Name, t: v.Type}
	switch v.Space {
	case check.Function, check.Private:
		p.variable = c.vars[v]
	case check.Workgroup:
		p.base = c.program.sharedAt[v]
	default:
		p.buffer = c.program.bufferOf[v]
	}
	return p
}

// step is the distance between the elements of an array, matrix or vector.
func (c *compiler) step(p *place, elem *check.Type) int {
	switch {
	case p.t.Kind == check.Vec && p.bytes():
		return p.t.Elem.Size
	case p.bytes():
		return p.t.Stride()
	}
	return elem.Words
}

func (c *compiler) indexed(p place, x *check.Expr) place {
	elem := x.Type.Elem
	step := c.step(&p, elem)
	i := x.Args[1]
	n := c.program.elements(p.t)
	if i.Op == check.Const && n > 0 {
		if int64(i.Words[0]) >= int64(n) {
			c.fail(i.Pos, "index %d out of bounds [0..%d]", i.Words[0], n-1)
		}
		p.base += int(i.Words[0]) * step
		p.t = elem
		return p
	}
	length := c.constant(uint32(n))
	if n == 0 {
		length = c.program.lengths[p.buffer]
	}
	d := c.address(p.dynamic, c.scalar(i), length, uint32(step),
		bounds{i.Pos, p.name, i.Type.Kind == check.I32})
	p.dynamic, p.t = &d, elem
	return p
}

// bounds is what an index out of bounds is told with.
type bounds struct {
	pos    syntax.Pos
	name   string
	signed bool
}

func (b *bounds) fail(m *machine, lane int, i, n uint32) {
	if b.signed {
		m.fail(b.pos, lane, "index %d of '%s' is out of bounds: it has %d elements", int32(i), b.name, n)
	}
	m.fail(b.pos, lane, "index %d of '%s' is out of bounds: it has %d elements", i, b.name, n)
}

// address checks an index and gives before + i*step.
func (c *compiler) address(before *reg, i, length reg, step uint32, b bounds) reg {
	start := c.constant(0)
	if before != nil {
		start = *before
	}
	d := c.temp(i.wide || start.wide)
	switch {
	case !d.wide:
		c.effect(func(m *machine) {
			w, n := m.narrow(i), m.narrow(length)
			if w >= n {
				b.fail(m, m.first(), w, n)
			}
			m.regs[d.off] = m.narrow(start) + w*step
		})
	case i.wide && !start.wide:
		c.effect(func(m *machine) {
			n, s := m.narrow(length), m.narrow(start)
			from, to := m.wide(i), m.wide(d)
			for _, lane := range m.active() {
				w := from[lane]
				if w >= n {
					b.fail(m, int(lane), w, n)
				}
				to[lane] = s + w*step
			}
		})
	case i.wide:
		c.effect(func(m *machine) {
			n := m.narrow(length)
			from, before, to := m.wide(i), m.wide(start), m.wide(d)
			for _, lane := range m.active() {
				w := from[lane]
				if w >= n {
					b.fail(m, int(lane), w, n)
				}
				to[lane] = before[lane] + w*step
			}
		})
	default:
		c.effect(func(m *machine) {
			w, n := m.narrow(i), m.narrow(length)
			if w >= n {
				b.fail(m, m.first(), w, n)
			}
			zipRight(m.span(d), m.span(start), w*step, addInt)
		})
	}
	return d
}

// leaf is one scalar of a type, with its offset in slots and in bytes.
type leaf struct {
	kind        check.Kind
	slot, bytes int
}

// leaves lists the scalars of a type.
func leaves(t *check.Type) []leaf {
	var list []leaf
	var visit func(t *check.Type, slot, bytes int)
	visit = func(t *check.Type, slot, bytes int) {
		switch t.Kind {
		case check.Vec:
			for i := range t.N {
				visit(t.Elem, slot+i, bytes+i*t.Elem.Size)
			}
		case check.Mat:
			for i := range t.N * t.Rows {
				visit(t.Elem, slot+i, bytes+i/t.Rows*t.Stride()+i%t.Rows*t.Elem.Size)
			}
		case check.Array:
			for i := range t.N {
				step := 0
				if t.Elem.Size > 0 {
					step = t.Stride()
				}
				visit(t.Elem, slot+i*t.Elem.Words, bytes+i*step)
			}
		case check.Struct:
			for _, f := range t.Fields {
				visit(f.Type, slot+f.Slot, bytes+f.Offset)
			}
		case check.Atomic:
			visit(t.Elem, slot, bytes)
		default:
			list = append(list, leaf{t.Kind, slot, bytes})
		}
	}
	visit(t, 0, 0)
	return list
}

// load reads a place.
func (c *compiler) load(p place, at syntax.Pos) value {
	list := leaves(p.t)
	v := make(value, len(list))
	for i, l := range list {
		switch p.space {
		case check.Function, check.Private:
			v[i] = c.loadVariable(p, p.base+l.slot)
		case check.Workgroup:
			v[i] = c.loadShared(p, p.base+l.slot, at)
		default:
			v[i] = c.loadBuffer(p, p.base+l.bytes, l.kind, at)
		}
	}
	return v
}

func (c *compiler) loadVariable(p place, slot int) reg {
	v := p.variable
	if p.dynamic == nil {
		return v.reg(slot)
	}
	dyn, width := *p.dynamic, int(v.width)
	d := c.temp(dyn.wide || width > 1)
	first := int(v.off) + slot*width
	switch {
	case !d.wide:
		c.emit(func(m *machine) { m.regs[d.off] = m.regs[first+int(m.narrow(dyn))] })
	case !dyn.wide:
		c.emit(func(m *machine) {
			from := first + int(m.narrow(dyn))*width
			copy(m.span(d), m.regs[from+m.lo:from+m.hi])
		})
	default:
		lane := 1
		if width == 1 {
			lane = 0
		}
		c.effect(func(m *machine) {
			at, to := m.wide(dyn), m.wide(d)
			for _, i := range m.active() {
				to[i] = m.regs[first+int(at[i])*width+int(i)*lane]
			}
		})
	}
	return d
}

func (c *compiler) loadShared(p place, slot int, at syntax.Pos) reg {
	if p.dynamic == nil || !p.dynamic.wide {
		d := c.temp(false)
		dyn := c.constant(0)
		if p.dynamic != nil {
			dyn = *p.dynamic
		}
		c.effect(func(m *machine) {
			a := slot + int(m.narrow(dyn))
			m.read(at, a, m.first())
			if m.n > 1 {
				m.read(at, a, m.hi-1)
			}
			m.regs[d.off] = m.shared[a]
		})
		return d
	}
	d, dyn := c.temp(true), *p.dynamic
	c.effect(func(m *machine) {
		offsets, to := m.wide(dyn), m.wide(d)
		now := m.epoch << epochAt
		for _, i := range m.active() {
			a := slot + int(offsets[i])
			// Most reads are of what an earlier epoch wrote and several lanes
			// have read since.
			if t := &m.tracks[a]; t.writer >= now || t.reader < now|many {
				m.read(at, a, int(i))
			}
			to[i] = m.shared[a]
		}
	})
	return d
}

func (c *compiler) loadBuffer(p place, base int, k check.Kind, at syntax.Pos) reg {
	n := p.buffer
	if p.dynamic == nil || !p.dynamic.wide {
		d := c.temp(false)
		dyn := c.constant(0)
		if p.dynamic != nil {
			dyn = *p.dynamic
		}
		c.effect(func(m *machine) {
			b, a := m.buffers[n], base+int(m.narrow(dyn))
			if b.tracked {
				b.read(m, at, a, m.first())
				if m.n > 1 {
					b.read(m, at, a, m.hi-1)
				}
			}
			m.regs[d.off] = b.loadWord(a, k)
		})
		return d
	}
	d, dyn := c.temp(true), *p.dynamic
	c.effect(func(m *machine) {
		offsets, to, b := m.wide(dyn), m.wide(d), m.buffers[n]
		if b.tracked {
			for _, i := range m.active() {
				b.read(m, at, base+int(offsets[i]), int(i))
			}
		}
		if k == check.F16 {
			for _, i := range m.active() {
				to[i] = b.loadWord(base+int(offsets[i]), k)
			}
			return
		}
		data := b.data
		for _, i := range m.active() {
			to[i] = binary.LittleEndian.Uint32(data[base+int(offsets[i]):])
		}
	})
	return d
}

// store writes a value to a place.
func (c *compiler) store(p place, v value, at syntax.Pos) {
	list := leaves(p.t)
	if len(list) > 1 && p.variable != nil {
		v = c.stable(v) // as in v = v.yx
	}
	for i, l := range list {
		switch p.space {
		case check.Function, check.Private:
			c.storeVariable(p, p.base+l.slot, v[i])
		case check.Workgroup:
			c.storeShared(p, p.base+l.slot, v[i], at)
		default:
			c.storeBuffer(p, p.base+l.bytes, l.kind, v[i], at)
		}
	}
}

func (c *compiler) storeVariable(p place, slot int, r reg) {
	v, width := p.variable, int(p.variable.width)
	if r.wide || c.level > v.level || p.dynamic != nil && p.dynamic.wide {
		c.widen(v)
	}
	if width == 1 && c.lanes > 1 && r.wide {
		return // this pass is repeated
	}
	first := int(v.off) + slot*width
	if r.wide && r.mutable && int(r.off) == first && p.dynamic == nil {
		return // the operation wrote it
	}
	dyn := c.constant(0)
	if p.dynamic != nil {
		dyn = *p.dynamic
	}
	switch {
	case width == 1:
		c.effect(func(m *machine) { m.regs[first+int(m.narrow(dyn))] = m.narrow(r) })
	case dyn.wide:
		c.effect(func(m *machine) {
			for _, i := range m.active() {
				m.regs[first+int(m.at(dyn, int(i)))*width+int(i)] = m.at(r, int(i))
			}
		})
	default:
		c.effect(func(m *machine) {
			at := first + int(m.narrow(dyn))*width
			m.assign(m.regs[at:at+m.lanes], r)
		})
	}
}

// assign copies a register to running lanes of a wide one.
func (m *machine) assign(to []uint32, r reg) {
	switch {
	case r.wide && m.n == m.hi-m.lo:
		copy(to[m.lo:m.hi], m.span(r))
	case r.wide:
		from := m.wide(r)
		for _, i := range m.active() {
			to[i] = from[i]
		}
	default:
		w := m.narrow(r)
		for _, i := range m.active() {
			to[i] = w
		}
	}
}

func (c *compiler) storeShared(p place, slot int, r reg, at syntax.Pos) {
	dyn := c.constant(0)
	if p.dynamic != nil {
		dyn = *p.dynamic
	}
	c.effect(func(m *machine) {
		for _, i := range m.active() {
			a := slot + int(m.at(dyn, int(i)))
			m.write(at, a, int(i))
			m.shared[a] = m.at(r, int(i))
		}
	})
}

func (c *compiler) storeBuffer(p place, base int, k check.Kind, r reg, at syntax.Pos) {
	n := p.buffer
	dyn := c.constant(0)
	if p.dynamic != nil {
		dyn = *p.dynamic
	}
	c.effect(func(m *machine) {
		b := m.buffers[n]
		for _, i := range m.active() {
			a := base + int(m.at(dyn, int(i)))
			b.write(m, at, a, int(i))
			b.storeWord(a, k, m.at(r, int(i)))
		}
	})
}
