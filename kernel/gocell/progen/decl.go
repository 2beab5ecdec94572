package progen

import (
	"fmt"
	"strings"
)

// program writes all declarations and the statements of the main function.
func (g *gen) program() {
	for range g.n(4) {
		g.piece(g.declareType)
	}
	for range g.n(2) {
		g.piece(g.declareInterface)
	}
	for range g.n(3) {
		g.piece(g.declareGeneric)
	}
	for range 1 + g.n(3) {
		g.piece(g.declareFunc)
	}
	var globals []variable
	g.fn = &body{pure: true, quiet: true}
	for range g.n(4) {
		t := g.valueType()
		name := g.global("g")
		g.piece(func() { g.line("var %s %s = %s", name, t.name, g.plain(t, 2)) })
		globals = append(globals, variable{name: name, typ: t})
	}
	g.mainBody(globals)
	g.pieces = append(g.pieces, g.late...)
}

// piece writes a declaration, with all that its templates declare.
func (g *gen) piece(declare func()) {
	if text := g.capture(declare); text != "" {
		g.pieces = append(g.pieces, text+strings.Join(g.late, ""))
	}
	g.late = nil
}

// mainBody writes statements that may stand in cells of their own, the last of
// which show all that there is.
func (g *gen) mainBody(globals []variable) {
	g.inner++
	g.fn, g.vars = &body{main: true}, globals
	for g.size > 0 {
		g.size--
		g.main = append(g.main, g.capture(func() { g.statement() }))
	}
	for _, v := range g.vars {
		if v.typ.printable() {
			g.main = append(g.main, fmt.Sprintf("\tshow(%d, %s)\n", g.n(1000), v.name))
		}
	}
	g.inner--
}

// declareType declares a type with methods.
func (g *gen) declareType() {
	t := &typ{name: g.global("T"), named: true}
	switch g.n(4) {
	case 0:
		u := pick(g, integers)
		t.kind, t.bits, t.signed = integer, u.bits, u.signed
		g.line("type %s %s", t.name, u.name)
	case 1:
		u := pick(g, []*typ{sliceOf(g.randomType(0)), arrayOf(1+g.n(3), pick(g, basics)), mapOf(g.keyType(), g.randomType(0))})
		t.kind, t.elem, t.key, t.length = u.kind, u.elem, u.key, u.length
		g.line("type %s %s", t.name, u.name)
	default:
		g.declareStruct(t)
	}
	g.named = append(g.named, t)
	for range g.n(3) {
		g.declareMethod(t, false)
	}
	if g.chance(50) {
		g.declareMethod(t, true)
	}
	if g.chance(25) {
		g.line("func (x %s) String() string { return fmt.Sprintf(\"<%s %%d>\", %d) }", t.name, t.name, g.n(100))
	}
}

// declareStruct may embed earlier structs, whose fields are promoted.
func (g *gen) declareStruct(t *typ) {
	t.kind = structure
	var lines []string
	seen := map[string]bool{}
	for _, e := range g.named {
		if g.chance(30) && e.kind == structure {
			t.fields = append(t.fields, field{e.name, e, true})
			lines = append(lines, e.name)
			for _, f := range e.fields {
				seen[f.name] = true
			}
		}
	}
	for range 1 + g.n(4) {
		f := field{name: g.fresh("F"), typ: g.randomType(1)}
		if g.chance(50) {
			f.name = strings.ToLower(f.name)
		}
		t.fields = append(t.fields, f)
		line := f.name + " " + f.typ.name
		if g.chance(20) {
			line += fmt.Sprintf(" `json:\"%s\"`", f.name)
		}
		lines = append(lines, line)
	}
	g.line("type %s struct { %s }", t.name, strings.Join(lines, "; "))
}

func (g *gen) declareMethod(t *typ, change bool) {
	m := &fun{name: g.fresh("M"), params: g.someTypes(2, 1), result: g.randomType(1), recv: t, pure: !change}
	recv := variable{name: "recv", typ: t, local: true}
	star := ""
	if change {
		star = "*"
		recv.typ = pointerTo(t)
	}
	g.declareBody(fmt.Sprintf("func (recv %s%s) %s", star, t.name, m.name), m, recv)
	if change {
		t.pointers = append(t.pointers, m)
		return
	}
	t.values = append(t.values, m)
	g.funcs = append(g.funcs, m)
}

// declareInterface declares one that the types with a certain method have.
func (g *gen) declareInterface() {
	var list []*typ
	for _, t := range g.named {
		if len(t.values) > 0 && t.printable() {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return
	}
	maker := pick(g, list)
	m := pick(g, maker.values)
	t := &typ{kind: iface, name: g.global("I"), makers: []*typ{maker}}
	for _, other := range g.named {
		if other.embedsOnly(maker) { // its method is promoted
			t.makers = append(t.makers, other)
			continue
		}
		if other != maker && other.printable() {
			g.line("func (x %s) %s(%s) %s { return *new(%s) }", other.name, m.name, blanks(m.params), m.result.name, m.result.name)
			if !hasZero(m.result) { // it would be nil where values are not
				continue
			}
			t.makers = append(t.makers, other)
		}
	}
	g.line("type %s interface { %s(%s) %s }", t.name, m.name, names(m.params), m.result.name)
	g.ifaces = append(g.ifaces, t)
	g.funcs = append(g.funcs, &fun{name: m.name, params: m.params, result: m.result, recv: t, pure: true})
}

// embedsOnly reports whether t is a struct whose one embedded field is of type e.
func (t *typ) embedsOnly(e *typ) bool {
	n, found := 0, false
	for _, f := range t.fields {
		if f.embedded {
			n++
			found = found || f.typ == e
		}
	}
	return n == 1 && found && t.printable()
}

func blanks(params []*typ) string {
	var parts []string
	for _, p := range params {
		parts = append(parts, "_ "+p.name)
	}
	return strings.Join(parts, ", ")
}

// hasZero reports whether the zero value of a type is as good as any: pointers and
// functions are used without a look at nil.
func hasZero(t *typ) bool {
	switch t.kind {
	case pointer, function, iface, mapping:
		return false
	case array:
		return hasZero(t.elem)
	case structure:
		for _, f := range t.fields {
			if !hasZero(f.typ) {
				return false
			}
		}
	}
	return true
}

func (g *gen) declareFunc() {
	f := &fun{name: g.global("f"), params: g.someTypes(3, 1), result: g.randomType(1), pure: true}
	g.declareBody("func "+f.name, f)
	g.funcs = append(g.funcs, f)
}

// declareBody writes a function with its body.
func (g *gen) declareBody(head string, f *fun, vars ...variable) {
	var params []string
	for i, p := range f.params {
		v := variable{name: fmt.Sprintf("p%d", i), typ: p, local: true}
		params = append(params, v.name+" "+p.name)
		vars = append(vars, v)
	}
	b := &body{result: f.result, pure: f.pure}
	result := f.result.name
	if g.chance(40) && hasZero(f.result) {
		b.ret = "ret"
		result = "(ret " + result + ")"
		vars = append(vars, variable{name: "ret", typ: f.result, local: true})
	}
	g.within(b, false, func() {
		g.vars = vars
		g.block(fmt.Sprintf("%s(%s) %s", head, strings.Join(params, ", "), result), func() {
			g.line("step()")
			if !g.statements(5) {
				g.returnStmt()
			}
		})
	})
}

// generic is a function of two numbers of one type.
type generic struct{ name string }

// declareGeneric declares a generic function, type or both.
func (g *gen) declareGeneric() {
	switch g.n(3) {
	case 0:
		name := g.global("G")
		t := &typ{kind: integer, name: "T", open: true, bits: 8}
		constraint := "~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64"
		g.arith = append(g.arith, generic{name})
		g.within(&body{result: t, pure: true}, false, func() {
			g.vars = []variable{{name: "a", typ: t, local: true}, {name: "b", typ: t, local: true}}
			outer := g.named
			g.named = nil
			g.block(fmt.Sprintf("func %s[T %s](a, b T) T", name, constraint), func() {
				g.line("step()")
				g.line("for i := range %d { a, b = %s, a; _ = i }", g.n(4), g.plain(t, 2))
				g.line("return %s", g.plain(t, 3))
			})
			g.named = outer
		})
	case 1:
		g.declareStack()
	case 2:
		name := g.global("Map")
		g.line("func %s[S ~[]E, E, R any](s S, f func(E) R) (out []R) { for i, e := range s { _ = i; out = append(out[:len(out):len(out)], f(e)) }; return out }", name)
		a, b := g.valueType(), g.valueType()
		f := &fun{name: name, params: []*typ{sliceOf(a), funcOf([]*typ{a}, b)}, result: sliceOf(b), pure: true}
		g.funcs = append(g.funcs, f)
	}
}

// declareStack declares a generic type with methods.
func (g *gen) declareStack() {
	name := g.global("Stack")
	g.line("type %s[T any] struct { items []T; n int }", name)
	g.line("func (s *%s[T]) Push(v T) *%s[T] { s.items = append(s.items[:len(s.items):len(s.items)], v); s.n++; return s }", name, name)
	g.line("func (s %s[T]) Each(yield func(int, T) bool) { for i, v := range s.items { if !yield(i, v) { return } } }", name)
	g.line("func (s %s[T]) Len() int { return len(s.items)*10 + s.n }", name)
	a := g.valueType()
	f := g.global("f")
	g.line("func %s(p0 %s) int { step(); var s %s[%s]; s.Push(p0).Push(p0); for i, v := range s.Each { show(i, v) }; show(1, s); return s.Len() }", f, a.name, name, a.name)
	g.funcs = append(g.funcs, &fun{name: f, params: []*typ{a}, result: intType, pure: true})
}
