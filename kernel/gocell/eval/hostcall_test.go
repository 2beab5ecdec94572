package eval

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"forgekernel/kernel/gocell/hostpkg"
)

// packages are those that cells call most.
var packages = []string{
	"bufio", "bytes", "context", "encoding/json", "errors", "fmt", "io", "math", "math/big", "math/bits", "math/cmplx", "math/rand",
	"net/http", "net/url", "os", "path/filepath", "reflect", "regexp", "sort", "strconv", "strings", "sync", "sync/atomic", "text/template",
	"time", "unicode", "unicode/utf8", "gonum.org/v1/gonum/floats", "gonum.org/v1/gonum/mat", "gonum.org/v1/gonum/stat",
}

// TestReach counts the functions and methods that are called without reflection.
func TestReach(t *testing.T) {
	total, direct := 0, 0
	missing := map[string]int{}
	count := func(ft reflect.Type) {
		total++
		if directly(ft) {
			direct++
		} else {
			missing[results(ft)]++
		}
	}
	for _, path := range packages {
		pkg, err := hostpkg.Importer().Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			v, ok := hostpkg.Symbol(path, name)
			switch {
			case !ok:
			case v.Kind() == reflect.Func:
				count(v.Type())
			case v.Kind() == reflect.Pointer && v.IsNil():
				for i := range v.Type().NumMethod() {
					count(v.Type().Method(i).Type)
				}
			}
		}
	}
	t.Logf("%d of %d functions and methods", direct, total)
	for _, key := range slices.SortedFunc(maps.Keys(missing), func(a, b string) int { return missing[b] - missing[a] })[:min(len(missing), 12)] {
		t.Logf("not those with results %q: %d", key, missing[key])
	}
	if total < 2000 || direct*100 < total*97 {
		t.Errorf("%d of %d functions and methods are called without reflection, want 97 of 100", direct, total)
	}
}

func directly(ft reflect.Type) bool {
	var args, dst []place
	for p := range ft.Ins() {
		args = append(args, place{classOf(p), 0, p})
	}
	for r := range ft.Outs() {
		dst = append(dst, place{classOf(r), 0, r})
	}
	return hostCallOf(ft, args, dst) != nil
}

func results(ft reflect.Type) (key string) {
	for r := range ft.Outs() {
		key += resultKeyOf(r)
	}
	return key
}
