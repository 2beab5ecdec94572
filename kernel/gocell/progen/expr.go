package progen

import (
	"fmt"
	"strings"
)

// ex is an expression. The compiler folds constants and refuses those that
// overflow, so operands that are constant are kept apart.
type ex struct {
	s        string
	constant bool
}

func dynamic(format string, args ...any) ex { return ex{s: fmt.Sprintf(format, args...)} }

// value writes an expression of a statement.
func (g *gen) value(t *typ) string {
	g.calls, g.risk = false, false
	if !g.fn.quiet {
		switch g.n(8) {
		case 0, 1:
			g.calls = true
		case 2:
			g.risk = true
		}
	}
	e := g.expr(t, 1+g.n(3))
	g.calls, g.risk = false, false
	return e.s
}

// plain is an expression without calls of the program and without panics.
func (g *gen) plain(t *typ, depth int) string {
	calls, risk := g.calls, g.risk
	g.calls, g.risk = false, false
	e := g.expr(t, depth)
	g.calls, g.risk = calls, risk
	return e.s
}

func (g *gen) expr(t *typ, depth int) ex {
	if depth <= 0 || g.chance(12) {
		return g.leaf(t)
	}
	if g.chance(25) {
		if e, ok := g.general(t, depth-1); ok {
			return e
		}
	}
	switch t.kind {
	case boolean:
		return g.condition(t, depth-1)
	case integer, float:
		return g.number(t, depth-1)
	case complexNumber:
		return g.complex(t, depth-1)
	case text:
		return g.text(t, depth-1)
	case slice:
		return g.slice(t, depth-1)
	case iface:
		return g.iface(t, depth-1)
	case pointer:
		return g.pointer(t, depth-1)
	case function:
		return g.literalFunc(t)
	}
	return g.composite(t, depth-1)
}

// leaf is a variable or a literal.
func (g *gen) leaf(t *typ) ex {
	if name, ok := g.variable(t, false); ok && g.chance(75) {
		return ex{s: name}
	}
	return g.literal(t)
}

// variable finds one in scope, which the statement may change if change is set.
func (g *gen) variable(t *typ, change bool) (string, bool) {
	var list []string
	for _, v := range g.vars {
		if same(v.typ, t) && (!change || g.mayChange(v)) {
			list = append(list, v.name)
		}
	}
	if len(list) == 0 {
		return "", false
	}
	return pick(g, list), true
}

func (g *gen) mayChange(v variable) bool { return !v.fixed && (!g.fn.pure || v.local) }

// nonConstant makes one operand a variable's value.
func (g *gen) nonConstant(t *typ, depth int) string {
	e := g.expr(t, depth)
	if !e.constant {
		return e.s
	}
	if name, ok := g.variable(t, false); ok {
		return name
	}
	return "choose(" + g.plain(boolType, 0) + ", " + e.s + ", " + g.literal(t).s + ")"
}

var floatLiterals = []string{"0", "1", "1.5", "-2.25", "1e10", "3.14159", "0.1", "-1e-7", "255", "1<<20"}
var words = []string{`""`, `"a"`, `"Go"`, `"héllo"`, `"日本"`, `"\xff\xfe"`, `"x\x00y"`, "`raw\\n`", `"aa"`, `"zz top"`}

// literal writes a value without operators.
func (g *gen) literal(t *typ) ex {
	switch t.kind {
	case boolean:
		return ex{t.name + "(" + pick(g, []string{"true", "false"}) + ")", true}
	case integer:
		return ex{t.name + "(" + g.integer(t) + ")", true}
	case float:
		return ex{t.name + "(" + pick(g, floatLiterals) + ")", true}
	case complexNumber:
		return ex{fmt.Sprintf("%s(%s + %di)", t.name, pick(g, floatLiterals), g.n(5)), true}
	case text:
		return ex{t.name + "(" + pick(g, words) + ")", true}
	}
	return g.composite(t, 0)
}

func (g *gen) integer(t *typ) string {
	if t.open {
		return fmt.Sprint(g.n(100))
	}
	switch g.n(6) {
	case 0:
		if t.signed {
			return fmt.Sprintf("-1 << %d", t.bits-1)
		}
		return fmt.Sprintf("1<<%d - 1", t.bits)
	case 1:
		if t.signed {
			return fmt.Sprintf("1<<%d - 1", t.bits-1)
		}
		return fmt.Sprintf("1 << %d", t.bits-1)
	case 2:
		if t.signed {
			return fmt.Sprint(-g.n(20))
		}
	case 3:
		return fmt.Sprint(g.n(1 << (min(t.bits, 60) - 1)))
	}
	return fmt.Sprint(g.n(12))
}

// composite writes a literal of a composite type, or the nearest to it.
func (g *gen) composite(t *typ, depth int) ex {
	name := t.name
	switch t.kind {
	case slice:
		return dynamic("%s{%s}", name, g.elements(t.elem, g.n(4), depth))
	case array:
		n := t.length
		if g.chance(30) {
			n = g.n(n + 1)
		}
		return dynamic("%s{%s}", name, g.elements(t.elem, n, depth))
	case mapping:
		return dynamic("%s{%s}", name, g.entries(t, depth))
	case structure:
		return dynamic("%s{%s}", name, g.fieldValues(t, depth))
	case pointer:
		return g.pointer(t, depth)
	case function:
		return g.literalFunc(t)
	}
	return g.iface(t, depth)
}

func (g *gen) elements(t *typ, n, depth int) string {
	var parts []string
	for range n {
		parts = append(parts, g.expr(t, depth).s)
	}
	return strings.Join(parts, ", ")
}

// entries have keys that are surely different, or none.
func (g *gen) entries(t *typ, depth int) string {
	var keys []string
	switch t.key.kind {
	case integer:
		keys = []string{"1", "2", "3"}
	case text:
		keys = []string{`"k"`, `"l"`, `""`}
	case boolean:
		keys = []string{"true", "false"}
	default:
		keys = []string{g.plain(t.key, 1)}
	}
	var parts []string
	for _, k := range keys[:g.n(len(keys)+1)] {
		parts = append(parts, k+": "+g.expr(t.elem, depth).s)
	}
	return strings.Join(parts, ", ")
}

func (g *gen) fieldValues(t *typ, depth int) string {
	keyed := g.chance(60)
	var parts []string
	for _, f := range t.fields {
		if keyed && g.chance(25) {
			continue
		}
		value := g.expr(f.typ, depth).s
		if keyed {
			value = f.name + ": " + value
		}
		parts = append(parts, value)
	}
	return strings.Join(parts, ", ")
}

// general writes what there is for every type.
func (g *gen) general(t *typ, depth int) (ex, bool) {
	switch g.n(10) {
	case 0, 1:
		return g.component(t)
	case 2:
		return dynamic("choose(%s, %s, %s)", g.expr(boolType, depth).s, g.expr(t, depth).s, g.expr(t, depth).s), true
	case 3:
		return dynamic("func() %s { return %s }()", t.name, g.expr(t, depth).s), true
	case 4:
		if t.kind == iface || t.open {
			return dynamic("*new(%s(%s))", t.name, g.expr(t, depth).s), true
		}
		return dynamic("any(%s).(%s)", g.expr(t, depth).s, t.name), true
	case 5:
		if s, ok := g.variable(sliceOf(t), false); ok && hasZero(t) {
			return dynamic("at(%s, %s)", s, g.plain(intType, depth)), true
		}
	case 6:
		return g.apply(t, depth)
	case 7:
		if g.calls && t.printable() {
			return dynamic("trace(%d, %s)", g.n(100), g.expr(t, depth).s), true
		}
	default:
		if g.calls {
			return g.call(t, depth)
		}
		return g.risky(t)
	}
	return ex{}, false
}

// component is a part of a variable.
func (g *gen) component(t *typ) (ex, bool) {
	if !hasZero(t) { // it may be nil there
		return ex{}, false
	}
	var list []string
	for _, v := range g.vars {
		list = append(list, g.parts(v.name, v.typ, t)...)
	}
	if len(list) == 0 {
		return ex{}, false
	}
	return ex{s: pick(g, list)}, true
}

func (g *gen) parts(name string, in, want *typ) (list []string) {
	switch in.kind {
	case array:
		if same(in.elem, want) {
			list = append(list, fmt.Sprintf("%s[%d]", name, g.n(in.length)))
		}
	case mapping:
		if same(in.elem, want) {
			list = append(list, name+"["+g.plain(in.key, 0)+"]")
		}
	case structure:
		for _, f := range in.fields {
			if same(f.typ, want) {
				list = append(list, name+"."+f.name)
			}
			if f.typ.kind == array || f.typ.kind == structure {
				list = append(list, g.parts(name+"."+f.name, f.typ, want)...)
			}
		}
	case pointer:
		if same(in.elem, want) {
			list = append(list, "*"+name)
		}
		if in.elem.kind == structure {
			list = append(list, g.parts(name, in.elem, want)...)
		}
	}
	return list
}

// apply calls a func value; those of variables only compute.
func (g *gen) apply(t *typ, depth int) (ex, bool) {
	var list []string
	for _, v := range g.vars {
		if v.typ.kind == function && same(v.typ.result, t) && !g.noApply {
			var args []string
			for _, p := range v.typ.params {
				args = append(args, g.expr(p, depth).s)
			}
			list = append(list, v.name+"("+strings.Join(args, ", ")+")")
		}
	}
	if len(list) == 0 {
		return ex{}, false
	}
	return ex{s: pick(g, list)}, true
}

// call calls a function that changes nothing.
func (g *gen) call(t *typ, depth int) (ex, bool) {
	var list []*fun
	for _, f := range g.funcs {
		if f.pure && same(f.result, t) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return ex{}, false
	}
	return ex{s: g.callOf(pick(g, list), depth)}, true
}

func (g *gen) callOf(f *fun, depth int) string {
	var args []string
	for _, p := range f.params {
		args = append(args, g.expr(p, depth).s)
	}
	list := strings.Join(args, ", ")
	if f.recv == nil {
		return f.name + "(" + list + ")"
	}
	recv, ok := g.variable(f.recv, false)
	if !ok {
		recv = g.composite(f.recv, 0).s
		if f.recv.kind != structure && f.recv.kind != array && f.recv.kind != slice {
			recv = g.leaf(f.recv).s
		}
		if g.chance(30) {
			return fmt.Sprintf("%s.%s(%s)", f.recv.name, f.name, strings.Join(append([]string{recv}, args...), ", "))
		}
	}
	return fmt.Sprintf("(%s).%s(%s)", recv, f.name, list)
}

// risky is an operation that may panic; there is one in an expression.
func (g *gen) risky(t *typ) (ex, bool) {
	if !g.risk {
		return ex{}, false
	}
	g.risk = false
	var list []string
	for _, v := range g.vars {
		switch {
		case v.typ.kind == slice && same(v.typ.elem, t):
			list = append(list, fmt.Sprintf("%s[%s]", v.name, g.index()))
		case v.typ.name == "any" && t.kind != iface && !t.open:
			list = append(list, fmt.Sprintf("%s.(%s)", v.name, t.name))
		case v.typ.kind == slice && same(v.typ, t):
			list = append(list, fmt.Sprintf("%s[%s:%s]", v.name, g.index(), g.index()))
		case v.typ.kind == array && same(v.typ.elem, t):
			list = append(list, fmt.Sprintf("%s[%s]", v.name, g.index()))
		case v.typ.kind == slice && t.kind == array && same(v.typ.elem, t.elem):
			list = append(list, fmt.Sprintf("%s(%s)", t.name, v.name))
		}
	}
	if t.kind == integer {
		list = append(list, fmt.Sprintf("%s / %s", g.nonConstant(t, 1), g.nonConstant(t, 1)))
	}
	if len(list) == 0 {
		return ex{}, false
	}
	return dynamic("(%s)", pick(g, list)), true
}

// index is a small number that is no constant.
func (g *gen) index() string {
	if name, ok := g.variable(intType, false); ok {
		return name + "&3"
	}
	return fmt.Sprintf("choose(true, %d, 0)", g.n(4))
}
