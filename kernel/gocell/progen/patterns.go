package progen

import (
	"fmt"
	"strings"
)

// patterns are forms of several statements that chance alone would not find.
var patterns []func(g *gen)

func init() {
	patterns = []func(g *gen){
		(*gen).protected, (*gen).closures, (*gen).sums, (*gen).aliases, (*gen).workers, (*gen).pipeline,
		(*gen).chosen, (*gen).gotoLoop, (*gen).methodValue, (*gen).copies, (*gen).iterator, (*gen).constants,
		(*gen).mutator, (*gen).bytes, (*gen).nested, (*gen).failing, (*gen).pulled, (*gen).list,
	}
}

// called writes a function literal and calls it.
func (g *gen) called(head, args string, inside func()) {
	g.block(head, inside)
	g.join(args + "\n")
}

// join goes on in the line that just ended.
func (g *gen) join(more string) {
	text := strings.TrimSuffix(g.b.String(), "\n")
	g.b.Reset()
	g.b.WriteString(text + more)
}

// protected runs statements that may panic, and recovers.
func (g *gen) protected() {
	if g.fn.quiet {
		return
	}
	g.called("func()", "()", func() {
		g.line("defer caught(%d)", g.n(1000))
		g.within(&body{pure: g.fn.pure}, true, func() {
			g.statements(4)
			if g.chance(40) {
				t := g.valueType()
				g.line("if (%s) { panic(%s) }", g.value(boolType), g.value(t))
			}
		})
	})
}

// closures share variables and are called in turn.
func (g *gen) closures() {
	if g.fn.quiet {
		return
	}
	name := g.fresh("f")
	g.block(name+" := func()", func() {
		g.within(&body{pure: g.fn.pure}, true, func() { g.statements(3) })
	})
	for range 1 + g.n(2) {
		g.line("%s()", name)
	}
	list := g.fresh("fs")
	g.line("var %s []func() int", list)
	g.block(fmt.Sprintf("for i := 0; i < %d; i++", 1+g.n(4)), func() {
		g.line("j := i * 2")
		g.line("%s = append(%s, func() int { j += i; return j })", list, list)
	})
	g.block("for i, f := range "+list, func() { g.line("show(i, f() + f())") })
}

// sums adds up a map, whose order is open.
func (g *gen) sums() {
	t := mapOf(g.keyType(), pick(g, integers))
	m := g.defineAs(t, g.composite(t, 2).s)
	sum := g.fresh("s")
	g.line("%s := %s(0)", sum, t.elem.name)
	g.block(fmt.Sprintf("for k, v := range %s", m), func() { g.line("_ = k; %s += v * v", sum) })
	g.line("_ = %s", sum)
	if t.key.kind != array && t.key.kind != structure && t.key.kind != boolean && !g.fn.quiet {
		g.block(fmt.Sprintf("for i, k := range slices.Sorted(maps.Keys(%s))", m), func() { g.line("show(i, k)") })
	}
	if !g.fn.quiet {
		g.line("show(%d, %s)", g.n(1000), sum)
	}
}

// aliases share an array with room enough.
func (g *gen) aliases() {
	t := g.randomType(1)
	a, b := g.fresh("s"), g.fresh("s")
	n := 1 + g.n(3)
	g.line("%s := make([]%s, %d, 16)", a, t.name, n)
	g.line("%s := append(%s[:%d], %s)", b, a, g.n(n+1), g.value(t))
	g.line("%s = append(%s, %s, %s)", a, a, g.plain(t, 1), g.plain(t, 1))
	g.line("%s[0] = %s", b, g.plain(t, 1))
	g.line("_ = copy(%s[%d:], %s)", a, g.n(n), b)
	if t.printable() && !g.fn.quiet {
		g.line("show(%d, %s); show(cap(%s), %s[len(%s)-1:cap(%s):16])", g.n(100), a, b, b, b, b)
	}
}

// workers fill their own places.
func (g *gen) workers() {
	t := g.valueType()
	results, wg := g.fresh("w"), g.fresh("wg")
	g.line("var %s sync.WaitGroup", wg)
	g.line("%s := make([]%s, %d)", results, t.name, 1+g.n(4))
	g.block("for i := range "+results, func() {
		g.line("%s.Add(1)", wg)
		g.called("go func()", "()", func() {
			g.line("defer %s.Done()", wg)
			g.within(&body{quiet: true, pure: true}, false, func() {
				g.vars = append(g.vars, variable{name: "i", typ: intType, fixed: true})
				g.statements(3)
				g.line("%s[i] = %s", results, g.plain(t, 2))
			})
		})
	})
	g.line("%s.Wait()", wg)
	if !g.fn.quiet {
		g.line("show(%d, %s)", g.n(1000), results)
	}
}

// pipeline sends values through a channel that is closed behind them.
func (g *gen) pipeline() {
	t := g.valueType()
	in, out := g.fresh("c"), g.fresh("c")
	g.line("%s, %s := make(chan %s%s), make(chan %s)", in, out, t.name, pick(g, []string{"", ", 1", ", 8"}), t.name)
	g.called("go func()", "()", func() {
		g.line("defer close(%s)", in)
		g.within(&body{quiet: true, pure: true}, false, func() {
			for range 1 + g.n(3) {
				g.line("%s <- %s", in, g.plain(t, 2))
			}
		})
	})
	g.line("go func() { defer close(%s); for x := range %s { %s <- x } }()", out, in, out)
	last := g.fresh("x")
	g.line("var %s %s", last, t.name)
	g.block(fmt.Sprintf("for x := range %s", out), func() {
		g.line("%s = x", last)
		if !g.fn.quiet {
			g.line("show(%d, x)", g.n(1000))
		}
	})
	g.line("_ = %s", last)
}

// chosen selects where one case only is ready.
func (g *gen) chosen() {
	if g.fn.quiet {
		return
	}
	t := g.valueType()
	a, b := g.fresh("c"), g.fresh("c")
	g.line("%s, %s := make(chan %s, 1), make(chan int)", a, b, t.name)
	if g.chance(70) {
		g.line("%s <- %s", a, g.value(t))
	}
	if g.chance(20) {
		g.line("close(%s)", a)
	}
	g.line("select {")
	g.line("case x, ok := <-%s: show(1, x); show(2, ok)", a)
	g.line("case x := <-%s: show(3, x)", b)
	g.line("case %s <- 1: show(4, 4)", b)
	g.line("default: show(5, len(%s))", a)
	g.line("}")
}

func (g *gen) gotoLoop() {
	if g.fn.quiet {
		return
	}
	label, i := g.fresh("again"), g.fresh("i")
	g.line("%s := 0", i)
	g.line("%s:", label)
	loops := g.fn.loops
	g.fn.loops = nil
	g.block(fmt.Sprintf("if %s < %d", i, 1+g.n(3)), func() {
		g.line("step()")
		g.line("%s++", i)
		g.statements(3)
		g.line("goto %s", label)
	})
	g.fn.loops = loops
}
