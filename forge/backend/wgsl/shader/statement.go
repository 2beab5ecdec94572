package shader

import (
	"slices"

	"forgekernel/forge/backend/wgsl/shader/check"
)

// block compiles statements whose lets live as long as it.
func (c *compiler) block(s *check.Stmt) {
	c.scoped(func() {
		for _, t := range s.Body {
			c.statement(t)
		}
	})
}

func (c *compiler) statement(s *check.Stmt) {
	switch s.Op {
	case check.Declare:
		c.declare(s.Var)
		return
	case check.Return:
		c.returned(s)
		return
	}
	c.scoped(func() {
		switch s.Op {
		case check.Block:
			c.block(s)
		case check.Store:
			c.assign(s)
		case check.If:
			c.ifElse(s)
		case check.Switch:
			c.switchCase(s)
		case check.Loop:
			c.loop(s)
		case check.Break:
			r := c.regions[len(c.regions)-1]
			c.jump(r, r.broken)
		case check.Continue:
			r := c.innermostLoop()
			c.jump(r, r.continued)
		case check.Eval:
			c.value(s.X)
		}
	})
}

func (c *compiler) declare(v *check.Var) {
	if v.Keyword == "var" {
		c.scoped(func() {
			if v.Init == nil {
				c.vars[v] = c.allot(v.Type.Words)
				c.clear(c.vars[v])
				return
			}
			init := c.value(v.Init)
			c.vars[v] = c.allot(v.Type.Words)
			c.store(c.root(v), init, v.Pos)
		})
		return
	}
	c.kept(func() value {
		if v.Type.Kind == check.Ptr {
			p := c.pointer(v.Init)
			c.pointers[v] = p
			if p.dynamic != nil {
				return value{*p.dynamic}
			}
			return nil
		}
		c.values[v] = c.stable(c.value(v.Init))
		return c.values[v]
	})
}

// clear makes a variable zero for all lanes: those that do not run cannot see
// it before they declare it themselves.
func (c *compiler) clear(v *variable) {
	from, to := int(v.off), int(v.off)+v.words*int(v.width)
	c.emit(func(m *machine) { clear(m.regs[from:to]) })
}

func (c *compiler) assign(s *check.Stmt) {
	if s.X == nil {
		if s.Y.Type.Kind == check.Ptr {
			c.pointer(s.Y)
		} else {
			c.value(s.Y)
		}
		return
	}
	p := c.place(s.X)
	c.memo[s.X] = p
	c.into = nil
	if v := p.variable; v != nil && p.dynamic == nil && v.width > 1 {
		for _, l := range leaves(p.t) {
			c.into = append(c.into, v.reg(p.base+l.slot))
		}
	}
	v := c.value(s.Y)
	delete(c.memo, s.X)
	c.store(p, v, s.X.Pos)
}

func (c *compiler) returned(s *check.Stmt) {
	if len(c.calls) == 0 { // the entry point
		c.scoped(func() { c.jump(c.regions[0], c.regions[0].broken) })
		return
	}
	fr := c.calls[len(c.calls)-1]
	if fr.single {
		fr.direct = c.value(s.X)
		fr.direct = c.stable(fr.direct)
		return
	}
	c.scoped(func() {
		if s.X != nil {
			p := place{space: check.Function, t: s.X.Type, variable: fr.result}
			c.store(p, c.value(s.X), s.Pos)
		}
		c.jump(fr.region, fr.region.broken)
	})
}

// jump takes the running lanes out of the code up to the end of a region.
func (c *compiler) jump(r *region, saved int) {
	c.jumps(r)
	c.effect(func(m *machine) {
		m.saved[saved].add(&m.mask)
		m.set(&mask{})
	})
}

func (c *compiler) innermostLoop() *region {
	for i := len(c.regions) - 1; ; i-- {
		if c.regions[i].loop {
			return c.regions[i]
		}
	}
}

func (c *compiler) ifElse(s *check.Stmt) {
	cond := c.scalar(s.X)
	if cond.wide {
		c.level++
		defer func() { c.level-- }()
	}
	yes := c.sequence(func() { c.block(s.Then) })
	var no sequence
	if s.Else != nil {
		no = c.sequence(func() { c.block(s.Else) })
	}
	if !cond.wide {
		c.emit(func(m *machine) {
			if m.narrow(cond) != 0 {
				yes.run(m)
			} else {
				no.run(m)
			}
		})
		return
	}
	c.emit(func(m *machine) {
		t, f := m.split(m.wide(cond))
		if t.n > 0 && len(yes) > 0 {
			m.set(&t)
			yes.run(m)
			t = m.mask
		}
		if f.n > 0 && len(no) > 0 {
			m.set(&f)
			no.run(m)
			f = m.mask
		}
		t.add(&f)
		m.set(&t)
	})
}

func (c *compiler) loop(s *check.Stmt) {
	r := c.enter(true)
	var until reg
	body := c.sequence(func() { c.body(s, r) })
	var after sequence
	if s.Continuing != nil {
		after = c.sequence(func() {
			// The break-if sees what the block declares.
			c.scoped(func() {
				for _, t := range s.Continuing.Body {
					c.statement(t)
				}
				if s.Y != nil {
					until = c.scalar(s.Y)
					c.until(r, until)
				}
			})
		})
	}
	c.leave(r)
	at := s.Pos
	c.effect(func(m *machine) {
		m.saved[r.broken] = mask{}
		for m.n > 0 {
			m.tick(at)
			m.saved[r.continued] = mask{}
			body.run(m)
			if again := &m.saved[r.continued]; again.n > 0 {
				again.add(&m.mask)
				m.set(again)
			}
			if m.n > 0 {
				after.run(m)
			}
		}
		m.set(&m.saved[r.broken])
	})
}

// body compiles the body of a loop. Where lanes continue one by one, what they
// have in the body's variables stays theirs until the continuing block.
func (c *compiler) body(s *check.Stmt, r *region) {
	c.scoped(func() {
		for _, t := range s.Then.Body {
			c.statement(t)
			if t.Op == check.Declare && t.Var.Keyword == "var" && c.divergent[r.id] {
				c.vars[t.Var].level--
			}
		}
	})
}

// until leaves a loop for the lanes whose condition holds.
func (c *compiler) until(r *region, cond reg) {
	if cond.wide {
		c.level++
		c.jumps(r)
		c.level--
	}
	c.emit(func(m *machine) {
		if !cond.wide {
			if m.narrow(cond) != 0 {
				m.saved[r.broken].add(&m.mask)
				m.set(&mask{})
			}
			return
		}
		yes, no := m.split(m.wide(cond))
		m.saved[r.broken].add(&yes)
		m.set(&no)
	})
}

func (c *compiler) switchCase(s *check.Stmt) {
	x := c.scalar(s.X)
	if x.mutable {
		x = c.copied(x)
	}
	r := c.enter(false)
	if x.wide {
		c.level++
	}
	bodies := make([]sequence, len(s.Cases))
	other := 0
	for i, k := range s.Cases {
		bodies[i] = c.sequence(func() { c.block(k.Body) })
		if k.Default {
			other = i
		}
	}
	if x.wide {
		c.level--
	}
	c.leave(r)
	choose := func(w uint32) int {
		for i, k := range s.Cases {
			if slices.Contains(k.Words, uint64(w)) {
				return i
			}
		}
		return other
	}
	if !x.wide {
		c.emit(func(m *machine) { m.region(r, bodies[choose(m.narrow(x))]) })
		return
	}
	c.emit(func(m *machine) {
		m.saved[r.broken] = mask{}
		parts := make([]mask, len(bodies))
		for _, i := range m.active() {
			parts[choose(m.regs[x.off+i])].bits[i/64] |= 1 << (i % 64)
		}
		for i := range parts {
			if parts[i].count(); parts[i].n > 0 {
				m.set(&parts[i])
				bodies[i].run(m)
				m.saved[r.broken].add(&m.mask)
			}
		}
		m.set(&m.saved[r.broken])
	})
}
