package progen

import (
	"fmt"
	"strings"
)

func (g *gen) condition(t *typ, depth int) ex {
	switch g.n(5) {
	case 0:
		return dynamic("%s(!%s)", t.name, g.expr(boolType, depth).s)
	case 1:
		return dynamic("%s(%s %s %s)", t.name, g.expr(boolType, depth).s, pick(g, []string{"&&", "||"}), g.expr(boolType, depth).s)
	case 2: // values of any comparable type
		for range 5 {
			if x := g.randomType(1); x.comparable() {
				return dynamic("%s(%s %s %s)", t.name, g.comparand(x, depth), pick(g, []string{"==", "!="}), g.comparand(x, depth))
			}
		}
	case 3:
		if name, ok := g.variable(anyType, false); ok {
			return dynamic("func() %s { _, ok := %s.(%s); return %s(ok) }()", t.name, name, g.randomType(1).name, t.name)
		}
	}
	x := pick(g, append(numbers, stringType))
	op := pick(g, []string{"<", "<=", ">", ">=", "==", "!="})
	return dynamic("%s(%s %s %s)", t.name, g.nonConstant(x, depth), op, g.expr(x, depth).s)
}

// comparand writes composite literals with parentheses, as conditions need.
func (g *gen) comparand(t *typ, depth int) string { return "(" + g.nonConstant(t, depth) + ")" }

func (g *gen) number(t *typ, depth int) ex {
	if t.kind == integer {
		switch g.n(12) {
		case 0, 1:
			return g.shift(t, depth)
		case 2:
			return dynamic("(%s %s (%s | 1))", g.nonConstant(t, depth), pick(g, []string{"/", "%"}), g.nonConstant(t, depth))
		case 3:
			return dynamic("%s(len(%s))", t.name, g.measured(depth))
		case 4:
			return dynamic("(^%s)", g.nonConstant(t, depth))
		case 5:
			return dynamic("(%s %s %s)", g.nonConstant(t, depth), pick(g, []string{"&", "|", "^", "&^"}), g.expr(t, depth).s)
		}
	}
	switch g.n(9) {
	case 0:
		return dynamic("(-%s)", g.nonConstant(t, depth))
	case 1, 2:
		return g.convert(t, depth)
	case 3:
		return dynamic("%s(%s, %s)", pick(g, []string{"min", "max"}), g.nonConstant(t, depth), g.expr(t, depth).s)
	case 4:
		if len(g.arith) > 0 && t.kind == integer && !t.open && g.calls {
			return dynamic("%s(%s, %s)", pick(g, g.arith).name, g.nonConstant(t, depth), g.nonConstant(t, depth))
		}
	case 5:
		if t.kind == float {
			if t.bits == 32 && !t.named {
				return dynamic("%s(%s)", pick(g, []string{"real", "imag"}), g.nonConstant(basics[len(basics)-1], depth))
			}
			return dynamic("(%s / %s)", g.nonConstant(t, depth), g.nonConstant(t, depth))
		}
	}
	return dynamic("(%s %s %s)", g.nonConstant(t, depth), pick(g, []string{"+", "-", "*"}), g.expr(t, depth).s)
}

func (g *gen) shift(t *typ, depth int) ex {
	count := fmt.Sprint(g.n(70))
	if g.chance(60) {
		u := pick(g, integers)
		count = g.nonConstant(u, depth)
		if u.signed {
			count = "(" + count + " & 127 & 0x3f)"
		}
	}
	return dynamic("(%s %s %s)", g.nonConstant(t, depth), pick(g, []string{"<<", ">>"}), count)
}

// convert makes a number from one of another type.
func (g *gen) convert(t *typ, depth int) ex {
	from := pick(g, numbers)
	if len(g.named) > 0 && g.chance(30) {
		if n := pick(g, g.named); n.kind == integer {
			from = n
		}
	}
	x := g.nonConstant(from, depth)
	if from.kind == float && t.kind == integer {
		return dynamic("%s(whole(float64(%s)))", t.name, x)
	}
	return dynamic("%s(%s)", t.name, x)
}

// measured is an operand of len.
func (g *gen) measured(depth int) string {
	var list []string
	for _, v := range g.vars {
		switch v.typ.kind {
		case slice, mapping, text: // the length of an array is a constant
			list = append(list, v.name)
		}
	}
	if len(list) > 0 && g.chance(70) {
		return pick(g, list)
	}
	return g.nonConstant(stringType, depth)
}

func (g *gen) complex(t *typ, depth int) ex {
	if g.chance(30) && !t.named {
		return dynamic("complex(%s, %s)", g.nonConstant(t.elem, depth), g.nonConstant(t.elem, depth))
	}
	return dynamic("(%s %s %s)", g.nonConstant(t, depth), pick(g, []string{"+", "-", "*"}), g.expr(t, depth).s)
}

func (g *gen) text(t *typ, depth int) ex {
	switch g.n(7) {
	case 0:
		return dynamic("%s(part(string(%s), %s, %s))", t.name, g.expr(t, depth).s, g.plain(intType, depth), g.plain(intType, depth))
	case 1:
		return dynamic("%s(rune(%s))", t.name, g.nonConstant(integers[g.n(len(integers))], depth))
	case 2:
		return dynamic("%s([]byte(%s))", t.name, g.nonConstant(stringType, depth))
	case 3:
		return dynamic("%s([]rune(%s))", t.name, g.nonConstant(stringType, depth))
	case 4:
		x := pick(g, basics)
		return dynamic("%s(fmt.Sprint(%s))", t.name, g.expr(x, depth).s)
	}
	return dynamic("(%s + %s)", g.nonConstant(t, depth), g.expr(t, depth).s)
}

// slice appends only where it is known whether append moves.
func (g *gen) slice(t *typ, depth int) ex {
	name, ok := g.variable(t, false)
	if !ok {
		return g.composite(t, depth)
	}
	switch g.n(5) {
	case 0:
		return dynamic("append(%s[:len(%s):len(%s)], %s)", name, name, name, g.expr(t.elem, depth).s)
	case 1:
		return dynamic("append(%s{}, %s...)", t.name, name)
	case 2:
		return dynamic("%s[min(%d, len(%s)):]", name, g.n(3), name)
	case 3:
		return dynamic("%s(slices.Clone(%s))", t.name, name)
	}
	return g.composite(t, depth)
}

func (g *gen) iface(t *typ, depth int) ex {
	if t.name != "any" {
		if len(t.makers) == 0 {
			return ex{s: t.name + "(nil)"}
		}
		return dynamic("%s(%s)", t.name, g.expr(pick(g, t.makers), depth).s)
	}
	x := pick(g, basics)
	if depth > 0 { // or values within values need not end
		x = g.valueType()
	}
	return dynamic("any(%s)", g.expr(x, depth-1).s)
}

// pointer is never nil.
func (g *gen) pointer(t *typ, depth int) ex {
	if name, ok := g.variable(t, false); ok && g.chance(50) {
		return ex{s: name}
	}
	if t.elem.kind == structure && g.chance(60) {
		return dynamic("(&%s)", g.composite(t.elem, depth).s)
	}
	if g.chance(30) || t.elem.kind == iface {
		return dynamic("new(%s)", t.elem.name)
	}
	return dynamic("new(%s(%s))", strip(t.elem), g.expr(t.elem, depth).s)
}

// strip writes a type so that it can be called as a conversion.
func strip(t *typ) string {
	if t.kind == pointer || t.kind == function {
		return "(" + t.name + ")"
	}
	return t.name
}

// literalFunc is a function that only computes: one that does more is written
// as a statement.
func (g *gen) literalFunc(t *typ) ex {
	var params []string
	mark := len(g.vars)
	for _, p := range t.params {
		name := g.fresh("a")
		params = append(params, name+" "+p.name)
		g.vars = append(g.vars, variable{name: name, typ: p, local: true})
	}
	apply := g.noApply
	g.noApply = true // functions that call one another through variables need not end
	body := g.plain(t.result, 1)
	g.noApply = apply
	g.vars = g.vars[:mark]
	return dynamic("func(%s) %s { return %s }", strings.Join(params, ", "), t.result.name, body)
}
