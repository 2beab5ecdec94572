package shader

import (
	"forgekernel/forge/backend/wgsl/shader/check"
)

// scalar compiles an expression of one word.
func (c *compiler) scalar(x *check.Expr) reg { return c.value(x)[0] }

// value compiles an expression to registers. They stay as they are until the
// end of the statement, unless they are those of a variable that it changes.
func (c *compiler) value(x *check.Expr) value {
	into := c.into
	c.into = nil
	switch x.Op {
	case check.Const:
		v := make(value, len(x.Words))
		for i, w := range x.Words {
			v[i] = c.constant(uint32(w))
		}
		return v
	case check.Override:
		words, wrong := x.Resolve(c.program.overrides)
		if wrong != "" {
			c.fail(x.Pos, "%s", wrong)
		}
		return value{c.constant(uint32(words[0]))}
	case check.Value:
		return c.values[x.Var]
	case check.Load:
		return c.load(c.place(x.Args[0]), x.Pos)
	case check.Index:
		return c.element(x)
	case check.Member:
		f := x.Args[0].Type.Fields[x.N]
		return c.value(x.Args[0])[f.Slot : f.Slot+f.Type.Words]
	case check.Swizzle:
		from := c.value(x.Args[0])
		v := make(value, len(x.Pick))
		for i, p := range x.Pick {
			v[i] = from[p]
		}
		return v
	case check.Logical:
		return value{c.logical(x)}
	case check.Call:
		return c.call(x)
	}
	if x.Op == check.Binary {
		if v := c.mulAdd(x, into); v != nil {
			return v
		}
	}
	args := c.args(x)
	switch x.Op {
	case check.Unary:
		return c.unary(x, args[0])
	case check.Binary:
		return c.binary(x, args[0], args[1], into)
	case check.Compose:
		var v value
		for _, a := range args {
			v = append(v, a...)
		}
		return v
	case check.Convert:
		o := conversion(x.Args[0].Type.Scalar().Kind, x.Type.Scalar().Kind)
		if o == nil {
			return args[0]
		}
		return c.each(args[0], *o)
	case check.Bitcast:
		if x.Type.Scalar().Kind != check.F16 && x.Args[0].Type.Scalar().Kind != check.F16 {
			return args[0]
		}
		return c.general(x, args)
	}
	return c.builtin(x, args, into)
}

// args compiles arguments in order. A call among the later ones may change
// variables that the earlier ones are.
func (c *compiler) args(x *check.Expr) []value {
	args := make([]value, len(x.Args))
	for i, a := range x.Args {
		if a.Type.Kind == check.Ptr {
			continue
		}
		args[i] = c.value(a)
		for _, later := range x.Args[i+1:] {
			if calls(later) {
				args[i] = c.stable(args[i])
				break
			}
		}
	}
	return args
}

func calls(x *check.Expr) bool {
	if x.Op == check.Call {
		return true
	}
	for _, a := range x.Args {
		if calls(a) {
			return true
		}
	}
	return false
}

// element indexes a value.
func (c *compiler) element(x *check.Expr) value {
	args := c.args(x)
	v, n := args[0], x.Type.Words
	count := len(v) / n
	if i := x.Args[1]; i.Op == check.Const {
		return v[int(i.Words[0])*n : (int(i.Words[0])+1)*n]
	}
	b := bounds{x.Args[1].Pos, "value", x.Args[1].Type.Kind == check.I32}
	i := c.address(nil, args[1][0], c.constant(uint32(count)), 1, b)
	r := make(value, n)
	for k := range r {
		from := make(value, count)
		wide := i.wide
		for j := range from {
			from[j] = v[j*n+k]
			wide = wide || from[j].wide
		}
		d := c.temp(wide)
		r[k] = d
		if !wide {
			c.emit(func(m *machine) { m.regs[d.off] = m.narrow(from[m.narrow(i)]) })
			continue
		}
		c.effect(func(m *machine) {
			to := m.wide(d)
			for _, lane := range m.active() {
				to[lane] = m.at(from[m.at(i, int(lane))], int(lane))
			}
		})
	}
	return r
}

// logical is && or ||: the right side runs for the lanes that it matters to.
func (c *compiler) logical(x *check.Expr) reg {
	and := x.Name == "&&"
	a := c.scalar(x.Args[0])
	if a.mutable {
		a = c.copied(a)
	}
	if a.wide {
		c.level++
	}
	var b reg
	before := c.effects
	right := c.sequence(func() { b = c.scalar(x.Args[1]) })
	pure := c.effects == before
	if a.wide {
		c.level--
	}
	d := c.temp(a.wide || b.wide)
	o := intBinary["|"]
	if and {
		o = intBinary["&"]
	}
	switch {
	case !a.wide:
		c.emit(func(m *machine) {
			if (m.narrow(a) != 0) == and {
				right.run(m)
				m.become(d, b)
			} else {
				m.become(d, a)
			}
		})
	case pure:
		*c.code = append(*c.code, right...)
		c.emit(combination(o, d, a, b))
	default:
		c.emit(func(m *machine) {
			copy(m.span(d), m.span(a))
			before := m.mask
			yes, no := m.split(m.wide(a))
			if !and {
				yes = no
			}
			if yes.n == 0 {
				return
			}
			m.set(&yes)
			right.run(m)
			m.assign(m.wide(d), b)
			m.set(&before)
		})
	}
	return d
}

// become sets a register to another's value, for running lanes or all between.
func (m *machine) become(d, r reg) {
	if !d.wide {
		m.regs[d.off] = m.regs[r.off]
		return
	}
	m.assign(m.wide(d), r)
}

// call expands a function in place.
func (c *compiler) call(x *check.Expr) value {
	f := x.Fn
	args := c.args(x)
	for i, p := range f.Params {
		if p.Type.Kind == check.Ptr {
			c.pointers[p] = c.pointer(x.Args[i])
		} else {
			c.values[p] = c.stable(args[i])
		}
	}
	fr := &frame{single: singleReturn(f)}
	if f.Result.Words > 0 && !fr.single {
		fr.result = c.allot(f.Result.Words)
	}
	fr.region = c.enter(false)
	c.calls = append(c.calls, fr)
	body := c.sequence(func() {
		for _, s := range f.Body.Body {
			c.statement(s)
		}
	})
	c.calls = c.calls[:len(c.calls)-1]
	c.leave(fr.region)
	if fr.single {
		*c.code = append(*c.code, body...)
		return fr.direct
	}
	c.emit(func(m *machine) { m.region(fr.region, body) })
	v := make(value, f.Result.Words)
	for i := range v {
		v[i] = fr.result.reg(i)
	}
	return v
}

// region runs code that lanes may leave early, and joins them after it.
func (m *machine) region(r *region, body sequence) {
	m.saved[r.broken] = mask{}
	body.run(m)
	if out := &m.saved[r.broken]; out.n > 0 {
		out.add(&m.mask)
		m.set(out)
	}
}

// singleReturn says whether a function returns only at its end.
func singleReturn(f *check.Func) bool {
	n := len(f.Body.Body)
	if f.Result.Words == 0 {
		return !hasReturn(f.Body)
	}
	if n == 0 || f.Body.Body[n-1].Op != check.Return {
		return false
	}
	for _, s := range f.Body.Body[:n-1] {
		if hasReturn(s) {
			return false
		}
	}
	return true
}

func hasReturn(s *check.Stmt) bool {
	if s == nil {
		return false
	}
	if s.Op == check.Return {
		return true
	}
	for _, t := range s.Body {
		if hasReturn(t) {
			return true
		}
	}
	for _, k := range s.Cases {
		if hasReturn(k.Body) {
			return true
		}
	}
	return hasReturn(s.Then) || hasReturn(s.Else) || hasReturn(s.Continuing)
}
