package shader

import (
	"forgekernel/forge/backend/wgsl/shader/check"
)

// atomic compiles an atomic operation: lanes do it one after the other.
func (c *compiler) atomic(x *check.Expr, args []value) value {
	return c.atomicAt(c.pointer(x.Args[0]), x, x.Name, args[1:])
}

func (c *compiler) atomicAt(p place, x *check.Expr, name string, args []value) value {
	dyn := c.constant(0)
	if p.dynamic != nil {
		dyn = *p.dynamic
	}
	base := p.base
	get := func(m *machine, a int) uint32 { return m.shared[a] }
	put := func(m *machine, a int, w uint32) { m.shared[a] = w }
	if p.bytes() {
		n := p.buffer
		get = func(m *machine, a int) uint32 { return m.buffers[n].loadWord(a, check.U32) }
		put = func(m *machine, a int, w uint32) { m.buffers[n].storeWord(a, check.U32, w) }
	}
	operand, replacement := c.constant(0), c.constant(0)
	if len(args) > 0 {
		operand = args[0][0]
	}
	if len(args) > 1 {
		replacement = args[1][0]
	}
	old := c.temp(true)
	swapped := c.temp(true)
	f := atomicUpdate(name, p.t.Elem.Kind == check.I32)
	c.effect(func(m *machine) {
		for _, i := range m.active() {
			lane := int(i)
			a := base + int(m.at(dyn, lane))
			before, with := get(m, a), m.at(operand, lane)
			m.regs[int(old.off)+lane] = before
			switch {
			case name == "atomicLoad":
			case name == "atomicCompareExchangeWeak":
				m.regs[int(swapped.off)+lane] = truth(before == with)
				if before == with {
					put(m, a, m.at(replacement, lane))
				}
			default:
				put(m, a, f(before, with))
			}
		}
	})
	switch {
	case name == "atomicStore":
		return nil
	case name == "atomicCompareExchangeWeak":
		return value{old, swapped}
	}
	return value{old}
}

// atomicUpdate is what an atomic operation makes of the word in memory.
func atomicUpdate(name string, signed bool) func(have, with uint32) uint32 {
	less := func(x, y uint32) bool { return x < y }
	if signed {
		less = func(x, y uint32) bool { return int32(x) < int32(y) }
	}
	switch name {
	case "atomicAdd":
		return func(x, y uint32) uint32 { return x + y }
	case "atomicSub":
		return func(x, y uint32) uint32 { return x - y }
	case "atomicAnd":
		return func(x, y uint32) uint32 { return x & y }
	case "atomicOr":
		return func(x, y uint32) uint32 { return x | y }
	case "atomicXor":
		return func(x, y uint32) uint32 { return x ^ y }
	case "atomicMax":
		return func(x, y uint32) uint32 {
			if less(x, y) {
				return y
			}
			return x
		}
	case "atomicMin":
		return func(x, y uint32) uint32 {
			if less(y, x) {
				return y
			}
			return x
		}
	}
	return func(_, y uint32) uint32 { return y } // store and exchange
}
