package eval

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"unsafe"
)

// Activation is one call of a function of user code, as it stands in a halted
// goroutine or stood when a panic came.
type Activation struct {
	fn        *Func
	block, ip int
	at        *stop // where it halted, nil when it is inside an instruction
	n         []uint64
	p         []pointer
	s         []string
	l         []header
	v         []reflect.Value

	// Omitted counts calls that were left out of a list behind this one.
	Omitted int

	of    *tracee // nil once it is kept as it was
	halts int     // of its goroutine, when it was read
}

// Local is a variable of a call.
type Local struct {
	Name string
	Type types.Type
	// Value is invalid when nothing of the function uses the variable any more,
	// so that its value is gone. It can be set when the variable has an address.
	// Interfaces are given by what they hold; Nil tells those that hold nothing.
	Value reflect.Value
	Nil   bool
	Const *types.Const // it is one, which has no value here
}

// activation looks at a call of a goroutine that does not run.
func (fr *frame) activation() Activation {
	a := Activation{fn: fr.fn, block: max(fr.block, 0), ip: fr.ip, at: fr.halted, n: fr.n, p: fr.p, s: fr.s, l: fr.l, v: fr.v}
	if a.of = fr.th.tracee; a.of != nil {
		a.halts = a.of.halts
	}
	return a
}

// freeze keeps a call as it is.
func (a Activation) freeze() Activation {
	a.n, a.p, a.s, a.l, a.v = slices.Clone(a.n), slices.Clone(a.p), slices.Clone(a.s), slices.Clone(a.l), slices.Clone(a.v)
	a.of = nil
	return a
}

// Location is where the call is; false for code of no cell.
func (a Activation) Location() (Location, bool) {
	if a.fn == nil || a.fn.source == nil {
		return Location{}, false
	}
	l := Location{Source: a.fn.source, Func: a.fn.name}
	if a.at != nil {
		l.Offset = a.at.offset
	} else {
		l.Offset = a.fn.blocks[a.block].offset(a.ip)
	}
	return l, true
}

// Locals lists the variables and constants in scope, in the order of their declarations; one
// that another of its name hides is left out.
func (a Activation) Locals() []Local {
	l, ok := a.Location()
	if !ok {
		return nil
	}
	var found []int
	for i, v := range a.fn.vars {
		if v.from <= l.Offset && l.Offset < v.to {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(i, j int) int { return a.fn.vars[i].from - a.fn.vars[j].from })
	var list []Local
	for _, i := range found {
		local, declared := a.local(i)
		if !declared {
			continue
		}
		list = slices.DeleteFunc(list, func(hidden Local) bool { return hidden.Name == local.Name })
		list = append(list, local)
	}
	return list
}

// local reads a variable. One that no binding reaches is not declared yet.
func (a Activation) local(i int) (l Local, declared bool) {
	v := a.fn.vars[i]
	l = Local{Name: v.name, Type: v.typ, Const: v.constant}
	if l.Const != nil {
		return l, true
	}
	found := a.reaching(i)
	if len(found) == 0 {
		return l, false
	}
	if len(found) > 1 || found[0].place.typ == nil && !found[0].constant.IsValid() {
		return l, true
	}
	b := found[0]
	switch {
	case b.constant.IsValid():
		l.Value = dynamic(b.constant)
		l.Nil = !l.Value.IsValid()
	case b.memory:
		if p := a.p[b.place.i]; p != nil {
			if l.Value = at(b.place.typ.Elem(), p); b.writeOnce {
				l.Value = held(b.place.typ.Elem(), p)
			}
		}
	default:
		l.Value = a.read(b.place)
		l.Nil = !l.Value.IsValid()
	}
	return l, true
}

func (a Activation) read(pl place) reflect.Value {
	fr := frame{n: a.n, p: a.p, s: a.s, l: a.l, v: a.v}
	return fr.get(pl)
}

// Assign gives a variable of a halted call another value. A variable without an
// address is where its value is, which must be its own place.
func (a Activation) Assign(name string, value reflect.Value) error {
	found := -1
	for i, v := range a.fn.vars {
		if l, declared := a.local(i); declared && v.name == name && v.constant == nil && a.inScope(v) {
			if found >= 0 && a.fn.vars[found].from > v.from {
				continue
			}
			if !l.Value.IsValid() && !l.Nil {
				return fmt.Errorf("%s is optimized out here: it is not used after this line", name)
			}
			found = i
		}
	}
	if found < 0 {
		return fmt.Errorf("there is no variable %s here", name)
	}
	b := a.reaching(found)[0]
	switch {
	case b.memory:
		t, p := b.place.typ.Elem(), a.p[b.place.i]
		if b.writeOnce { // others may have the value that lies there
			p = alloc(t)
			a.p[b.place.i] = p
		}
		put(t, p, value)
		return nil
	case b.constant.IsValid() || a.holdsConstant(b.place):
		return fmt.Errorf("%s has been folded to a constant here and cannot be set", name)
	}
	for i, v := range a.fn.vars {
		if i == found || !a.inScope(v) {
			continue
		}
		if other := a.reaching(i); len(other) == 1 && sameBinding(other[0], b) {
			return fmt.Errorf("%s and %s share storage here; %s cannot be set separately", name, v.name, name)
		}
	}
	fr := frame{n: a.n, p: a.p, s: a.s, l: a.l, v: a.v}
	if b.place.class == ref && value.IsValid() {
		fr.assign(b.place, value)
	} else {
		fr.set(b.place, value)
	}
	return nil
}

func (a Activation) inScope(v variable) bool {
	l, ok := a.Location()
	return ok && v.from <= l.Offset && l.Offset < v.to
}

// holdsConstant reports whether a place holds a constant.
func (a Activation) holdsConstant(pl place) bool {
	n := [classes]int{len(a.fn.initN), len(a.fn.initP), len(a.fn.initS), a.fn.nils, len(a.fn.initV)}
	first := a.fn.firstConstant[pl.class]
	return first <= pl.i && pl.i < first+n[pl.class]
}

// reaching lists the different bindings of a variable that may be the latest.
func (a Activation) reaching(i int) []binding {
	blocks := a.fn.blocks
	here := blocks[a.block].bindings
	n := 0
	if a.at != nil {
		n = a.at.bound
	} else {
		for n < len(here) && here[n].ip <= a.ip {
			n++
		}
	}
	if b := lastBinding(here[:n], i); b != nil {
		return []binding{*b}
	}
	var found []binding
	seen := make([]bool, len(blocks))
	queue := slices.Clone(blocks[a.block].preds)
	for len(queue) > 0 {
		k := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[k] {
			continue
		}
		seen[k] = true
		b := lastBinding(blocks[k].bindings, i)
		if b == nil {
			queue = append(queue, blocks[k].preds...)
			continue
		}
		if !slices.ContainsFunc(found, func(f binding) bool { return sameBinding(f, *b) }) {
			found = append(found, *b)
		}
	}
	return found
}

func lastBinding(list []binding, i int) *binding {
	for k := len(list) - 1; k >= 0; k-- {
		if list[k].variable == i {
			return &list[k]
		}
	}
	return nil
}

func sameBinding(a, b binding) bool {
	if a.constant.IsValid() && b.constant.IsValid() {
		return sameConstant(dynamic(a.constant), dynamic(b.constant))
	}
	return a.constant.IsValid() == b.constant.IsValid() && a.memory == b.memory && a.place == b.place
}

// sameConstant compares constants of one type. Those that == does not compare are
// zero values.
func sameConstant(a, b reflect.Value) bool {
	return a.IsValid() && !a.Comparable() || equal(a, b)
}

// activations lists a goroutine's calls, innermost first, the middle of a deep
// recursion left out; they are valid while it does not run.
func (th *thread) activations() []Activation {
	var list []Activation
	for i := th.depth - 1; i >= 0; i-- {
		if inner := th.depth - 1 - i; inner >= maxTrace && i >= maxTrace {
			if len(list) > 0 {
				list[len(list)-1].Omitted++
			}
			continue
		}
		if fr := th.frames[i]; fr.fn.source != nil {
			list = append(list, fr.activation())
		}
	}
	return list
}

// remember keeps a goroutine's calls as they are.
func (th *thread) remember() []Activation {
	list := th.activations()
	for i := range list {
		list[i] = list[i].freeze()
	}
	return list
}

// Storage returns a variable that shares the memory of a local one that has
// an address, and else holds its value.
func (e *Engine) Storage(l Local) *Var {
	v := &Var{typ: l.Type}
	t, err := e.types.Of(l.Type)
	switch {
	case err != nil:
		return nil
	case !l.Value.IsValid() && !l.Nil:
		return nil
	case l.Value.CanAddr() && l.Value.Type() == t:
		v.addr.Store(&storage{unsafe.Pointer(l.Value.UnsafeAddr()), t})
	default:
		value := reflect.New(t)
		put(t, value.UnsafePointer(), l.Value)
		v.addr.Store(&storage{value.UnsafePointer(), t})
	}
	return v
}

// Copy returns a variable of its own with the same value.
func (v *Var) Copy() *Var {
	c := &Var{typ: v.typ}
	c.Set(v.Value())
	return c
}
