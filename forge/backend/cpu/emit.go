package cpu

import (
	"fmt"
	"strings"

	"forgekernel/forge/backend/code"
	"forgekernel/forge/backend/cpu/source"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// emitter writes the C text of one kernel.
type emitter struct {
	code.Writer
	target    Target // of the width of the schedule
	kernel    *loop.Kernel
	schedule  Schedule // complete
	unguarded bool     // the guards of accesses are known to hold
	// hoisted are the indices of gathers that have been evaluated already.
	hoisted map[*loop.Gather]string
	// elems are the types of what the parameters of the C function point to; nil
	// when all are f32.
	elems []tensor.DType
}

// params declares the parameters of the kernel function.
func (e *emitter) params() string { return e.pointers() + ", long from, long to" }

// pointers declares those of them that say what the kernel works on.
func (e *emitter) pointers() string {
	list := make([]string, len(e.kernel.Params))
	for i, p := range e.kernel.Params {
		list[i] = fmt.Sprintf("%s *p%d", forms[p.DType()].elem, i)
		if !p.Written {
			list[i] = "const " + list[i]
		}
	}
	list = append(list, "const int *stop")
	if e.kernel.CanFault() {
		list = append(list, "int *fault")
	}
	return strings.Join(list, ", ")
}

// pass passes them on to a function that declares them too.
func (e *emitter) pass() string {
	list := make([]string, len(e.kernel.Params))
	for i := range list {
		list[i] = fmt.Sprintf("p%d", i)
	}
	return strings.Join(append(list, "stop"), ", ")
}

// units opens the loop over units [from, to) of the kernel's work and returns how
// many there are in all. They are the points of a grid of dims, the last running
// quickest, and vars are the coordinates of one. A unit gives the same bits
// whatever runs before it, so that threads may share the range in any way.
func (e *emitter) units(vars []string, dims []int) int {
	count := 1
	for i := len(dims) - 1; i >= 0; i-- {
		e.Line("long %s = from / %d %% %d;", vars[i], count, dims[i])
		count *= dims[i]
	}
	if len(dims) == 0 {
		e.Open("for (long u = from; u < to; u++)")
	} else {
		e.Open("for (long u = from; u < to; u++, %s++)", vars[len(dims)-1])
	}
	for i := len(dims) - 1; i > 0; i-- {
		e.Line("if (%s == %d) %s = 0, %s++;", vars[i], dims[i], vars[i], vars[i-1])
	}
	e.checkStop()
	return count
}

// checkStop ends the kernel when the run has been stopped. It stands in loops
// whose rounds take long enough to hide it.
func (e *emitter) checkStop() { e.Line("if (stopped(stop)) return;") }

// scope is what an expression is evaluated for: a vector of lanes along one
// dimension.
type scope struct {
	vars []string // the loop variable of each dimension
	lane int      // the dimension of the lanes; -1 for one number in all lanes
	part int      // how many lanes there are, when not all
	acc  string   // the sum that an epilogue finishes
	// A sweep may take unroll vectors in one round, and tells which one in turn.
	unroll, turn int
}

// at is the address of an access.
func (s scope) at(a loop.Access) string {
	text := fmt.Sprintf("p%d", a.Param)
	if a.Offset != 0 {
		text += fmt.Sprintf(" + %d", a.Offset)
	}
	for i, step := range a.Strides {
		if step != 0 && s.vars[i] != "" {
			text += fmt.Sprintf(" + %s * %d", s.vars[i], step)
		}
	}
	return text
}

// step is the distance between lanes of an access; 0 repeats one element.
func (s scope) step(a loop.Access) int {
	if s.lane < 0 {
		return 0
	}
	return a.Strides[s.lane]
}

func (e *emitter) load(s scope, a loop.Access) string {
	return e.loadAt(s, e.memory(a), s.at(a), s.step(a))
}

// loadAt loads the lanes that there are; the others are 0, also where one element
// is repeated, for sums over lanes count them.
func (e *emitter) loadAt(s scope, name, at string, step int) string {
	switch {
	case step == 0 && (s.part == 0 || s.lane < 0):
		return fmt.Sprintf("set_%s(*(%s))", name, at)
	case step == 1 && s.part == 0:
		return fmt.Sprintf("load_%s(%s)", name, at)
	case step == 1:
		return fmt.Sprintf("load_part_%s(%s, %d)", name, at, s.part)
	default:
		return fmt.Sprintf("load_strided_%s(%s, %d, %d)", name, at, step, e.lanes(s))
	}
}

func (e *emitter) lanes(s scope) int {
	if s.part > 0 {
		return s.part
	}
	return e.target.Lanes
}

func (e *emitter) store(s scope, a loop.Access, value string) {
	e.storeAt(s, e.memory(a), s.at(a), s.step(a), value)
}

func (e *emitter) storeAt(s scope, name, at string, step int, value string) {
	switch {
	case step == 0:
		e.Line("*(%s) = lane0_%s(%s);", at, name, value)
	case step == 1 && s.part == 0:
		e.Line("store_%s(%s, %s);", name, at, value)
	case step == 1:
		e.Line("store_part_%s(%s, %s, %d);", name, at, value, s.part)
	default:
		e.Line("store_strided_%s(%s, %d, %s, %d);", name, at, step, value, e.lanes(s))
	}
}

// memory is the suffix of the functions that load and store what an access moves.
func (e *emitter) memory(a loop.Access) string {
	if a.Bits {
		return "bits16"
	}
	if e.elems == nil {
		return tensor.F32.String()
	}
	return e.elems[a.Param].String()
}

// expr evaluates an expression into a new variable and returns its name.
func (e *emitter) expr(s scope, x *loop.Expr) string {
	return e.eval(s, x, make(map[*loop.Expr]string))
}

// eval is [emitter.expr] with the names of what has been evaluated.
func (e *emitter) eval(s scope, x *loop.Expr, names map[*loop.Expr]string) string {
	if name := names[x]; name != "" {
		return name
	}
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = e.eval(s, a, names)
	}
	var text string
	switch x.Op {
	case loop.Ref:
		return fmt.Sprintf("s%d", x.Stage)
	case loop.Acc:
		return s.acc
	case loop.Load:
		text = e.read(s, *x.Access, strings.Join(args, ""))
	case loop.Const:
		text = constant(x)
	case loop.Index:
		text = e.index(s, x)
	case loop.Inside:
		index := &loop.Expr{Type: tensor.I64, Affine: x.Affine}
		text = fmt.Sprintf("v_inside(%s, %d)", e.index(s, index), x.Int)
	default:
		if x.DividesIntegers() {
			e.fault("any(v_eq_%v(%s, set_%v(0)) & first(%d))", x.Type, args[1], x.Type, e.lanes(s))
		}
		text = fmt.Sprintf("%s(%s)", source.Function(x), strings.Join(args, ", "))
	}
	names[x] = e.Temp()
	e.Line("%s %s = %s;", forms[x.Type].vector, names[x], text)
	return names[x]
}
