package cpu

import (
	"fmt"
	"strings"
)

// unit is one C file.
type unit struct {
	target  Target
	kernels map[string]string        // name of each kernel, by its text
	defs    map[int]*strings.Builder // of kernels, by their width
	entries strings.Builder
	calls   int
}

func newUnit(t Target) *unit {
	return &unit{target: t, kernels: make(map[string]string), defs: map[int]*strings.Builder{t.Lanes: {}}}
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
	return text + u.entries.String()
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
		if !inside {
			fmt.Fprintf(&u.entries, "\nint %s(char *const *p, const int *stop) {\n", entryName(index, i))
			inside = true
		}
		u.calls++
		args := make([]string, len(s.args), len(s.args)+1)
		for k, a := range s.args {
			args[k] = "0"
			if a.buffer >= 0 {
				args[k] = fmt.Sprintf("(void *)(p[%d] + %d)", a.buffer, a.offset)
			}
		}
		u.entries.WriteString("  if (stopped(stop)) return 1;\n")
		fmt.Fprintf(&u.entries, "  %s(%s); /* %v */\n", u.kernel(s), strings.Join(append(args, "stop"), ", "), s.node.Out[0].Spec)
	}
	u.end(&inside)
	p.index = index
}

func (u *unit) end(inside *bool) {
	if *inside {
		u.entries.WriteString("  return stopped(stop);\n}\n")
	}
	*inside = false
}

// kernel defines the function of a step, unless an equal one is there.
func (u *unit) kernel(s step) string {
	const placeholder = "@kernel@"
	e := &emitter{target: u.target.narrowed(s.schedule.Width), kernel: s.kernel, schedule: s.schedule}
	switch {
	case s.kernel.Nest != nil:
		e.nest(placeholder)
	case s.kernel.Contraction != nil:
		e.contraction(placeholder, s.cut, s.packed)
	default:
		e.attention(placeholder)
	}
	text, width := e.String(), s.schedule.Width
	key := fmt.Sprint(width, text)
	name, ok := u.kernels[key]
	if !ok {
		name = fmt.Sprintf("%s_%d", s.kernel.Op, len(u.kernels))
		u.kernels[key] = name
		if u.defs[width] == nil {
			u.defs[width] = &strings.Builder{}
		}
		u.defs[width].WriteString("\n" + strings.ReplaceAll(text, placeholder, name))
	}
	return name
}
