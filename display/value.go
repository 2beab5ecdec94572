package display

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"reflect"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
)

// maxText bounds the text of a value that is shown as text, in bytes: far
// beyond what a person reads, far below what a front end chokes on. Whoever
// wants more of it shows a [Text].
const maxText = 1 << 20

// ToBundle returns how v is shown: a [Displayer] as it says, an image as PNG, a gonum
// plot as SVG and PNG, a gonum matrix as its elements in brackets, a string as it is, an error or
// [fmt.Stringer] as its text, and everything else in Go syntax: a list of structs or of maps, or
// a map to either, also as a table of its first rows. Text is cut where it becomes too long to
// read, which it says. It never guesses from contents: bytes are bytes, and a [][]string is no [Table].
func ToBundle(v any) Bundle {
	if isNilPointer(v) {
		return Text(goSyntax(v)) // methods of a nil pointer may not expect it
	}
	if d, ok := asDisplayer(v); ok {
		return d.Display()
	}
	switch v := asPrinter(v).(type) {
	case image.Image:
		return imageBundle(v)
	case *plot.Plot:
		return plotBundle(v)
	case string:
		return Text(cut(v, maxText))
	case error, fmt.Stringer, fmt.Formatter:
		return Text(cut(fmt.Sprint(v), maxText))
	case mat.Matrix:
		return matrixBundle(v)
	}
	return withTable(Text(goSyntax(v)), v)
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
	return pointerTo(v).(Displayer), true
}

// asPrinter is a pointer to v where only that knows how v reads, as of big.Int and
// mat.Dense. Methods of cells are left alone: their value may hold a lock, say.
func asPrinter(v any) any {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() == reflect.Pointer || t.PkgPath() == "" || t.PkgPath() == "main" || readable(t) || !readable(reflect.PointerTo(t)) {
		return v
	}
	return pointerTo(v)
}

// readable reports whether ToBundle shows values of a type otherwise than in Go syntax.
func readable(t reflect.Type) bool {
	return hasText(t) || t.Implements(reflect.TypeFor[mat.Matrix]()) || t.Implements(reflect.TypeFor[image.Image]())
}

func pointerTo(v any) any {
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	return p.Interface()
}

// matrixMargin is how many rows and columns of a gonum matrix are shown at each edge.
const matrixMargin = 6

// matrixBundle shows the elements of a matrix with six digits; of a large one those at its
// edges, below its dimensions. What has no elements yet, such as a factorization that was
// not computed, is shown in Go syntax.
func matrixBundle(m mat.Matrix) (b Bundle) {
	defer func() {
		if recover() != nil {
			b = Text(goSyntax(m))
		}
	}()
	if rows, columns := m.Dims(); rows == 0 || columns == 0 {
		return Text(goSyntax(m))
	}
	return Text(fmt.Sprintf("%.6g", mat.Formatted(m, mat.Squeeze(), mat.Excerpt(matrixMargin))))
}

func imageBundle(img image.Image) Bundle {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return ToBundle(fmt.Errorf("image as PNG: %w", err))
	}
	return PNG(b.Bytes())
}

// cut shortens s to at most n bytes, whole characters, and says by how much.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… %d bytes more", s[:n], len(s)-n)
}
