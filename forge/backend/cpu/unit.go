package cpu

import (
	"fmt"
	"strings"
)

// unit is one C file.
type unit struct {
	target  Target
	kernels map[string]string // name of each kernel, by its text
	defs    strings.Builder
	entries strings.Builder
	calls   int
}

func newUnit(t Target) *unit { return &unit{target: t, kernels: make(map[string]string)} }

func (u *unit) text() string {
	return u.target.prelude() + u.defs.String() + u.entries.String()
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
	e := &emitter{target: u.target, kernel: s.kernel}
	switch {
	case s.kernel.Nest != nil:
		e.nest(placeholder)
	case s.kernel.Contraction != nil:
		e.contraction(placeholder, s.cut, s.packed)
	default:
		e.attention(placeholder)
	}
	text := e.String()
	name, ok := u.kernels[text]
	if !ok {
		name = fmt.Sprintf("%s_%d", s.kernel.Op, len(u.kernels))
		u.kernels[text] = name
		u.defs.WriteString("\n" + strings.ReplaceAll(text, placeholder, name))
	}
	return name
}
