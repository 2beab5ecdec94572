package progen

import (
	"fmt"
	"strings"
)

// statements writes a few statements; it reports that the block does not end
// by its last one.
func (g *gen) statements(most int) (left bool) {
	for range 1 + g.n(most) {
		if g.size--; g.size < 0 {
			break
		}
		if g.statement() {
			return true
		}
	}
	return false
}

// statement reports whether what follows it is never reached.
func (g *gen) statement() (left bool) {
	deep := g.inner > 5
	switch k := g.n(100); {
	case k < 19:
		g.define()
	case k < 38:
		g.assign()
	case k < 45:
		g.showSome()
	case deep:
		g.assign()
	case k < 52:
		g.ifStmt()
	case k < 62:
		g.loopStmt()
	case k < 68:
		g.switchStmt()
	case k < 72:
		return g.leave()
	case k < 76 && !g.fn.quiet:
		g.deferStmt()
	case k < 90:
		g.fromTemplate()
	default:
		pick(g, patterns)(g)
	}
	return false
}

// define declares a variable.
func (g *gen) define() {
	t := g.randomType(2)
	if g.fn.quiet {
		t = g.valueType()
	}
	g.defineAs(t, g.value(t))
}

func (g *gen) defineAs(t *typ, value string) string {
	name := g.fresh("v")
	switch zero := t.kind != function && t.kind != pointer && t.kind != mapping && t.kind != iface; {
	case g.chance(10) && zero:
		g.line("var %s %s", name, t.name)
	case g.chance(20):
		g.line("var %s %s = %s", name, t.name, value)
	default:
		g.line("%s := %s", name, value)
		if t.kind == iface && !strings.HasPrefix(value, t.name) { // a variable keeps the interface's type
			g.line("_ = %s", name)
		}
	}
	g.line("_ = %s", name)
	g.vars = append(g.vars, variable{name: name, typ: t, local: true})
	return name
}

// shorten keeps a text that grows in a loop from doubling there without end.
func (g *gen) shorten(v variable) { g.line("%s = %s[:min(len(%s), 40)]", v.name, v.name, v.name) }

// assign changes a variable or a part of one.
func (g *gen) assign() {
	var list []variable
	for _, v := range g.vars {
		if g.mayChange(v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		g.define()
		return
	}
	v := pick(g, list)
	shared := g.fn.pure && v.typ.kind != array && v.typ.kind != structure
	switch t := v.typ; {
	case t.kind == integer && g.chance(40):
		op := pick(g, []string{"+=", "-=", "*=", "^=", "|=", "&=", "&^="})
		g.line("%s %s %s", v.name, op, g.value(t))
	case t.kind == integer && g.chance(20):
		g.line("%s%s", v.name, pick(g, []string{"++", "--"}))
	case t.kind == text && g.chance(40):
		g.line("%s += %s", v.name, g.plain(t, 1))
		g.shorten(v)
	case t.kind == slice && !shared && g.chance(50):
		g.line("if len(%s) > 0 { %s[%s&0x7fff%%len(%s)] = %s }", v.name, v.name, g.nonConstant(intType, 1), v.name, g.stored(t.elem))
	case t.kind == array && g.chance(70):
		if g.chance(30) {
			i, j := g.n(t.length), g.n(t.length)
			g.line("%s[%d], %s[%d] = %s[%d], %s[%d]", v.name, i, v.name, j, v.name, j, v.name, i)
			return
		}
		g.line("%s[%d] = %s", v.name, g.n(t.length), g.plain(t.elem, 2))
	case t.kind == mapping && !shared && g.chance(80):
		g.changeMap(v)
	case t.kind == structure && g.chance(70):
		f := pick(g, t.fields)
		g.line("%s.%s = %s", v.name, f.name, g.plain(f.typ, 2))
	case t.kind == pointer && !shared && g.chance(60):
		if t.elem.kind == structure && g.chance(60) {
			f := pick(g, t.elem.fields)
			g.line("%s.%s = %s", v.name, f.name, g.plain(f.typ, 2))
			return
		}
		g.line("*%s = %s", v.name, g.plain(t.elem, 2))
	default:
		if w, ok := g.variable(t, true); ok && w != v.name && g.chance(20) {
			g.line("%s, %s = %s, %s", v.name, w, w, v.name)
			return
		}
		g.line("%s = %s", v.name, g.value(t))
		if t.kind == text {
			g.shorten(v)
		}
	}
}

// stored is an element for a slice or map that there is already, which must not
// come to hold itself: nothing that holds interfaces goes into it.
func (g *gen) stored(t *typ) string {
	outer := g.vars
	defer func() { g.vars = outer }()
	g.vars = nil
	for _, v := range outer {
		if !v.typ.holdsInterface() {
			g.vars = append(g.vars, v)
		}
	}
	return g.plain(t, 2)
}

func (g *gen) changeMap(v variable) {
	key := g.plain(v.typ.key, 1)
	switch g.n(5) {
	case 0:
		g.line("delete(%s, %s)", v.name, key)
	case 1:
		if g.chance(20) {
			g.line("clear(%s)", v.name)
		}
	case 2:
		if e := v.typ.elem; e.kind == integer {
			g.line("%s[%s] += %s", v.name, key, g.plain(e, 1))
		}
	default:
		g.line("%s[%s] = %s", v.name, key, g.stored(v.typ.elem))
	}
}

// showSome prints variables.
func (g *gen) showSome() {
	if g.fn.quiet {
		return
	}
	for range 1 + g.n(2) {
		if len(g.vars) == 0 {
			return
		}
		v := pick(g, g.vars)
		if v.typ.printable() {
			g.line("%s(%d, %s)", pick(g, []string{"show", "show", "detail"}), g.n(1000), v.name)
		} else if v.typ.kind == pointer && v.typ.elem.printable() {
			g.line("show(%d, *%s)", g.n(1000), v.name)
		}
	}
}

func (g *gen) ifStmt() {
	head := fmt.Sprintf("if (%s)", g.value(boolType))
	if g.chance(25) {
		name, t := g.fresh("v"), pick(g, numbers)
		head = fmt.Sprintf("if %s := %s; %s > %s", name, g.value(t), name, g.literal(t).s)
	}
	g.block(head, func() { g.statements(4) })
	if g.chance(40) {
		g.join(" ")
		g.block("else", func() { g.statements(4) })
	}
}

// leave writes a statement that ends a loop's turn, the loop or the function.
func (g *gen) leave() bool {
	if g.fn.quiet || g.inner < 2 {
		g.assign()
		return false
	}
	if n := len(g.fn.loops); n > 0 && g.chance(75) {
		l := pick(g, g.fn.loops)
		l.used = true
		g.line("if (%s) { %s %s }", g.value(boolType), pick(g, []string{"break", "continue"}), l.label)
		return false
	}
	if g.chance(60) {
		g.block(fmt.Sprintf("if (%s)", g.value(boolType)), g.returnStmt)
		return false
	}
	g.returnStmt()
	return true
}

func (g *gen) returnStmt() {
	switch t := g.fn.result; {
	case g.fn.main:
		g.line("panic(\"main returns\")")
	case t == nil || g.fn.ret != "" && g.chance(40):
		g.line("return")
	default:
		g.line("return %s", g.value(t))
	}
}

// loopStmt writes a loop of any kind; each turn takes fuel.
func (g *gen) loopStmt() {
	l := &loop{label: g.fresh("L")}
	mark := len(g.vars)
	head, vars := g.loopHead()
	text := g.capture(func() {
		g.fn.loops = append(g.fn.loops, l)
		g.block(head, func() {
			if !g.fn.quiet {
				g.line("step()")
			}
			for _, v := range vars {
				g.line("_ = %s", v.name)
			}
			g.vars = append(g.vars, vars...)
			g.statements(5)
		})
		g.fn.loops = g.fn.loops[:len(g.fn.loops)-1]
	})
	g.vars = g.vars[:mark]
	if l.used {
		g.line("%s:", l.label)
	}
	g.b.WriteString(text)
}

func (g *gen) loopHead() (string, []variable) {
	i := g.fresh("i")
	counter := []variable{{name: i, typ: intType, fixed: true, local: true}}
	switch g.n(7) {
	case 0:
		return fmt.Sprintf("for %s := 0; %s < %d; %s++", i, i, 1+g.n(4), i), counter
	case 1:
		return fmt.Sprintf("for %s := range %d", i, 1+g.n(4)), counter
	case 2:
		if !g.fn.quiet {
			return fmt.Sprintf("for %s := range upTo(%d)", i, g.n(4)), counter
		}
	case 3:
		w := g.fresh("r")
		runes := variable{name: w, typ: runeType, local: true}
		return fmt.Sprintf("for %s, %s := range %s", i, w, g.value(stringType)), append(counter, runes)
	case 4:
		t := pick(g, integers)
		return fmt.Sprintf("for %s := range %s(%d)", i, t.name, g.n(5)), []variable{{name: i, typ: t, local: true}}
	}
	t := sliceOf(g.randomType(1))
	if g.chance(30) {
		t = arrayOf(1+g.n(3), g.valueType())
	}
	e := variable{name: g.fresh("e"), typ: t.elem, local: true}
	over := "(" + g.value(t) + ")"
	if t.kind == slice && g.chance(40) {
		over = "each" + over
	}
	return fmt.Sprintf("for %s, %s := range %s", i, e.name, over), append(counter, e)
}

func (g *gen) switchStmt() {
	if v, ok := g.variable(anyType, false); ok && g.chance(50) {
		g.typeSwitch(v)
		return
	}
	t := pick(g, integers)
	g.line("switch (%s & 3) {", g.nonConstant(t, 2))
	for i := range 3 {
		g.clause(fmt.Sprintf("case %d", i), func() bool {
			if g.chance(20) && i < 2 {
				g.line("fallthrough")
				return true
			}
			return false
		})
	}
	if g.chance(60) {
		g.clause("default", func() bool { return false })
	}
	g.line("}")
}

// clause writes a clause of a switch.
func (g *gen) clause(head string, end func() bool) {
	g.line("%s:", head)
	mark := len(g.vars)
	g.inner++
	if !g.statements(3) {
		end()
	}
	g.inner--
	g.vars = g.vars[:mark]
}

func (g *gen) typeSwitch(v string) {
	name := g.fresh("t")
	g.line("switch %s := %s.(type) {", name, v)
	seen := map[string]bool{}
	for range 1 + g.n(4) {
		t := g.randomType(1)
		if seen[t.name] {
			continue
		}
		seen[t.name] = true
		g.line("case %s:", t.name)
		mark := len(g.vars)
		g.inner++
		g.line("_ = %s", name)
		g.vars = append(g.vars, variable{name: name, typ: t, local: true, fixed: true})
		g.statements(2)
		g.inner--
		g.vars = g.vars[:mark]
	}
	g.line("default:\n_ = %s", name)
	g.line("}")
}

// deferStmt defers a call that shows its arguments, recovers or changes the
// result.
func (g *gen) deferStmt() {
	if g.fn.main {
		g.assign()
		return
	}
	switch g.n(4) {
	case 0:
		t := g.valueType()
		g.line("defer show(%d, %s)", g.n(1000), g.value(t))
	case 1:
		if g.fn.result == nil || hasZero(g.fn.result) {
			g.line("defer caught(%d)", g.n(1000))
		}
	case 2:
		if g.fn.ret != "" {
			g.line("defer func() { %s = %s }()", g.fn.ret, g.plain(g.fn.result, 2))
		}
	case 3:
		g.block("defer func()", func() {
			g.within(&body{pure: g.fn.pure, result: nil}, true, func() { g.statements(2) })
		})
		g.join("()\n")
	}
}
