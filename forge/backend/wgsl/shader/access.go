package shader

import (
	"encoding/binary"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// load reads a place.
func (c *compiler) load(p place, at syntax.Pos) value {
	list := c.parts(p, at)
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
	list := c.parts(p, at)
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
