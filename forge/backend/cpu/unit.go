package cpu

import (
	"fmt"
	"strings"
)

// unit is one C file.
type unit struct {
	target  Target
	kernels map[string]kernel        // by width and text
	defs    map[int]*strings.Builder // of kernels, by their width
	shares  strings.Builder          // calls of kernels that threads may share
	entries strings.Builder
	calls   int
}

// kernel is a C function and the number of its units of work.
type kernel struct {
	name  string
	units int
}

func newUnit(t Target) *unit {
	return &unit{target: t, kernels: make(map[string]kernel), defs: map[int]*strings.Builder{t.Lanes: {}}}
}

// text puts kernels of the target's own vectors first, then those of narrower
// ones, each width behind a prelude of its own.
func (u *unit) text() string {
	text := u.target.prelude() + u.defs[u.target.Lanes].String()
	for width := u.target.Lanes / 2; width >= minLanes; width /= 2 {
		if defs := u.defs[width]; defs != nil {
			text += u.target.narrowed(width).again() + defs.String()
		}
	}
	return text + u.shares.String() + u.entries.String()
}

// entryName is the native function that begins at a step of a program.
func entryName(program, step int) string { return fmt.Sprintf("forge_run_%d_%d", program, step) }

// add writes a function for each run of native steps.
func (u *unit) add(p *program, index int) {
	inside := false
	for i, s := range p.steps {
		if s.kernel == nil {
			u.end(&inside)
			continue
		}
		if p.apart {
			u.end(&inside)
		}
		if !inside {
			fmt.Fprintf(&u.entries, "\nint %s(char *const *p, const int *stop, struct team *team) {\n", entryName(index, i))
			inside = true
		}
		u.calls++
		u.call(p, index, i)
	}
	u.end(&inside)
	p.index = index
}

// call writes the call of a step's kernel, by way of the team when its units make
// chunks that are worth it.
func (u *unit) call(p *program, index, i int) {
	s := p.steps[i]
	args := make([]string, len(s.args))
	for k, a := range s.args {
		args[k] = "0"
		if a.Buffer >= 0 {
			args[k] = fmt.Sprintf("(void *)(p[%d] + %d)", a.Buffer, a.Offset)
		}
	}
	k := u.kernel(s)
	args = append(args, "stop")
	fault := fmt.Sprintf("(int *)p[%d]", len(p.Buffers))
	if s.kernel.CanFault() {
		args = append(args, fault)
	}
	text := fmt.Sprintf("%s(%s, ", k.name, strings.Join(args, ", "))
	duration := u.target.duration(s.kernel)
	if grain := s.grain(duration, k.units); grain < k.units {
		p.shared += duration
		fmt.Fprintf(&u.shares, "\nstatic void step_%d_%d(char *const *p, const int *stop, long from, long to) {\n  %sfrom, to);\n}\n", index, i, text)
		text = fmt.Sprintf("share(team, step_%d_%d, p, stop, %d, %d", index, i, k.units, grain)
	} else {
		text += fmt.Sprintf("0, %d", k.units)
	}
	fmt.Fprintf(&u.entries, "  if (stopped(stop)) return 1;\n  %s); /* %v %v */\n", text, s.kernel.Params[0], s.kernel.Params[0].DType())
	if s.kernel.CanFault() {
		fmt.Fprintf(&u.entries, "  if (*%s) return %d;\n", fault, faultOf(i))
	}
}

// faultOf is what a native function returns when a step faults. It returns 1 when it
// was stopped, and 0 at its end.
func faultOf(step int) int { return step + 2 }

func (u *unit) end(inside *bool) {
	if *inside {
		u.entries.WriteString("  return stopped(stop);\n}\n")
	}
	*inside = false
}

// placeholder stands for the name of a kernel in its text.
const placeholder = "@kernel@"

// kernel defines the function of a step, unless an equal one is there.
func (u *unit) kernel(s step) kernel {
	e := &emitter{target: u.target.narrowed(s.schedule.Width), kernel: s.kernel, schedule: s.schedule}
	var k kernel
	switch {
	case s.kernel.Nest != nil:
		k.units = e.nest(placeholder)
	case s.kernel.Contraction != nil:
		k.units = e.contraction(placeholder, s.cut, s.packed)
	case s.kernel.Convolution != nil:
		k.units = e.convolution(placeholder, s.window)
	default:
		k.units = e.attention(placeholder)
	}
	width := s.schedule.Width
	key := fmt.Sprintf("/* %d lanes, %d units */\n%s", width, k.units, e.String())
	if known, ok := u.kernels[key]; ok {
		return known
	}
	k.name = fmt.Sprintf("%s_%d", s.kernel.Op, len(u.kernels))
	u.kernels[key] = k
	if u.defs[width] == nil {
		u.defs[width] = &strings.Builder{}
	}
	u.defs[width].WriteString("\n" + strings.ReplaceAll(key, placeholder, k.name))
	return k
}
