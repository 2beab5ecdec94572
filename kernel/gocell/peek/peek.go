// Package peek shows Go values as a debugger does: it reads them through
// reflection and runs none of their methods, which may belong to code that is
// halted. What the fields of a compiled type say to nobody, such as those of a time
// or a matrix, is summed up instead; that runs code of the binary alone.
package peek

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what is shown of one value.
const (
	maxText  = 200 // bytes of Text, about
	maxBrief = 32  // bytes of Brief before no more parts are begun
	maxDepth = 3   // of structs, slices and pointers within one another
	maxItems = 20
)

// Text shows a value on one line. still says that nothing changes values
// meanwhile: only then are maps gone through.
func Text(v reflect.Value, still bool) string { return text(v, still, maxText) }

// Brief is Text for a table, in at most width characters.
func Brief(v reflect.Value, still bool, width int) string {
	s := text(v, still, maxBrief)
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

func text(v reflect.Value, still bool, most int) string {
	p := printer{still: still, most: most}
	p.value(v, 0)
	return p.String()
}

type printer struct {
	strings.Builder
	still bool
	most  int // bytes
}

func (p *printer) full() bool { return p.Len() > p.most }

func (p *printer) value(v reflect.Value, depth int) {
	if !v.IsValid() {
		p.WriteString("nil")
		return
	}
	if s, ok := summary(v); ok {
		p.WriteString(s)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		p.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32:
		p.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 32))
	case reflect.Float64:
		p.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.Complex64, reflect.Complex128:
		fmt.Fprint(p, v.Complex())
	case reflect.String:
		p.quoted(v.String())
	case reflect.Interface:
		p.value(v.Elem(), depth)
	case reflect.Pointer:
		p.pointer(v, depth)
	case reflect.Struct:
		p.structure(v, depth)
	case reflect.Slice, reflect.Array:
		p.list(v, depth)
	case reflect.Map:
		p.mapping(v, depth)
	case reflect.Chan:
		p.channel(v)
	default: // func, unsafe.Pointer
		p.reference(v)
	}
}

func (p *printer) quoted(s string) {
	const least = 8
	n := max(least, p.most-p.Len())
	if len(s) <= n {
		p.WriteString(strconv.Quote(s))
		return
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	fmt.Fprintf(p, "%s… (%d bytes)", strconv.Quote(s[:n]), len(s))
}

func (p *printer) reference(v reflect.Value) {
	if v.IsNil() {
		p.WriteString("nil")
		return
	}
	p.WriteString(TypeName(v.Type()))
}

// channel tells how much of a buffer is filled.
func (p *printer) channel(v reflect.Value) {
	p.reference(v)
	if v.Cap() > 0 {
		fmt.Fprintf(p, " (%d of %d)", v.Len(), v.Cap())
	}
}

func (p *printer) pointer(v reflect.Value, depth int) {
	if v.IsNil() {
		p.WriteString("nil")
		return
	}
	p.WriteByte('&')
	if depth >= maxDepth || p.full() {
		p.WriteString("…")
		return
	}
	p.value(v.Elem(), depth+1)
}

func (p *printer) structure(v reflect.Value, depth int) {
	if name := v.Type().Name(); name != "" {
		p.WriteString(TypeName(v.Type()))
	}
	p.WriteByte('{')
	for i := range v.NumField() {
		if i > 0 {
			p.WriteString(", ")
		}
		if isOpaque(v.Type()) || depth >= maxDepth || p.full() {
			p.WriteString("…")
			break
		}
		p.WriteString(v.Type().Field(i).Name + ": ")
		p.value(v.Field(i), depth+1)
	}
	p.WriteByte('}')
}

// isOpaque reports whether t is a struct of the standard library without exported fields.
func isOpaque(t reflect.Type) bool {
	root, _, _ := strings.Cut(t.PkgPath(), "/")
	if root == "" || root == "main" || root == "forgekernel" || strings.Contains(root, ".") {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

func (p *printer) list(v reflect.Value, depth int) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		p.WriteString("nil")
		return
	}
	p.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			p.WriteString(", ")
		}
		if i == maxItems || depth >= maxDepth || p.full() {
			fmt.Fprintf(p, "… (%d)", v.Len())
			break
		}
		p.value(v.Index(i), depth+1)
	}
	p.WriteByte(']')
}

func (p *printer) mapping(v reflect.Value, depth int) {
	if v.IsNil() {
		p.WriteString("nil")
		return
	}
	if !p.still {
		p.WriteString(TypeName(v.Type()))
		return
	}
	p.WriteString("map[")
	if v.Len() > 0 && (depth >= maxDepth || p.full()) {
		fmt.Fprintf(p, "… (%d)]", v.Len())
		return
	}
	list := someEntries(v, min(maxItems, v.Len()))
	shown := 0
	for ; shown < len(list) && !p.full(); shown++ {
		if shown > 0 {
			p.WriteString(", ")
		}
		p.value(list[shown].key, depth+1)
		p.WriteString(": ")
		p.value(list[shown].value, depth+1)
	}
	if shown < v.Len() {
		fmt.Fprintf(p, ", … (%d)", v.Len())
	}
	p.WriteByte(']')
}

// TypeName names a type as cells do.
func TypeName(t reflect.Type) string {
	return Unqualified(strings.ReplaceAll(t.String(), "interface {}", "any"))
}

// SessionName matches the name of what cells declare, with its package, which people
// never wrote; its group is the name without.
var SessionName = regexp.MustCompile(`\bmain\.(\p{L}[\p{L}\p{N}_]*)`)

// Unqualified is a text with the names of what cells declare as cells have them.
func Unqualified(text string) string { return SessionName.ReplaceAllString(text, "$1") }
