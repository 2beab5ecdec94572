package progen

import (
	"fmt"
	"strings"
)

// methodValue binds a method before its receiver changes.
func (g *gen) methodValue() {
	var list []*fun
	for _, f := range g.funcs {
		if f.recv != nil && f.recv.kind != iface {
			list = append(list, f)
		}
	}
	if len(list) == 0 || g.fn.quiet {
		return
	}
	f := pick(g, list)
	x, bound := g.fresh("x"), g.fresh("m")
	g.line("var %s %s = %s", x, f.recv.name, g.plain(f.recv, 1))
	args := g.arguments(f.params)
	g.line("%s := %s.%s", bound, x, f.name)
	g.line("%s = %s", x, g.plain(f.recv, 1))
	shown := fmt.Sprintf("%s(%s)", bound, args)
	other := fmt.Sprintf("(*%s).%s(&%s%s)", f.recv.name, f.name, x, strings.TrimSuffix(", "+args, ", "))
	if f.result.printable() {
		g.line("show(%d, %s)", g.n(100), shown)
		g.line("show(%d, %s)", g.n(100), other)
		return
	}
	g.line("_, _ = %s, %s", shown, other)
}

func (g *gen) arguments(params []*typ) string {
	var args []string
	for _, p := range params {
		args = append(args, g.plain(p, 1))
	}
	return strings.Join(args, ", ")
}

// copies shows that arrays and structs are copied.
func (g *gen) copies() {
	t := arrayOf(2, g.valueType())
	if g.chance(50) {
		t = g.structOf(1)
	}
	if g.fn.quiet || !t.printable() {
		return
	}
	a := g.defineAs(t, g.value(t))
	b := g.fresh("b")
	g.line("%s := %s", b, a)
	part := b + "[1]"
	elem := t.elem
	if t.kind == structure {
		part, elem = b+"."+t.fields[0].name, t.fields[0].typ
	}
	g.line("%s = %s", part, g.plain(elem, 1))
	g.line("show(%d, %s); show(%d, %s); show(2, any(%s))", g.n(100), a, g.n(100), b, a)
	if t.comparable() {
		g.line("show(3, %s == %s)", a, b)
	}
}

// iterator is a function that yields, whose loop is left in all ways.
func (g *gen) iterator() {
	if g.fn.quiet {
		return
	}
	t := g.valueType()
	seq := g.fresh("seq")
	g.block(fmt.Sprintf("%s := func(yield func(int, %s) bool)", seq, t.name), func() {
		g.line("defer show(%d, \"end\")", g.n(100))
		g.block(fmt.Sprintf("for i := range %d", 1+g.n(4)), func() {
			g.line("if !yield(i, %s) { return }", g.plain(t, 1))
		})
	})
	l := &loop{label: g.fresh("L")}
	text := g.capture(func() {
		g.fn.loops = append(g.fn.loops, l)
		i, x := g.fresh("i"), g.fresh("x")
		g.block(fmt.Sprintf("for %s, %s := range %s", i, x, seq), func() {
			g.line("step()")
			g.line("show(%s, %s)", i, x)
			if g.chance(30) && !g.fn.main {
				g.line("defer show(%d, %s)", g.n(100), i)
			}
			if g.chance(30) {
				g.deferStmt()
			}
			g.vars = append(g.vars, variable{name: x, typ: t, local: true}, variable{name: i, typ: intType, local: true})
			g.statements(4)
		})
		g.fn.loops = g.fn.loops[:len(g.fn.loops)-1]
	})
	if l.used {
		g.line("%s:", l.label)
	}
	g.b.WriteString(text)
}

// constants is a block with iota and arithmetic of any size.
func (g *gen) constants() {
	if g.fn.quiet {
		return
	}
	a := g.fresh("k")
	g.line("const (")
	g.line("%sa = iota*%d + 1", a, 1+g.n(9))
	g.line("%sb", a)
	g.line("%sc = 1 << (iota * %d)", a, 1+g.n(20))
	g.line("%sd = %sc*1e3 + %d.5", a, a, g.n(100))
	g.line("%se = %sd / 7 * 7i", a, a)
	g.line(")")
	g.line("show(%sa, %sb); show(0, %sc); show(1, %sd); show(2, %se); show(3, %sc %% 1000)", a, a, a, a, a, a)
}

// mutator calls a method that changes its receiver, also through an interface.
func (g *gen) mutator() {
	var list []*typ
	for _, t := range g.named {
		if len(t.pointers) > 0 {
			list = append(list, t)
		}
	}
	if len(list) == 0 || g.fn.quiet {
		return
	}
	t := pick(g, list)
	m := pick(g, t.pointers)
	x := g.fresh("x")
	g.line("var %s %s = %s", x, t.name, g.plain(t, 2))
	args := g.arguments(m.params)
	g.line("%s.%s(%s)", x, m.name, args)
	g.line("var i%s interface{ %s(%s) %s } = &%s", x, m.name, names(m.params), m.result.name, x)
	g.line("i%s.%s(%s)", x, m.name, args)
	g.line("%sf := i%s.%s", x, x, m.name)
	g.line("_ = %sf(%s)", x, args)
	if t.printable() {
		g.line("show(%d, %s)", g.n(100), x)
	}
}

func (g *gen) bytes() {
	if g.fn.quiet {
		return
	}
	b, r := g.fresh("b"), g.fresh("r")
	s := g.value(stringType)
	g.line("%s := []byte(%s)", b, s)
	g.line("%s := []rune(string(%s))", r, b)
	g.line("if len(%s) > 1 { %s[0], %s[len(%s)-1] = %s[len(%s)-1], %s[0] }", b, b, b, b, b, b, b)
	g.line("show(%d, %s); show(1, string(%s)); show(len(%s), %s)", g.n(100), b, b, r, r)
	g.line("show(2, append(%s[:0:0], %s...))", b, g.plain(stringType, 1))
}

// nested panics replace one another while deferred calls run.
func (g *gen) nested() {
	if g.fn.quiet {
		return
	}
	g.called("func()", "()", func() {
		g.line("defer caught(%d)", g.n(100))
		g.line("defer func() { show(1, recover() != nil); %s }()", pick(g, []string{`panic("second")`, "var m map[string]int; m[\"a\"] = 1", "show(2, recover())"}))
		g.line("defer show(3, %s)", g.value(intType))
		g.line("panic(%s)", g.value(g.valueType()))
	})
}

// failing are run-time errors, whose texts must agree.
func (g *gen) failing() {
	if g.fn.quiet {
		return
	}
	t := g.randomType(1)
	i := g.n(6)
	forms := []string{
		fmt.Sprintf("var p *struct{ a, b %s }; _ = p.b", t.name),
		fmt.Sprintf("s := make([]%s, %d); n := %d; _ = s[n]", t.name, i, i+g.n(3)),
		fmt.Sprintf("s := make([]%s, %d); n := %d; _ = s[n:]", t.name, i, i+g.n(3)),
		fmt.Sprintf("s := make([]%s, %d); n, m := %d, %d; _ = s[n:m]", t.name, i, g.n(4), g.n(4)),
		fmt.Sprintf("s := make([]%s, %d); n := %d; _ = [4]%s(s[:n])", t.name, i, g.n(i+1), t.name),
		"x, y := 1, 0; _ = x / y",
		fmt.Sprintf("var m map[string]%s; m[\"a\"] = %s", t.name, g.plain(t, 1)),
		fmt.Sprintf("var x any = %s; _ = x.(error)", g.plain(g.valueType(), 1)),
		fmt.Sprintf("var x any = %s; _ = x.(%s)", g.plain(g.valueType(), 1), t.name),
		fmt.Sprintf("var x any; _ = x.(%s)", t.name),
		"x, y := any([]int{1}), any([]int{1}); _ = x == y",
		"m := map[any]int{}; var k any = func() {}; m[k] = 1",
		"n := -1; _ = make([]int, n)",
		"n := -1; _ = 1 << n",
		"var f func(int) int; _ = f(1)",
		"var c chan int; close(c)",
		"c := make(chan int); close(c); close(c)",
		"var e error; _ = e.Error()",
		"s := \"abc\"; n := 5; _ = s[n]",
		"s := \"abc\"; n := 2; m := 1; _ = s[n:m]",
	}
	g.called("func()", "()", func() {
		g.line("defer caught(%d)", g.n(100))
		g.line("%s", pick(g, forms))
	})
}

// pulled turns an iterator around.
func (g *gen) pulled() {
	if g.fn.quiet {
		return
	}
	next, stop := g.fresh("n"), g.fresh("s")
	g.line("%s, %s := iter.Pull2(each(%s))", next, stop, g.value(sliceOf(g.valueType())))
	g.block(fmt.Sprintf("for range %d", g.n(4)), func() {
		g.line("i, v, ok := %s(); show(i, v); show(1, ok)", next)
	})
	g.line("%s()", stop)
}

// list builds a recursive structure.
func (g *gen) list() {
	if g.fn.quiet {
		return
	}
	t := g.valueType()
	node, head := g.fresh("node"), g.fresh("h")
	g.line("type %s struct { v %s; next *%s }", node, t.name, node)
	g.line("var %s *%s", head, node)
	g.block(fmt.Sprintf("for range %d", g.n(4)), func() { g.line("%s = &%s{%s, %s}", head, node, g.value(t), head) })
	g.block(fmt.Sprintf("for n := %s; n != nil; n = n.next", head), func() { g.line("show(%d, n.v)", g.n(100)) })
}
