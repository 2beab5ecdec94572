package progen

import (
	"fmt"
	"strings"
)

type kind int

const (
	boolean kind = iota
	integer
	float
	complexNumber
	text
	slice
	array
	mapping
	structure
	pointer
	function
	iface
)

// typ is a type of the program. Types are equal when they are written alike.
type typ struct {
	kind      kind
	name      string // as it is written
	bits      int    // of numbers
	signed    bool
	open      bool // a type parameter: its size is not known
	elem, key *typ
	length    int
	fields    []field
	params    []*typ
	result    *typ
	named     bool
	values    []*fun // methods of the value
	pointers  []*fun // methods of the pointer alone
	makers    []*typ // what implements an interface
}

type field struct {
	name     string
	typ      *typ
	embedded bool
}

// fun is a function or method of the program.
type fun struct {
	name   string
	params []*typ
	result *typ
	recv   *typ
	pure   bool // it changes nothing that its caller sees
}

var basics, numbers, integers, floats []*typ

func init() {
	for _, bits := range []int{0, 8, 16, 32, 64} {
		for _, signed := range []bool{true, false} {
			t := &typ{kind: integer, name: "int", bits: bits, signed: signed}
			if !signed {
				t.name = "uint"
			}
			if bits > 0 {
				t.name += fmt.Sprint(bits)
			} else {
				t.bits = 64
			}
			integers = append(integers, t)
		}
	}
	float32s, float64s := &typ{kind: float, name: "float32", bits: 32}, &typ{kind: float, name: "float64", bits: 64}
	floats = []*typ{float32s, float64s}
	numbers = append(append(numbers, integers...), floats...)
	basics = append(append(basics, numbers...), boolType, stringType,
		&typ{kind: complexNumber, name: "complex128", bits: 128, elem: float64s},
		&typ{kind: complexNumber, name: "complex64", bits: 64, elem: float32s})
}

var (
	boolType   = &typ{kind: boolean, name: "bool"}
	stringType = &typ{kind: text, name: "string"}
	anyType    = &typ{kind: iface, name: "any"}
	runeType   = &typ{kind: integer, name: "int32", bits: 32, signed: true}
	intType    = &typ{kind: integer, name: "int", bits: 64, signed: true}
)

func sliceOf(t *typ) *typ { return &typ{kind: slice, name: "[]" + t.name, elem: t} }
func arrayOf(n int, t *typ) *typ {
	return &typ{kind: array, name: fmt.Sprintf("[%d]%s", n, t.name), elem: t, length: n}
}
func mapOf(k, v *typ) *typ {
	return &typ{kind: mapping, name: "map[" + k.name + "]" + v.name, key: k, elem: v}
}
func pointerTo(t *typ) *typ { return &typ{kind: pointer, name: "*" + t.name, elem: t} }

func funcOf(params []*typ, result *typ) *typ {
	return &typ{kind: function, name: "func(" + names(params) + ") " + result.name, params: params, result: result}
}

func names(list []*typ) string {
	var parts []string
	for _, t := range list {
		parts = append(parts, t.name)
	}
	return strings.Join(parts, ", ")
}

// same reports whether two types are identical.
func same(a, b *typ) bool { return a.name == b.name }

// comparable reports whether == is allowed and cannot panic.
func (t *typ) comparable() bool {
	switch t.kind {
	case slice, mapping, function, iface:
		return false
	case array:
		return t.elem.comparable()
	case structure:
		for _, f := range t.fields {
			if !f.typ.comparable() {
				return false
			}
		}
	}
	return true
}

// printable reports whether fmt shows no address.
func (t *typ) printable() bool {
	switch t.kind {
	case pointer, function:
		return false
	case slice, array, mapping:
		return t.elem.printable()
	case structure:
		for _, f := range t.fields {
			if !f.typ.printable() {
				return false
			}
		}
	}
	return true
}

// holdsInterface reports whether a type has an interface in it, or behind it.
func (t *typ) holdsInterface() bool {
	switch t.kind {
	case iface:
		return true
	case slice, array, mapping, pointer:
		return t.elem.holdsInterface()
	case function:
		return t.result.holdsInterface()
	case structure:
		for _, f := range t.fields {
			if f.typ.holdsInterface() {
				return true
			}
		}
	}
	return false
}

// isKey reports whether maps with keys of a type are shown in a fixed order.
func (t *typ) isKey() bool {
	switch t.kind {
	case boolean, integer, text:
		return true
	case array:
		return t.elem.isKey()
	case structure:
		for _, f := range t.fields {
			if !f.typ.isKey() {
				return false
			}
		}
		return true
	}
	return false
}

// randomType chooses a type, nested at most depth deep.
func (g *gen) randomType(depth int) *typ {
	if depth <= 0 || g.chance(45) {
		if len(g.named) > 0 && g.chance(35) {
			return pick(g, g.named)
		}
		return pick(g, basics)
	}
	switch g.n(8) {
	case 0, 1:
		return sliceOf(g.randomType(depth - 1))
	case 2:
		if e := g.randomType(depth - 1); hasZero(e) {
			return arrayOf(1+g.n(4), e)
		}
	case 3:
		return mapOf(g.keyType(), g.randomType(depth-1))
	case 4:
		return pointerTo(g.randomType(depth - 1))
	case 5:
		return funcOf(g.someTypes(2, depth-1), g.randomType(depth-1))
	case 6:
		return g.structOf(depth - 1)
	}
	if len(g.ifaces) > 0 && g.chance(60) {
		return pick(g, g.ifaces)
	}
	return anyType
}

// valueType is a type without pointers, functions and interfaces.
func (g *gen) valueType() *typ {
	for {
		if t := g.randomType(2); t.printable() && t.kind != iface {
			return t
		}
	}
}

func (g *gen) keyType() *typ {
	for {
		t := pick(g, basics)
		if len(g.named) > 0 && g.chance(30) {
			t = pick(g, g.named)
		}
		if t.isKey() {
			return t
		}
	}
}

func (g *gen) someTypes(most, depth int) []*typ {
	list := make([]*typ, g.n(most+1))
	for i := range list {
		list[i] = g.randomType(depth)
	}
	return list
}

// structOf is a struct type without a name.
func (g *gen) structOf(depth int) *typ {
	t := &typ{kind: structure}
	var parts []string
	for i := range 1 + g.n(3) {
		f := field{name: string(rune('a' + i)), typ: g.randomType(depth)}
		t.fields = append(t.fields, f)
		parts = append(parts, f.name+" "+f.typ.name)
	}
	t.name = "struct{ " + strings.Join(parts, "; ") + " }"
	return t
}
