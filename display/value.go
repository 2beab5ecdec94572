package display

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"reflect"
)

// ToBundle returns how v is shown: a [Displayer] as it says, an image as PNG,
// a string as it is, an error or [fmt.Stringer] as its text, and everything
// else in Go syntax, cut where it becomes too long to read. It never guesses
// from contents: bytes are bytes, and a [][]string is no [Table].
func ToBundle(v any) Bundle {
	if isNilPointer(v) {
		return Text(goSyntax(v)) // methods of a nil pointer may not expect it
	}
	if d, ok := asDisplayer(v); ok {
		return d.Display()
	}
	switch v := v.(type) {
	case image.Image:
		return imageBundle(v)
	case string:
		return Text(v)
	case error, fmt.Stringer, fmt.Formatter:
		return Text(fmt.Sprint(v))
	}
	return Text(goSyntax(v))
}

func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// asDisplayer also finds a Display method that is declared on the pointer to
// v's type: a value is not shown otherwise for being a copy.
func asDisplayer(v any) (Displayer, bool) {
	if d, ok := v.(Displayer); ok {
		return d, true
	}
	t := reflect.TypeOf(v)
	if t == nil || !reflect.PointerTo(t).Implements(reflect.TypeFor[Displayer]()) {
		return nil, false
	}
	p := reflect.New(t)
	p.Elem().Set(reflect.ValueOf(v))
	return p.Interface().(Displayer), true
}

func imageBundle(img image.Image) Bundle {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return ToBundle(fmt.Errorf("image as PNG: %w", err))
	}
	return PNG(b.Bytes())
}
