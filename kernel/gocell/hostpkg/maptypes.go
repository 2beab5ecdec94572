package hostpkg

import (
	"encoding"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"reflect"

	"forgekernel/display"
)

// lookedFor lists the functions that take `any` and look for methods on it,
// with the interfaces they look for, in their order of precedence. An
// interpreted type has no methods that reflection could find, so the engine
// wraps an argument of such a function in the first interface it implements.
// Own packages need no entry: every function of theirs that takes `any` is
// taken to print or show it.
var lookedFor = []struct {
	functions  []any
	interfaces []reflect.Type
}{
	{
		[]any{
			fmt.Append, fmt.Appendf, fmt.Appendln, fmt.Errorf,
			fmt.Fprint, fmt.Fprintf, fmt.Fprintln,
			fmt.Print, fmt.Printf, fmt.Println,
			fmt.Sprint, fmt.Sprintf, fmt.Sprintln,
			log.Fatal, log.Fatalf, log.Fatalln,
			log.Panic, log.Panicf, log.Panicln,
			log.Print, log.Printf, log.Println,
		},
		printed,
	},
	{
		[]any{
			fmt.Fscan, fmt.Fscanf, fmt.Fscanln,
			fmt.Scan, fmt.Scanf, fmt.Scanln,
			fmt.Sscan, fmt.Sscanf, fmt.Sscanln,
		},
		[]reflect.Type{reflect.TypeFor[fmt.Scanner]()},
	},
	{
		[]any{json.Marshal, json.MarshalIndent},
		[]reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()},
	},
	{
		[]any{json.Unmarshal},
		[]reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()},
	},
	{
		[]any{xml.Marshal, xml.MarshalIndent},
		[]reflect.Type{reflect.TypeFor[xml.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()},
	},
	{
		[]any{xml.Unmarshal},
		[]reflect.Type{reflect.TypeFor[xml.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()},
	},
}

var (
	printed = []reflect.Type{
		reflect.TypeFor[fmt.Formatter](),
		reflect.TypeFor[error](),
		reflect.TypeFor[fmt.Stringer](),
	}
	shown = append([]reflect.Type{reflect.TypeFor[display.Displayer]()}, printed...)
)

// addMapTypes adds the functions above, and those of our own packages that are
// in the tables, to the tables in the form that yaegi's Use takes.
func addMapTypes(tables map[string]map[string]reflect.Value) {
	m := map[reflect.Value][]reflect.Type{}
	for _, l := range lookedFor {
		for _, f := range l.functions {
			m[reflect.ValueOf(f)] = l.interfaces
		}
	}
	for key, symbols := range tables {
		if !isOwn(key) {
			continue
		}
		for _, v := range symbols {
			if takesAny(v.Type()) {
				m[v] = shown
			}
		}
	}
	tables["."] = map[string]reflect.Value{"MapTypes": reflect.ValueOf(m)}
}

func takesAny(t reflect.Type) bool {
	if t.Kind() != reflect.Func {
		return false
	}
	for in := range t.Ins() {
		if in == reflect.TypeFor[any]() || in == reflect.TypeFor[[]any]() {
			return true
		}
	}
	return false
}
