package peek

import (
	"bytes"
	"container/list"
	"fmt"
	"image"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"forgekernel/forge/tensor"
)

// maxDigits bounds the numbers whose digits are worked out, in bits.
const maxDigits = 4096

// summary is a value of a compiled type in a few words. Values of types that cells
// declare are none: their methods would run code of cells. Another goroutine may
// change the value meanwhile, which may be more than a method can bear.
func summary(v reflect.Value) (s string, ok bool) {
	if !v.CanInterface() || v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	defer func() {
		if recover() != nil {
			s, ok = "", false
		}
	}()
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String(), true
	case time.Time:
		return x.String(), true
	case time.Month:
		return x.String(), true
	case time.Weekday:
		return x.String(), true
	case *big.Int:
		return number(x.BitLen(), x.String), true
	case *big.Rat:
		return number(x.Num().BitLen()+x.Denom().BitLen(), x.String), true
	case *big.Float:
		return x.Text('g', 10), true
	case *regexp.Regexp:
		return "/" + x.String() + "/", true
	case *url.URL:
		return x.String(), true
	case *tensor.Tensor:
		return tensorText(x), true
	case *bytes.Buffer:
		return fmt.Sprintf("bytes.Buffer (%d bytes)", x.Len()), true
	case *strings.Builder:
		return fmt.Sprintf("strings.Builder (%d bytes)", x.Len()), true
	case *list.List:
		return fmt.Sprintf("list.List (%d elements)", x.Len()), true
	}
	return byPackage(v)
}

// byPackage sums up what several types of a package have in common.
func byPackage(v reflect.Value) (string, bool) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "gonum.org/v1/gonum/mat":
		if m, ok := v.Interface().(interface{ Dims() (r, c int) }); ok {
			r, c := m.Dims()
			return fmt.Sprintf("%s %d×%d", TypeName(t), r, c), true
		}
	case "image":
		if m, ok := v.Interface().(image.Image); ok {
			b := m.Bounds()
			return fmt.Sprintf("%s %d×%d", TypeName(t), b.Dx(), b.Dy()), true
		}
	case "errors", "fmt":
		return errorText(v)
	}
	return structAddress(v)
}

// structAddress sums up what only has methods on its pointer.
func structAddress(v reflect.Value) (string, bool) {
	if v.Kind() == reflect.Struct && v.CanAddr() && v.Type().PkgPath() != "main" {
		return summaryOfPointer(v.Addr())
	}
	return "", false
}

func summaryOfPointer(p reflect.Value) (string, bool) {
	switch p.Interface().(type) {
	case *big.Int, *big.Rat, *big.Float, *bytes.Buffer, *strings.Builder, *list.List, mat.Matrix, image.Image:
		return summary(p)
	}
	return "", false
}

// errorText is the message of an error that keeps one, without its method, which
// may ask an error of a cell.
func errorText(v reflect.Value) (string, bool) {
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return "", false
	}
	for _, name := range []string{"s", "msg"} {
		if f := v.Elem().FieldByName(name); f.IsValid() && f.Kind() == reflect.String && v.Type().Implements(errorType) {
			return "error " + clipped(f.String()), true
		}
	}
	return "", false
}

var errorType = reflect.TypeFor[error]()

func clipped(s string) string {
	if len(s) > maxText {
		return strconv.Quote(strings.ToValidUTF8(s[:maxText], "")) + "…"
	}
	return strconv.Quote(s)
}

func number(bits int, digits func() string) string {
	if bits > maxDigits {
		return fmt.Sprintf("a number of %d bits", bits)
	}
	return digits()
}

// tensorText is the type and shape of a tensor, and its first elements.
func tensorText(t *tensor.Tensor) string {
	const most = 4
	s := t.DType().String() + tensor.FormatShape(t.Shape())
	for i := range min(t.Len(), most) {
		s += fmt.Sprintf(" %.4g", t.Elem(i))
	}
	if t.Len() > most {
		s += " …"
	}
	return s
}
