// Package peek shows Go values as a debugger does: it reads them through
// reflection and runs none of their methods, which may belong to code that is
// halted.
package peek

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what Text shows of one value.
const (
	maxText  = 200 // bytes, about
	maxDepth = 3   // of structs, slices and pointers within one another
	maxItems = 20
	// maxSorted bounds the maps whose first entries are looked for.
	maxSorted = 100_000
)

// Text shows a value on one line. still says that nothing changes values
// meanwhile: only then are maps gone through.
func Text(v reflect.Value, still bool) string {
	p := printer{still: still}
	p.value(v, 0)
	return p.String()
}

type printer struct {
	strings.Builder
	still bool
}

func (p *printer) full() bool { return p.Len() > maxText }

func (p *printer) value(v reflect.Value, depth int) {
	if !v.IsValid() {
		p.WriteString("nil")
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
	default: // chan, func, unsafe.Pointer
		p.reference(v)
	}
}

func (p *printer) quoted(s string) {
	if len(s) <= maxText {
		p.WriteString(strconv.Quote(s))
		return
	}
	n := maxText
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
		if depth >= maxDepth || p.full() {
			p.WriteString("…")
			break
		}
		p.WriteString(v.Type().Field(i).Name + ": ")
		p.value(v.Field(i), depth+1)
	}
	p.WriteByte('}')
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
	var list []entry
	if v.Len() <= maxSorted && depth < maxDepth && !p.full() {
		list = entries(v, min(maxItems, v.Len()))
	}
	shown := 0
	for ; shown < len(list) && !p.full(); shown++ {
		if shown > 0 {
			p.WriteString(", ")
		}
		p.value(list[shown].key, depth+1)
		p.WriteString(": ")
		p.value(list[shown].value, depth+1)
	}
	if shown > 0 && shown < v.Len() {
		p.WriteString(", ")
	}
	if shown < v.Len() {
		fmt.Fprintf(p, "… (%d)", v.Len())
	}
	p.WriteByte(']')
}

// TypeName names a type as cells do: their own types have no package.
func TypeName(t reflect.Type) string { return asWritten.Replace(t.String()) }

var asWritten = strings.NewReplacer("main.", "", "interface {}", "any")
