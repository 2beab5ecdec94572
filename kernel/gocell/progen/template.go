package progen

import (
	"fmt"
	"strings"
)

// A template is a construct of the language as Go text with holes, which are
// filled at random. Its declarations go to the package, seen by no one else; its
// text is statements of some function. In both,
//
//	$a       is a fresh name, the same wherever the template has it
//	$@a      is one for the package, shared by declarations and text
//	$T       is a random type of values; $K one that is a map's key, $N an
//	         integer type, $F a floating-point type
//	$(T)     is an expression of a type, which only computes
//	$!(T)    is one that may call functions and panic
//	$#       is a number from 0 to 3
//	$[x$|y$] is x or y
//	$*       is statements of this function
//	$+       is statements of a function literal
type template struct{ declarations, text string }

// templates are those of all sections of the specification.
var templates = [][]template{declared, typed, generics, expressions, conversions, statements, deferred, ranged, concurrent, failures, hosted}

// fromTemplate writes a construct.
func (g *gen) fromTemplate() {
	if g.fn.quiet {
		return
	}
	t := pick(g, pick(g, templates))
	f := &filling{gen: g, names: map[string]string{}, types: map[string]*typ{}}
	if t.declarations != "" {
		g.late = append(g.late, g.capture(func() {
			g.within(&body{quiet: true, pure: true}, false, func() { f.fill(t.declarations + "\n") })
		}))
	}
	g.inner++
	f.fill(t.text)
	g.inner--
	g.line("")
}

// filling is what the holes of one template stand for.
type filling struct {
	*gen
	names map[string]string
	types map[string]*typ
}

func (f *filling) fill(text string) {
	for {
		plain, rest, found := strings.Cut(text, "$")
		f.b.WriteString(plain)
		if !found {
			return
		}
		text = f.hole(rest)
	}
}

// hole fills the hole that text begins with, and returns what is behind it.
func (f *filling) hole(text string) string {
	switch rest := text[1:]; text[0] {
	case '@':
		return f.name("@", rest, f.global)
	case '(':
		t, rest := f.typeOf(rest)
		f.b.WriteString(f.plain(t, 2))
		return rest
	case '!':
		t, rest := f.typeOf(rest[1:])
		f.b.WriteString(f.value(t))
		return rest
	case '#':
		fmt.Fprint(&f.b, f.n(4))
		return rest
	case '[':
		choice, rest, _ := strings.Cut(rest, "$]")
		f.fill(pick(f, strings.Split(choice, "$|")))
		return rest
	case '*':
		f.local(func() { f.gen.statements(3) })
		return rest
	case '+':
		f.local(func() {
			f.within(&body{pure: f.fn.pure}, true, func() { f.gen.statements(3) })
		})
		return rest
	}
	if 'A' <= text[0] && text[0] <= 'Z' {
		f.b.WriteString(f.typ(text[:1]).name)
		return text[1:]
	}
	return f.name("", text, f.fresh)
}

// local keeps what inside declares to itself.
func (f *filling) local(inside func()) {
	mark := len(f.vars)
	f.b.WriteByte('\n')
	inside()
	f.vars = f.vars[:mark]
}

// name writes what text begins with as another name, and returns the rest.
func (f *filling) name(space, text string, fresh func(string) string) string {
	n := 1
	for n < len(text) && 'a' <= text[n] && text[n] <= 'z' {
		n++
	}
	key := space + text[:n]
	if f.names[key] == "" {
		f.names[key] = fresh(text[:n])
	}
	f.b.WriteString(f.names[key])
	return text[n:]
}

func (f *filling) typ(letter string) *typ {
	t := f.types[letter]
	if t == nil {
		switch letter {
		case "K":
			t = f.keyType()
		case "N":
			t = pick(f, integers)
		case "F":
			t = floats[f.n(len(floats))]
		default:
			t = f.valueType()
		}
		f.types[letter] = t
	}
	return t
}

// typeOf reads the type of a hole up to its parenthesis: a letter, slices of
// one, or a basic type.
func (f *filling) typeOf(text string) (*typ, string) {
	name, rest, _ := strings.Cut(text, ")")
	if elem, ok := strings.CutPrefix(name, "[]"); ok {
		t, _ := f.typeOf(elem + ")")
		return sliceOf(t), rest
	}
	for _, t := range basics {
		if t.name == name {
			return t, rest
		}
	}
	return f.typ(name), rest
}
