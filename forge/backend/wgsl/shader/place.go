package shader

import (
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

// parts lists the scalars of a place that an expression reads or writes as a
// whole.
func (c *compiler) parts(p place, at syntax.Pos) []leaf {
	if p.t.Words > maxOps {
		c.fail(at, "a value of type '%s' has more than %d scalars", p.t, maxOps)
	}
	return leaves(p.t)
}
