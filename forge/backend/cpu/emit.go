package cpu

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"forgekernel/forge/loop"
)

// emitter writes the C text of one kernel. Lines are indented by depth.
type emitter struct {
	strings.Builder
	target   Target // of the width of the schedule
	kernel   *loop.Kernel
	schedule Schedule // complete
	depth    int
	temps    int
}

func (e *emitter) line(format string, args ...any) {
	e.WriteString(strings.Repeat("  ", e.depth))
	fmt.Fprintf(e, format, args...)
	e.WriteByte('\n')
}

func (e *emitter) open(format string, args ...any) {
	e.line("%s", strings.TrimSpace(fmt.Sprintf(format, args...)+" {"))
	e.depth++
}

func (e *emitter) close() {
	e.depth--
	e.line("}")
}

// params declares the parameters of the kernel function.
func (e *emitter) params() string {
	list := make([]string, len(e.kernel.Params))
	for i, p := range e.kernel.Params {
		list[i] = fmt.Sprintf("const float *p%d", i)
		if p.Written {
			list[i] = fmt.Sprintf("float *p%d", i)
		}
	}
	return strings.Join(append(list, "const int *stop"), ", ")
}

// checkStop ends the kernel when the run has been stopped. It stands in loops
// whose rounds take long enough to hide it.
func (e *emitter) checkStop() { e.line("if (stopped(stop)) return;") }

// scope is what an expression is evaluated for: a vector of lanes along one
// dimension.
type scope struct {
	vars []string // the loop variable of each dimension
	lane int      // the dimension of the lanes; -1 for one number in all lanes
	part int      // how many lanes there are, when not all
	acc  string   // the sum that an epilogue finishes
}

// at is the address of an access.
func (s scope) at(a loop.Access) string {
	text := fmt.Sprintf("p%d", a.Param)
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
	switch at, step := s.at(a), s.step(a); {
	case step == 0:
		return fmt.Sprintf("set(*(%s))", at)
	case step == 1 && s.part == 0:
		return fmt.Sprintf("load(%s)", at)
	case step == 1:
		return fmt.Sprintf("load_part(%s, %d)", at, s.part)
	default:
		return fmt.Sprintf("load_strided(%s, %d, %d)", at, step, e.lanes(s))
	}
}

func (e *emitter) lanes(s scope) int {
	if s.part > 0 {
		return s.part
	}
	return e.target.Lanes
}

func (e *emitter) store(s scope, a loop.Access, value string) {
	switch at, step := s.at(a), s.step(a); {
	case step == 0:
		e.line("*(%s) = %s[0];", at, value)
	case step == 1 && s.part == 0:
		e.line("store(%s, %s);", at, value)
	case step == 1:
		e.line("store_part(%s, %s, %d);", at, value, s.part)
	default:
		e.line("store_strided(%s, %d, %s, %d);", at, step, value, e.lanes(s))
	}
}

// expr evaluates an expression into a new variable and returns its name.
func (e *emitter) expr(s scope, x *loop.Expr) string {
	names := make(map[*loop.Expr]string)
	x.Walk(func(x *loop.Expr) {
		switch x.Op {
		case loop.Ref:
			names[x] = fmt.Sprintf("s%d", x.Stage)
			return
		case loop.Acc:
			names[x] = s.acc
			return
		}
		name := fmt.Sprintf("t%d", e.temps)
		e.temps++
		names[x] = name
		switch {
		case x.Op == loop.Load:
			e.line("vf %s = %s;", name, e.load(s, *x.Access))
		case x.Op == loop.Const:
			e.line("vf %s = %s;", name, literal(x.Value))
		default:
			args := make([]string, len(x.Args))
			for i, a := range x.Args {
				args[i] = names[a]
			}
			kind := "vf"
			if x.IsCondition() {
				kind = "vi"
			}
			e.line("%s %s = v_%s(%s);", kind, name, x.Op, strings.Join(args, ", "))
		}
	})
	return names[x]
}

// literal is a number in all lanes, exact.
func literal(v float32) string {
	if v != v || v-v != 0 {
		return fmt.Sprintf("(vf)((vi){0} + (i32)%#xu)", math.Float32bits(v))
	}
	return "set(" + strconv.FormatFloat(float64(v), 'x', -1, 32) + "f)"
}
