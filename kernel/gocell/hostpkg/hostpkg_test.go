package hostpkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// TestMain takes the toolchain away: nothing here may need it.
func TestMain(m *testing.M) {
	os.Setenv("GOROOT", "/nonexistent")
	os.Setenv("PATH", "/nonexistent")
	os.Exit(m.Run())
}

func opened(tb testing.TB) *store {
	tb.Helper()
	s, err := open()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestImportEverything(t *testing.T) {
	opened(t)
	paths := Paths()
	if len(paths) < 150 {
		t.Fatalf("only %d packages", len(paths))
	}
	imp := Importer()
	for _, path := range paths {
		p, err := imp.Import(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !p.Complete() {
			t.Errorf("%s is incomplete", path)
		}
		if name, ok := Name(path); !ok || name != p.Name() {
			t.Errorf("Name(%s) = %q, %v; the package is %s", path, name, ok, p.Name())
		}
		if again, err := Importer().Import(path); err != nil || again != p {
			t.Errorf("%s is another package the second time (%v)", path, err)
		}
	}
}

// TestImportedStaysAsItIs checks what makes packages safe to share: importing
// everything else adds nothing to one that was handed out.
func TestImportedStaysAsItIs(t *testing.T) {
	s := opened(t)
	cache := newTypeCache()
	before := map[*types.Package][]string{}
	for path := range s.packages {
		p, err := cache.importTypes(s, path)
		if err != nil {
			t.Fatal(err)
		}
		before[p] = p.Scope().Names()
	}
	for p, names := range before {
		if now := p.Scope().Names(); !slices.Equal(now, names) {
			t.Errorf("%s grew from %d to %d names", p.Path(), len(names), len(now))
		}
	}
}

func TestImportConcurrently(t *testing.T) {
	s := opened(t)
	cache := newTypeCache()
	var wg sync.WaitGroup
	for _, path := range []string{"net/http", "go/types", "fmt", "gonum.org/v1/plot", "encoding/json"} {
		wg.Go(func() {
			p, err := cache.importTypes(s, path)
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range p.Scope().Names() {
				types.ObjectString(p.Scope().Lookup(name), nil)
			}
		})
	}
	wg.Wait()
}

func TestImportErrors(t *testing.T) {
	opened(t)
	for _, path := range []string{"", "no/such", "internal/abi", "plugin", "fmt/", "../fmt"} {
		if p, err := Importer().Import(path); err == nil {
			t.Errorf("import %q gives %v", path, p)
		}
	}
	if p, err := Importer().Import("unsafe"); err != nil || p != types.Unsafe {
		t.Errorf("unsafe is %v, %v", p, err)
	}
}

func TestCheckProgram(t *testing.T) {
	opened(t)
	const program = `package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"

	"forgekernel/display"
	"github.com/janpfeifer/gonb/gonbui"
)

type handler struct{}

func (handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL) }

var (
	_ http.Handler = handler{}
	_ json.Marshaler
	_ display.Displayer = display.Text("x")
	m                   = mat.NewDense(2, 2, nil)
	keys                = slices.Sorted(maps.Keys(map[string]int{}))
	parts               = slices.Collect(strings.SplitSeq("a,b", ","))
	xys   plotter.XYs
)

func main() { gonbui.DisplayHTML(keys[0] + parts[0] + fmt.Sprint(m.At(0, 0), xys)) }
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "main.go", program, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: Importer()}
	if _, err := config.Check("main", fset, []*ast.File{f}, nil); err != nil {
		t.Error(err)
	}
	wrong := strings.Replace(program, "mat.NewDense(2, 2, nil)", "mat.NewDense(2, nil)", 1)
	f, err = parser.ParseFile(fset, "wrong.go", wrong, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Check("main", fset, []*ast.File{f}, nil); err == nil || !strings.Contains(err.Error(), "not enough arguments") {
		t.Errorf("a wrong call gives %v", err)
	}
}

func TestKnown(t *testing.T) {
	opened(t)
	for name, want := range map[string]string{
		"fmt": "fmt", "http": "net/http", "json": "encoding/json", "rand": "math/rand",
		"template": "text/template", "filepath": "path/filepath", "draw": "image/draw",
		"mat": "gonum.org/v1/gonum/mat", "plot": "gonum.org/v1/plot", "palette": "image/color/palette",
		"display": "forgekernel/display", "pprof": "runtime/pprof", "scanner": "text/scanner",
		"gonbui": "github.com/janpfeifer/gonb/gonbui",
	} {
		if got, ok := Known(name); !ok || got != want {
			t.Errorf("Known(%s) = %q, %v; want %s", name, got, ok, want)
		}
	}
	if got, ok := Known("nosuch"); ok {
		t.Errorf("Known(nosuch) = %s", got)
	}
	for name, path := range preferred {
		if !slices.Contains(Paths(), path) {
			t.Errorf("%s prefers %s, which is not there", name, path)
		}
	}
}

func TestDocs(t *testing.T) {
	opened(t)
	for _, path := range Paths() {
		p, err := Importer().Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(p.Scope().Names(), "") {
			if name != "" && !token.IsExported(name) {
				continue
			}
			if text, ok := Doc(path, name); !ok || text == "" {
				t.Errorf("no documentation of %s.%s", path, name)
			}
		}
	}
	for _, want := range []struct{ path, name, text string }{
		{"fmt", "", "package fmt"},
		{"fmt", "Println", "func Println(a ...any) (n int, err error)\n\nPrintln formats"},
		{"strings", "Builder.WriteString", "func (b *Builder) WriteString(s string) (int, error)\n\n"},
		{"io", "Reader.Read", ""},
		{"net/http", "Server.Handler", "Handler Handler\n\nhandler to invoke"},
		{"time", "Millisecond", "const Millisecond Duration = 1000000"},
		{"time", "Tuesday", "const Tuesday Weekday = 2"},
		{"math", "Pi", "const Pi = 3.14159265358979323846264338327950288419716939937510582097494459\n\nhttps"},
		{"io", "EOF", "var EOF error\n\nEOF is the error"},
		{"os", "Args", "var Args []string\n\nArgs hold the command-line"},
		{"sort", "Interface.Less", "Less(i, j int) bool\n\nLess reports"},
		{"slices", "Sort", "func Sort[S ~[]E, E cmp.Ordered](x S)"},
		{archive.Predeclared, "append", "func append(slice []Type, elems ...Type) []Type\n\nThe append"},
		{archive.Predeclared, "error", "type error interface {\n    Error() string\n}\n\nThe error"},
		{"forgekernel/display", "Show", "func Show(v ...any)\n\nShow displays"},
	} {
		text, ok := Doc(want.path, want.name)
		if want.text == "" {
			if ok {
				t.Errorf("%s.%s has a text of its own: %s", want.path, want.name, text)
			}
			continue
		}
		if !strings.HasPrefix(text, want.text) {
			t.Errorf("Doc(%s, %s) = %q, want prefix %q", want.path, want.name, text, want.text)
		}
	}
	if _, ok := Doc("no/such", ""); ok {
		t.Error("a package that is not there has documentation")
	}
}

// BenchmarkImport measures a first import, with everything that it brings in.
func BenchmarkImport(b *testing.B) {
	s := opened(b)
	for _, path := range []string{"fmt", "strings", "encoding/json", "net/http", "gonum.org/v1/gonum/mat", "gonum.org/v1/plot"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if _, err := newTypeCache().importTypes(s, path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
