package display

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Limits of a table that is made of a value.
const (
	recordRows    = 50
	recordColumns = 20
	recordCell    = 80 // characters
	recordParts   = 64 // values within one cell
)

// records is the table of a list of structs or of maps, or of a map to either: a
// row for each, under the names of the fields. What says of itself how it reads is
// no record.
func records(v any) (Table, bool) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
	default:
		return Table{}, false
	}
	t := r.Type().Elem()
	if r.Len() == 0 || hasOwnText(t) {
		return Table{}, false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	rows := recordsOf(r)
	switch {
	case t.Kind() == reflect.Struct && !hasOwnText(t):
		return rows.ofStructs(t)
	case t.Kind() == reflect.Map && r.Type().Elem() == t && t.Key().Kind() == reflect.String:
		return rows.ofMaps()
	}
	return Table{}, false
}

var ownTexts = []reflect.Type{
	reflect.TypeFor[error](), reflect.TypeFor[fmt.Stringer](), reflect.TypeFor[fmt.Formatter](), reflect.TypeFor[Displayer](),
}

// hasOwnText reports whether values of a type, or pointers to them, have a text or a
// display of their own.
func hasOwnText(t reflect.Type) bool {
	return hasText(t) || t.Kind() != reflect.Interface && hasText(reflect.PointerTo(t))
}

func hasText(t reflect.Type) bool { return slices.ContainsFunc(ownTexts, t.Implements) }

// recordList is the first rows of a table, each with its index or key.
type recordList struct {
	keys   []any
	values []reflect.Value
}

func recordsOf(r reflect.Value) recordList {
	var list recordList
	n := min(r.Len(), recordRows)
	if r.Kind() != reflect.Map {
		for i := range n {
			list.keys, list.values = append(list.keys, i), append(list.values, r.Index(i))
		}
		return list
	}
	keys := r.MapKeys()
	slices.SortFunc(keys, compareKeys)
	for _, k := range keys[:n] {
		list.keys, list.values = append(list.keys, recordValue(k)), append(list.values, r.MapIndex(k))
	}
	return list
}

// ofStructs has a column for each field; of compiled packages, for those that
// others see.
func (l recordList) ofStructs(t reflect.Type) (Table, bool) {
	var fields []int
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" && (f.IsExported() || f.PkgPath == "main") {
			fields, names = append(fields, i), append(names, f.Name)
		}
	}
	return l.table(names, func(v reflect.Value, i int) any {
		if v = reflect.Indirect(v); !v.IsValid() {
			return nil
		}
		return recordValue(field(addressable(v), fields[i]))
	})
}

// ofMaps has a column for each key that one of the shown maps has.
func (l recordList) ofMaps() (Table, bool) {
	var names []string
	seen := map[string]bool{}
	for _, v := range l.values {
		for all := v.MapRange(); all.Next(); {
			if name := all.Key().String(); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return l.table(names, func(v reflect.Value, i int) any {
		return recordValue(v.MapIndex(reflect.ValueOf(names[i]).Convert(v.Type().Key())))
	})
}

func (l recordList) table(names []string, cell func(v reflect.Value, i int) any) (Table, bool) {
	if len(names) == 0 {
		return Table{}, false
	}
	t := Table{Columns: []Column{{exact: true}}}
	n := min(len(names), recordColumns)
	for _, name := range names[:n] {
		t.Columns = append(t.Columns, Column{Name: shortened(name), exact: true})
	}
	if more := len(names) - n; more > 0 {
		t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("… %d more", more)})
	}
	for k, v := range l.values {
		row := []any{l.keys[k]}
		for i := range n {
			row = append(row, cell(v, i))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, true
}

// recordValue is what a cell of a table shows of a value: numbers as such, all
// others as a short text.
func recordValue(v reflect.Value) any {
	where := elided
	for v.IsValid() && v.Kind() == reflect.Interface {
		v, where = v.Elem(), dynamic
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	if s, ok := ownText(v); ok {
		return shortened(s)
	}
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.Kind() == reflect.Float32:
		return sameDigits(v.Float())
	case v.Kind() == reflect.Float64:
		return v.Float()
	case v.Kind() == reflect.String:
		return shortened(v.String())
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() > recordParts:
		return fmt.Sprintf("%s (%d)", typeName(v.Type()), v.Len())
	}
	p := printer{left: recordParts}
	var b strings.Builder
	p.expression(v, where, 0).line(&b)
	return shortened(b.String())
}

// sameDigits is the float64 that is written with the digits of a float32.
func sameDigits(x float64) float64 {
	same, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64) // infinities and NaN parse, too
	return same
}

// shortened cuts a text to what has room in a cell.
func shortened(s string) string {
	if len(s) <= recordCell {
		return s
	}
	n, last := 0, 0
	for i := range s {
		if n == recordCell {
			return s[:last] + "…"
		}
		n, last = n+1, i
	}
	return s
}

// withTable adds a table of records to the text of a value.
func withTable(b Bundle, v any) Bundle {
	t, ok := records(v)
	if !ok {
		return b
	}
	g := t.grid()
	if more := reflect.ValueOf(v).Len() - len(t.Rows); more > 0 {
		last := make([]string, len(g.heads))
		last[0] = fmt.Sprintf("… %d more", more)
		g.rows = append(g.rows, last)
	}
	b.Data[mimeHTML], b.Data[mimeLaTeX] = g.html(), g.latex()
	return b
}
