package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
)

// place is where the lanes of an access stand: lane l, of those from lo to hi-1, at
// at[l * step], plus what the gathers in spread add for it.
type place struct {
	at     string
	step   int
	lanes  int
	lo, hi string   // empty when all lanes are there
	spread []string // C expressions of l
}

// locate writes what an access needs before its elements can be touched: the range of
// lanes inside the guards, and the indices of gathers, which are checked.
func (e *emitter) locate(s scope, a loop.Access) place {
	p := place{at: s.at(a), step: s.step(a), lanes: e.lanes(s)}
	if s.lane < 0 {
		p.lanes = 1
	}
	if len(a.Guards) > 0 {
		p.lo, p.hi = e.Temp(), e.Temp()
		e.Line("long %s = 0, %s = %d;", p.lo, p.hi, p.lanes)
		for _, g := range a.Guards {
			step := 0
			if s.lane >= 0 {
				step = g.Strides[s.lane]
			}
			e.Line("inside(%s, %d, %d, &%s, &%s);", s.affine(g.Affine), step, g.Size, p.lo, p.hi)
		}
	}
	for i := range a.Gathers {
		e.gather(s, &p, &a.Gathers[i])
	}
	return p
}

// gather adds one gathered index to a place: a number for all lanes, or one for each.
func (e *emitter) gather(s scope, p *place, g *loop.Gather) {
	lo, hi := "0", fmt.Sprint(p.lanes)
	if p.lo != "" {
		lo, hi = p.lo, p.hi
	}
	if index, done := e.hoisted[g]; done {
		p.at += fmt.Sprintf(" + %s * %d", index, g.Step)
		return
	}
	name := e.Temp()
	if s.lane < 0 || !g.Index.Varies(s.lane) {
		value := e.expr(s, g.Index)
		e.Line("long %s = lane0_i64(%s);", name, value)
		e.fault("%s < %s && (unsigned long)%s >= %d", lo, hi, name, g.Size)
		p.at += fmt.Sprintf(" + %s * %d", name, g.Step)
		return
	}
	value := e.expr(s, g.Index)
	e.Line("i64 %s[LANES]; store_i64(%s, %s);", name, name, value)
	e.Line("for (long l = %s; l < %s; l++) if ((unsigned long)%s[l] >= %d) { FAULT; }", lo, hi, name, g.Size)
	p.spread = append(p.spread, fmt.Sprintf("%s[l] * %d", name, g.Step))
}

// fault ends the kernel where a condition holds.
func (e *emitter) fault(condition string, args ...any) {
	e.Line("if (%s) { FAULT; }", fmt.Sprintf(condition, args...))
}

// affine is an index at lane 0.
func (s scope) affine(a loop.Affine) string {
	text := fmt.Sprint(a.Offset)
	for i, step := range a.Strides {
		if step != 0 && s.vars[i] != "" {
			text += fmt.Sprintf(" + %s * %d", s.vars[i], step)
		}
	}
	return text
}

// index writes lane numbers as a value: those of an affine index in each lane.
func (e *emitter) index(s scope, x *loop.Expr) string {
	step := 0
	if s.lane >= 0 {
		step = x.Affine.Strides[s.lane]
	}
	return fmt.Sprintf("iota_%v(%s, %d)", x.Type, s.affine(x.Affine), step)
}

// read gives the elements of an access; elsewhere is their value outside the guards.
func (e *emitter) read(s scope, a loop.Access, elsewhere string) string {
	if e.unguarded {
		a.Guards = nil
	}
	if len(a.Guards) == 0 && len(a.Gathers) == 0 {
		return e.load(s, a)
	}
	name := e.memory(a)
	p := e.locate(s, a)
	if len(p.spread) == 0 && p.lo == "" {
		return e.loadAt(s, name, p.at, p.step)
	}
	vector := memories[name].vector
	if len(p.spread) == 0 {
		value := e.Temp()
		e.Line("%s %s = %s;", vector, value, elsewhere)
		e.Line("if (%s <= 0 && %s >= %d) %s = %s;", p.lo, p.hi, p.lanes, value, e.loadAt(s, name, p.at, p.step))
		e.Line("else if (%s < %s) %s = load_some_%s(%s, %d, %s, %s, %s);", p.lo, p.hi, value, name, p.at, p.step, p.lo, p.hi, value)
		return value
	}
	if p.lo == "" {
		p.lo, p.hi, elsewhere = "0", fmt.Sprint(p.lanes), "("+vector+"){0}"
	}
	buffer := e.Temp()
	e.Line("%s %s[LANES]; store_%s(%s, %s);", memories[name].elem, buffer, name, buffer, elsewhere)
	e.Line("for (long l = %s; l < %s; l++) %s[l] = (%s)[%s];", p.lo, p.hi, buffer, p.at, p.offset())
	return fmt.Sprintf("load_%s(%s)", name, buffer)
}

// offset is that of lane l from at.
func (p place) offset() string {
	text := fmt.Sprintf("l * %d", p.step)
	for _, s := range p.spread {
		text += " + " + s
	}
	return text
}

// write stores a value through an access.
func (e *emitter) write(s scope, a loop.Access, value string) {
	if len(a.Guards) == 0 && len(a.Gathers) == 0 {
		e.store(s, a, value)
		return
	}
	name := e.memory(a)
	p := e.locate(s, a)
	if len(p.spread) == 0 && p.lo == "" {
		e.storeAt(s, name, p.at, p.step, value)
		return
	}
	if p.lo == "" {
		p.lo, p.hi = "0", fmt.Sprint(p.lanes)
	}
	buffer := e.Temp()
	e.Line("%s %s[LANES]; store_%s(%s, %s);", memories[name].elem, buffer, name, buffer, value)
	e.Line("for (long l = %s; l < %s; l++) (%s)[%s] = %s[l];", p.lo, p.hi, p.at, p.offset(), buffer)
}
