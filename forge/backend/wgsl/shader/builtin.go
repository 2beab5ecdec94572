package shader

import (
	"forgekernel/forge/backend/wgsl/shader/check"
)

// builtin compiles a call of a builtin function.
func (c *compiler) builtin(x *check.Expr, args []value, into value) value {
	if f, ok := check.Components[x.Name]; ok {
		return c.components(x, f, args, into)
	}
	if len(x.Name) > 6 && x.Name[:6] == "atomic" {
		return c.atomic(x, args)
	}
	switch x.Name {
	case "workgroupBarrier", "storageBarrier":
		c.barrier(x)
		return nil
	case "workgroupUniformLoad":
		return c.uniformLoad(x)
	case "arrayLength":
		p := c.pointer(x.Args[0])
		return value{c.program.lengths[p.buffer]}
	case "select":
		v := make(value, len(args[0]))
		for i := range v {
			v[i] = c.choose(args[0][i], args[1][i], args[2][min(i, len(args[2])-1)])
		}
		return v
	case "all", "any":
		name := map[string]string{"all": "&", "any": "|"}[x.Name]
		r := args[0][0]
		for _, w := range args[0][1:] {
			r = c.combine(intBinary[name], r, w)
		}
		return value{r}
	case "dot":
		return value{c.dot(x.Type.Kind, args[0], args[1])}
	case "transpose":
		t := x.Args[0].Type
		v := make(value, len(args[0]))
		for i, r := range args[0] {
			v[i%t.Rows*t.N+i/t.Rows] = r
		}
		return v
	}
	return c.general(x, args)
}

// components compiles a componentwise function.
func (c *compiler) components(x *check.Expr, f check.Componentwise, args []value, into value) value {
	if v := c.reals(x, args); v != nil {
		return v
	}
	to := c.targets(into, args)
	k := x.Type.Scalar().Kind
	v := make(value, x.Type.Words)
	for i := range v {
		switch f.Args {
		case 1:
			v[i] = c.each(args[0][i:i+1], component1(x.Name, f, k))[0]
		case 2:
			v[i] = c.combineTo(to(i), component2(x.Name, f, k), args[0][i], args[1][i])
		default:
			v[i] = c.three(to(i), component3(x.Name, f, k), args[0][i], args[1][i], args[2][i])
		}
	}
	return v
}

// choose is select.
func (c *compiler) choose(no, yes, cond reg) reg {
	return c.three(target{}, ternary{pick, func(d, x, y, z []uint32) { zip3(d, x[:len(d)], y[:len(d)], z[:len(d)], pick) }}, no, yes, cond)
}

func pick(no, yes, cond uint32) uint32 {
	if cond != 0 {
		return yes
	}
	return no
}

// general computes lane by lane as constants are computed. It is for what
// kernels rarely do.
func (c *compiler) general(x *check.Expr, args []value) value {
	wide := false
	for _, a := range args {
		for _, r := range a {
			wide = wide || r.wide
		}
	}
	v := make(value, x.Type.Words)
	for i := range v {
		v[i] = c.temp(wide)
	}
	lane := func(m *machine, i int) {
		in := make([][]uint64, len(args))
		for k, a := range args {
			in[k] = make([]uint64, len(a))
			for j, r := range a {
				in[k][j] = uint64(m.at(r, i))
			}
		}
		out, _ := check.Evaluate(x, in)
		for k, r := range v {
			at := int(r.off)
			if r.wide {
				at += i
			}
			m.regs[at] = uint32(out[k])
		}
	}
	c.emit(func(m *machine) {
		if !wide {
			lane(m, m.first())
			return
		}
		for _, i := range m.active() {
			lane(m, int(i))
		}
	})
	return v
}

// barrier compiles a barrier: all invocations have to be there.
func (c *compiler) barrier(x *check.Expr) {
	c.effect(func(m *machine) {
		m.together(x)
		if x.Name == "storageBarrier" {
			m.tickStorage(x)
		} else {
			m.barrier()
		}
	})
}

// together fails where not every invocation of the workgroup runs.
func (m *machine) together(x *check.Expr) {
	if m.n < m.lanes {
		lane := m.missing(m.lanes)
		m.fail(x.Pos, lane, "'%s' must be reached by all invocations of the workgroup, and this one is not there", x.Name)
	}
}

func (c *compiler) uniformLoad(x *check.Expr) value {
	p := c.pointer(x.Args[0])
	c.barrier(x)
	var v value
	if p.t.Kind == check.Atomic {
		v = value{c.copied(c.atomicAt(p, x, "atomicLoad", nil)[0])}
	} else {
		v = c.stable(c.load(p, x.Pos))
	}
	c.barrier(x)
	return v
}
