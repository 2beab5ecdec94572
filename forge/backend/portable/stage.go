package portable

import (
	"errors"
	"fmt"

	"forgekernel/forge/backend/portable/vector"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// stage is a [loop.Stage] as a list of operations on registers.
type stage struct {
	once   bool
	fold   *folding // nil for none
	loads  []load
	ops    []operation
	result place
	store  *loop.Access
}

// load brings an operand into a register, or shows where it stands.
type load struct {
	loop.Access
	to int
}

// place is a register, the result of an earlier stage, or a constant.
type place struct {
	register int
	stage    int // -1 for none
	constant []float32
}

// operation sets a register to a function of one, two or three places.
type operation struct {
	unary  vector.Unary
	binary vector.Binary
	where  func(dst, c, x, y []float32)
	args   [3]place
	to     int
}

// compiler assigns registers to an expression; one is free again after the last
// operation that reads it.
type compiler struct {
	*nest
	stage
	at   map[*loop.Expr]place
	uses map[*loop.Expr]int
	free []int
	next int
}

// compile makes stage i of a nest.
func (k *nest) compile(s loop.Stage, i int) (stage, error) {
	if s.Require || s.When != nil {
		return stage{}, errors.New("a stage with a condition has no vector form")
	}
	if s.Store != nil {
		if err := affine(s.Store); err != nil {
			return stage{}, err
		}
	}
	c := &compiler{nest: k, at: make(map[*loop.Expr]place), uses: make(map[*loop.Expr]int)}
	c.once, c.stage.store = s.Once, s.Store
	if s.Reduce != loop.NoReduction {
		f, err := newFolding(k.set, s.Reduce)
		if err != nil {
			return stage{}, err
		}
		c.fold = f
	}
	s.Expr.Walk(func(x *loop.Expr) {
		for _, a := range x.Args {
			c.uses[a]++
		}
	})
	c.uses[s.Expr]++ // the result is read at the end
	var failed error
	s.Expr.Walk(func(x *loop.Expr) {
		if failed == nil {
			failed = c.add(x)
		}
	})
	c.result = c.at[s.Expr]
	return c.stage, failed
}

// affine refuses an access that depends on more than the loops.
func affine(a *loop.Access) error {
	if len(a.Guards)+len(a.Gathers) > 0 {
		return errors.New("an access with conditions or indices has no vector form")
	}
	return nil
}

func (c *compiler) add(x *loop.Expr) error {
	if x.Type != tensor.F32 && (x.Type != tensor.Bool || len(x.Args) == 0) {
		return fmt.Errorf("%s of %v has no vector form", x.Op, x.Type)
	}
	switch x.Op {
	case loop.Load:
		if err := affine(x.Access); err != nil {
			return err
		}
		to := c.fresh()
		c.loads = append(c.loads, load{*x.Access, to})
		c.at[x] = place{register: to, stage: -1}
		return nil
	case loop.Const:
		constant := make([]float32, c.width)
		c.set.Fill(constant, float32(x.Value))
		c.at[x] = place{register: -1, stage: -1, constant: constant}
		return nil
	case loop.Ref:
		c.at[x] = place{register: -1, stage: x.Stage}
		return nil
	}
	return c.operation(x)
}

func (c *compiler) operation(x *loop.Expr) error {
	name := string(x.Op)
	o := operation{}
	switch len(x.Args) {
	case 1:
		o.unary = c.set.Unary[name]
	case 2:
		o.binary = c.set.Binary[name]
	case 3:
		if name == "where" {
			o.where = c.set.Where
		}
	}
	masks := x.Type == tensor.Bool && (x.Op == "eq" || x.Op == "ne") && x.Args[0].Type != tensor.F32
	if o.unary == nil && o.binary == nil && o.where == nil || masks {
		return fmt.Errorf("%s has no vector form yet", name)
	}
	for i, a := range x.Args {
		o.args[i] = c.at[a]
		if c.uses[a]--; c.uses[a] == 0 && o.args[i].register >= 0 {
			c.free = append(c.free, o.args[i].register)
		}
	}
	o.to = c.register()
	c.ops = append(c.ops, o)
	c.at[x] = place{register: o.to, stage: -1}
	return nil
}

// register takes a free one for a result. Loads come first, and do not take one
// that an operation has left.
func (c *compiler) register() int {
	if n := len(c.free); n > 0 {
		r := c.free[n-1]
		c.free = c.free[:n-1]
		return r
	}
	return c.fresh()
}

func (c *compiler) fresh() int {
	c.next++
	c.registers = max(c.registers, c.next)
	return c.next - 1
}

// visit evaluates a stage for the chunk and returns its value, of which w.n
// elements count.
func (w *walk) visit(s *stage) []float32 {
	m := padded(w.n)
	for _, l := range s.loads {
		w.regs[l.to] = w.load(s, l, m)
	}
	direct := w.direct(s)
	for i := range s.ops {
		o := &s.ops[i]
		dst := w.room[o.to][:m]
		if direct != nil && i == len(s.ops)-1 {
			dst = direct
		}
		switch {
		case o.unary != nil:
			o.unary(dst, w.value(o.args[0], m))
		case o.binary != nil:
			o.binary(dst, w.value(o.args[0], m), w.value(o.args[1], m))
		default:
			o.where(dst, w.value(o.args[0], m), w.value(o.args[1], m), w.value(o.args[2], m))
		}
		w.regs[o.to] = dst
	}
	result := w.value(s.result, m)
	if s.store != nil && direct == nil {
		w.store(s, result)
	}
	return result
}

// direct is the memory to which the last operation can write, nil where the
// result has to be copied.
func (w *walk) direct(s *stage) []float32 {
	if s.store == nil || len(s.ops) == 0 || w.n%vector.Lanes != 0 || w.step(s, *s.store) != 1 {
		return nil
	}
	p := w.params[s.store.Param]
	at := p.first + w.offset(*s.store)
	return p.data[at : at+w.n]
}

func (w *walk) value(p place, m int) []float32 {
	switch {
	case p.register >= 0:
		return w.regs[p.register]
	case p.stage >= 0:
		return w.refs[p.stage][:m]
	}
	return p.constant[:m]
}

// offset is where the chunk begins in an access.
func (w *walk) offset(a loop.Access) int {
	at := a.Offset
	for i, step := range a.Strides {
		at += w.at[i] * step
	}
	return at
}

// step is the distance between lanes; a stage that is evaluated once for a line
// has none.
func (w *walk) step(s *stage, a loop.Access) int {
	if s.once && !w.columns {
		return 0
	}
	return a.Strides[w.lane]
}

// load returns a chunk of an operand: the memory itself where its elements stand
// side by side and fill vectors.
func (w *walk) load(s *stage, l load, m int) []float32 {
	p := w.params[l.Param]
	at, step := p.first+w.offset(l.Access), w.step(s, l.Access)
	if step == 1 && w.n == m {
		return p.data[at : at+m]
	}
	dst := w.room[l.to][:m]
	switch step {
	case 0:
		w.set.Fill(dst, p.data[at])
	case 1:
		copy(dst, p.data[at:at+w.n])
	default:
		for i := range w.n {
			dst[i] = p.data[at+i*step]
		}
	}
	return dst
}

func (w *walk) store(s *stage, x []float32) {
	p := w.params[s.store.Param]
	at, step := p.first+w.offset(*s.store), w.step(s, *s.store)
	switch step {
	case 0:
		p.data[at] = x[0]
	case 1:
		copy(p.data[at:at+w.n], x)
	default:
		for i := range w.n {
			p.data[at+i*step] = x[i]
		}
	}
}
