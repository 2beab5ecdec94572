package display

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Limits of a value in Go syntax. What is left out is counted in its place.
const (
	syntaxWidth  = 80     // columns before a value is broken into lines
	syntaxItems  = 200    // elements of one array, slice or map
	syntaxDepth  = 8      // levels of composite values
	syntaxTotal  = 4000   // values in all
	syntaxString = 10_000 // bytes of one string
)

// goSyntax writes v as a Go expression, as far as Go has one: a value with a
// String method reads as that, a function or channel as its type.
func goSyntax(v any) string {
	if v == nil {
		return "nil"
	}
	p := printer{left: syntaxTotal}
	var b strings.Builder
	p.expression(reflect.ValueOf(v), typed, 0).write(&b, 0)
	return b.String()
}

// expr is an expression: a text, or items between the text and a close.
type expr struct {
	text   string
	items  []expr
	close  string
	width  int  // on one line
	leaves bool // no item has items, so several go on a line
}

func atom(s string) expr { return expr{text: s, width: utf8.RuneCountInString(s)} }

func composite(open string, items []expr) expr {
	e := expr{text: open + "{", items: items, close: "}", leaves: true}
	e.width = len(open) + 2
	for _, item := range items {
		e.width += item.width + 2
		e.leaves = e.leaves && item.items == nil
	}
	return e
}

// prefixed puts a key or an operator in front of e.
func (e expr) prefixed(s string) expr {
	e.text = s + e.text
	e.width += utf8.RuneCountInString(s)
	return e
}

// write breaks e into lines if it does not fit on one; indent is in tabs.
func (e expr) write(b *strings.Builder, indent int) {
	const tab = 4
	if len(e.items) == 0 || e.width+tab*indent <= syntaxWidth {
		e.line(b)
		return
	}
	b.WriteString(e.text)
	margin := "\n" + strings.Repeat(" ", tab*(indent+1))
	column := syntaxWidth // makes the first item start a line
	for _, item := range e.items {
		if !e.leaves || column+item.width+2 > syntaxWidth {
			b.WriteString(margin)
			column = tab * (indent + 1)
		} else {
			b.WriteByte(' ')
		}
		item.write(b, indent+1)
		b.WriteByte(',')
		column += item.width + 2
	}
	b.WriteString(margin[:len(margin)-tab] + e.close)
}

// line writes e on one line.
func (e expr) line(b *strings.Builder) {
	b.WriteString(e.text)
	for i, item := range e.items {
		if i > 0 {
			b.WriteString(", ")
		}
		item.line(b)
	}
	b.WriteString(e.close)
}

// setting says whether the type of a value is clear from where it stands.
type setting uint8

const (
	typed   setting = iota // it stands alone; plain constants speak for themselves
	dynamic                // it stands in an interface
	elided                 // an element or field of a known type
)

type printer struct {
	left    int // values that may still be printed
	visited []uintptr
}

func (p *printer) expression(v reflect.Value, c setting, depth int) expr {
	if p.left--; p.left < 0 {
		return atom("...")
	}
	if s, ok := ownText(v); ok {
		return atom(s)
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return atom("nil")
		}
		return p.expression(v.Elem(), dynamic, depth)
	case reflect.Pointer:
		return p.pointer(v, depth)
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return p.composite(v, c, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if v.IsNil() {
			return atom("nil")
		}
		return atom(typeName(v.Type()))
	}
	return atom(basic(v, c))
}

// ownText is what a value says of itself.
func ownText(v reflect.Value) (string, bool) {
	if !v.CanInterface() || v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	switch x := v.Interface().(type) {
	case error, fmt.Stringer:
		return fmt.Sprint(x), true
	}
	return "", false
}

func (p *printer) pointer(v reflect.Value, depth int) expr {
	if v.IsNil() {
		return atom("nil")
	}
	if slices.Contains(p.visited, v.Pointer()) || depth >= syntaxDepth {
		return atom("&" + typeName(v.Type().Elem()) + "{...}")
	}
	p.visited = append(p.visited, v.Pointer())
	defer func() { p.visited = p.visited[:len(p.visited)-1] }()
	return p.expression(v.Elem(), typed, depth+1).prefixed("&")
}

func (p *printer) composite(v reflect.Value, c setting, depth int) expr {
	t := v.Type()
	name := typeName(t)
	if c == elided || t.Kind() == reflect.Struct && t.Name() == "" {
		name = ""
	}
	if (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.IsNil() {
		if c == elided {
			return atom("nil")
		}
		return atom(name + "(nil)")
	}
	if depth >= syntaxDepth {
		return atom(name + "{...}")
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return p.bytes(v.Bytes(), name)
	}
	switch v.Kind() {
	case reflect.Struct:
		return composite(name, p.fields(v, depth))
	case reflect.Map:
		return composite(name, p.entries(v, depth))
	}
	return composite(name, p.elements(v, depth))
}

// bytes shows text as text and other bytes in hexadecimal.
func (p *printer) bytes(b []byte, name string) expr {
	if len(b) > 0 && len(b) <= syntaxString && printable(b) {
		return atom(name + "(" + strconv.Quote(string(b)) + ")")
	}
	var items []expr
	for i, x := range b {
		if i == syntaxItems {
			return composite(name, append(items, more(len(b)-i)))
		}
		items = append(items, atom(fmt.Sprintf("0x%02x", x)))
	}
	return composite(name, items)
}

func printable(b []byte) bool {
	for _, r := range string(b) {
		if r == utf8.RuneError || !strconv.IsPrint(r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

func more(n int) expr { return atom(fmt.Sprintf("... %d more", n)) }

func (p *printer) fields(v reflect.Value, depth int) []expr {
	var items []expr
	v = addressable(v)
	for i := range v.NumField() {
		f := p.expression(field(v, i), elidedUnlessNamed(v.Field(i).Type()), depth+1)
		items = append(items, f.prefixed(v.Type().Field(i).Name+": "))
	}
	return items
}

// addressable is a struct whose fields have addresses, if only in a copy of it.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() || !v.CanInterface() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// field is a field of a struct. Those of types of cells are all as if they were
// exported: whoever declares a type may ask the values in it how they read.
func field(v reflect.Value, i int) reflect.Value {
	f := v.Type().Field(i)
	if f.IsExported() || f.PkgPath != "main" || !v.CanAddr() {
		return v.Field(i)
	}
	return reflect.NewAt(f.Type, unsafe.Pointer(v.Field(i).UnsafeAddr())).Elem()
}

// elidedUnlessNamed is the setting of a struct field, where Go elides no type
// of a composite value.
func elidedUnlessNamed(t reflect.Type) setting {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return typed
	}
	return elided
}

func (p *printer) elements(v reflect.Value, depth int) []expr {
	var items []expr
	for i := range v.Len() {
		if i == syntaxItems {
			return append(items, more(v.Len()-i))
		}
		items = append(items, p.expression(v.Index(i), elided, depth+1))
	}
	return items
}

func (p *printer) entries(v reflect.Value, depth int) []expr {
	var list [][2]reflect.Value // a key that is NaN finds no value
	for it := v.MapRange(); it.Next(); {
		list = append(list, [2]reflect.Value{it.Key(), it.Value()})
	}
	slices.SortFunc(list, func(a, b [2]reflect.Value) int { return compareKeys(a[0], b[0]) })
	var items []expr
	for i, e := range list {
		if i == syntaxItems {
			return append(items, more(len(list)-i))
		}
		var key strings.Builder
		p.expression(e[0], elided, depth+1).write(&key, 0)
		items = append(items, p.expression(e[1], elided, depth+1).prefixed(key.String()+": "))
	}
	return items
}

// compareKeys orders map keys by value where their kind has an order, so that
// a map always reads the same.
func compareKeys(a, b reflect.Value) int {
	for a.Kind() == reflect.Interface && !a.IsNil() {
		a = a.Elem()
	}
	for b.Kind() == reflect.Interface && !b.IsNil() {
		b = b.Elem()
	}
	switch {
	case a.Kind() != b.Kind():
		return cmp.Compare(a.Kind(), b.Kind())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func typeName(t reflect.Type) string {
	s := strings.ReplaceAll(t.String(), "interface {}", "any")
	return strings.ReplaceAll(s, "[]uint8", "[]byte")
}

// basic writes a number, string or boolean. In an interface the type of a
// constant is named where the constant alone would get another one.
func basic(v reflect.Value, c setting) string {
	var s string
	natural := false
	switch {
	case v.Kind() == reflect.String:
		s, natural = quote(v.String()), v.Type() == reflect.TypeFor[string]()
	case v.Kind() == reflect.Bool:
		s, natural = strconv.FormatBool(v.Bool()), v.Type() == reflect.TypeFor[bool]()
	case v.CanInt():
		s, natural = strconv.FormatInt(v.Int(), 10), v.Type() == reflect.TypeFor[int]()
	case v.CanUint():
		s = strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		s, natural = strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()), v.Type() == reflect.TypeFor[float64]()
		if c == dynamic && natural && !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
	default:
		s, natural = fmt.Sprint(v), true // complex numbers
	}
	if c == dynamic && !natural {
		return typeName(v.Type()) + "(" + s + ")"
	}
	return s
}

func quote(s string) string {
	if extra := len(s) - syntaxString; extra > 0 {
		return strconv.Quote(strings.ToValidUTF8(s[:syntaxString], "")) + fmt.Sprintf(" ... %d bytes more", extra)
	}
	return strconv.Quote(s)
}
