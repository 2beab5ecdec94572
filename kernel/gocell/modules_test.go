package gocell

import (
	"archive/zip"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

// proxyOfCache serves the toolchain's module cache, which is laid out as a proxy
// is, on the loopback, and gives the test an empty cache. Modules of go.mod that a
// build did not need are fetched into the toolchain's cache first.
func proxyOfCache(t *testing.T, modules ...string) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("no Go toolchain whose module cache could be served")
	}
	if said, err := exec.Command("go", append([]string{"mod", "download"}, modules...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(strings.TrimSpace(string(out)), "cache", "download"))))
	t.Cleanup(server.Close)
	setProxy(t, server.URL)
}

// required is the modules that go.mod requires, with their versions.
func required(t *testing.T) map[string]string {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions
}

func setProxy(t *testing.T, url string) {
	t.Setenv("GOPROXY", url)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOENV", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPATH", t.TempDir())
}

// TestRealModules runs modules that this repository depends on from their source.
func TestRealModules(t *testing.T) {
	cases := []struct{ module, cell, want string }{
		{"github.com/dustin/go-humanize", "import \"github.com/dustin/go-humanize\"\nhumanize.Bytes(82854982) + \" \" + humanize.Comma(1234567)", "83 MB 1,234,567"},
		{"github.com/google/uuid", "import \"github.com/google/uuid\"\nid := uuid.MustParse(\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\")\nfmt.Sprint(id, id.Version(), uuid.NewMD5(id, []byte(\"x\")) == uuid.NewMD5(id, []byte(\"x\")), len(uuid.NewString()))", "6ba7b810-9dad-11d1-80b4-00c04fd430c8 VERSION_1 true 36"},
		{"github.com/mattn/go-runewidth", "import \"github.com/mattn/go-runewidth\"\nrunewidth.StringWidth(\"つのだ☆HIRO\")", "11"},
		{"github.com/clipperhouse/uax29/v2", "import \"github.com/clipperhouse/uax29/v2/graphemes\"\nn := 0\nfor g := graphemes.FromString(\"🇩🇪🏳️‍🌈!\"); g.Next(); { n++ }\nn", "3"},
		{"github.com/BurntSushi/toml", "import \"github.com/BurntSushi/toml\"\nvar conf struct { Age int; Cats []string }\n_, err := toml.Decode(\"Age = 25\\nCats = [ \\\"Cauchy\\\" ]\", &conf)\nfmt.Sprint(conf, err)", "{25 [Cauchy]} <nil>"},
		{"golang.org/x/sync", "import \"golang.org/x/sync/errgroup\"\ngroup, ctx := errgroup.WithContext(context.Background())\ngroup.SetLimit(4)\nsquares := make([]int, 40)\nfor i := range squares { group.Go(func() error { squares[i] = i * i; return ctx.Err() }) }\nerr := group.Wait()\nfmt.Sprint(squares[39], err)", "1521 <nil>"},
		{"github.com/hbollon/go-edlib", "import \"github.com/hbollon/go-edlib\"\nbest, err := edlib.FuzzySearch(\"kernle\", []string{\"colonel\", \"kernel\"}, edlib.DamerauLevenshtein)\nfmt.Sprint(best, \" \", err)", "kernel <nil>"},
	}
	versions := required(t)
	modules := make([]string, len(cases))
	for i, c := range cases {
		modules[i] = c.module
	}
	proxyOfCache(t, modules...)
	for _, c := range cases {
		s, _ := newTestSession(t, Options{})
		if _, err := s.Get(t.Context(), c.module+"@"+versions[c.module]); err != nil {
			t.Errorf("%s: %v", c.module, err)
			continue
		}
		r, err := s.Run(t.Context(), Cell{Name: "cell 1", Source: c.cell})
		if err != nil {
			t.Errorf("%s: %v", c.module, err)
			continue
		}
		if got := r.Bundle.Data["text/plain"]; got != c.want {
			t.Errorf("%s: got %q, want %q", c.module, got, c.want)
		}
	}
}

// module writes a version into a folder that is laid out as a proxy.
func writeModule(t *testing.T, dir, path, version string, files map[string]string) {
	t.Helper()
	base := filepath.Join(dir, filepath.FromSlash(path), "@v", version)
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".mod", []byte(files["go.mod"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".zip", zipped(t, path+"@"+version, files), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestModuleLanguage exercises what packages have and cells have not:
// initialisation over several packages, variables, types with methods that
// others embed, generics, and the loops of older language versions.
func TestModuleLanguage(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir, "example.com/base", "v1.0.0", map[string]string{
		"go.mod": "module example.com/base\ngo 1.21",
		"base.go": `package base
import ("errors"; "fmt"; "sort"; "strings")
var Log []string
var limit = compute()
var _ = note("blank")
func compute() int { note("limit"); return 3 }
func note(s string) bool { Log = append(Log, s); return true }
func init() { note("first") }
func init() { note(fmt.Sprint("second ", limit)) }
type Shape interface { Area() float64; name() string }
type Square struct{ Side float64; tag string }
func (s Square) Area() float64 { return s.Side * s.Side }
func (s Square) name() string { return "square" + s.tag }
func (s *Square) Grow(k float64) { s.Side *= k }
func Describe(s Shape) string { return fmt.Sprintf("%s %.1f", s.name(), s.Area()) }
type List[T any] struct { items []T }
func (l *List[T]) Push(x T) *List[T] { l.items = append(l.items, x); return l }
func (l *List[T]) Sorted(less func(a, b T) bool) []T {
	sort.Slice(l.items, func(i, j int) bool { return less(l.items[i], l.items[j]) })
	return l.items
}
func Map[T, U any](xs []T, f func(T) U) (out []U) { for _, x := range xs { out = append(out, f(x)) }; return }
type NotFound struct{ Key string }
func (e *NotFound) Error() string { return "no " + e.Key }
var ErrBase = errors.New("base")
func Find(k string) error { if strings.HasPrefix(k, "x") { return fmt.Errorf("find: %w", &NotFound{k}) }; return ErrBase }
func Old() (n int) { var fs []func() int; for i := 0; i < 3; i++ { fs = append(fs, func() int { return i }) }; for _, f := range fs { n += f() }; return }
func Fail(xs []int) int { return xs[7] }
`})
	writeModule(t, dir, "example.com/top", "v1.1.0", map[string]string{
		"go.mod": "module example.com/top\ngo 1.24\nrequire example.com/base v1.0.0",
		"top.go": `package top
import "example.com/base"
type Named struct { base.Square; Name string }
func New(side float64) *Named { return &Named{base.Square{Side: side}, "n"} }
func (n Named) String() string { return n.Name + ": " + base.Describe(n) }
var Default = New(float64(len(base.Log)))
func New3() (n int) { var fs []func() int; for i := 0; i < 3; i++ { fs = append(fs, func() int { return i }) }; for _, f := range fs { n += f() }; return }
`, "sub/unsafe.go": "package sub\nimport \"example.com/top/low\"\nvar X = low.X", "low/low.go": "package low\nimport \"unsafe\"\nvar X = unsafe.Sizeof(1)"})
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	setProxy(t, server.URL)
	s, _ := newTestSession(t, Options{})
	list, err := s.Get(t.Context(), "example.com/top@v1.1.0")
	if err != nil || len(list) != 2 || strings.Join(list[1].Packages, " ") != "example.com/top example.com/top/low example.com/top/sub" {
		t.Fatalf("%+v, %v", list, err)
	}
	mustRun(t, s, "import (\n\t\"example.com/base\"\n\t\"example.com/top\"\n)")
	for _, c := range [][2]string{
		{"base.Log", "[]string{\"limit\", \"blank\", \"first\", \"second 3\"}"},
		{"top.Default", "n: square 16.0"},
		{"n := top.New(2); n.Grow(3); fmt.Sprint(n, n.Area())", "n: square 36.0 36"},
		{"fmt.Sprintf(\"%T %T\", n, n.Square)", "*top.Named base.Square"},
		{"new(base.List[string]).Push(\"b\").Push(\"a\").Sorted(func(a, b string) bool { return a < b })", "[]string{\"a\", \"b\"}"},
		{"base.Map([]int{1, 2}, func(i int) string { return strconv.Itoa(i * 2) })", "[]string{\"2\", \"4\"}"},
		{"var nf *base.NotFound; fmt.Sprint(errors.As(base.Find(\"x1\"), &nf), nf.Key, errors.Is(base.Find(\"k\"), base.ErrBase))", "truex1true"},
		{"fmt.Sprint(base.Old(), top.New3())", "9 3"},
		{"base.Log = append(base.Log, \"cell\"); len(base.Log)", "5"},
		{"type Shape interface { Area() float64; name() string }; type Tri struct{}; func (Tri) Area() float64 { return 3 }; func (Tri) name() string { return \"tri\" }\nvar sh Shape = Tri{}; sh.name()", "tri"},
		{"var sq any = base.Square{}; _, ok := sq.(Shape); ok", "false"},
		{"type own struct{ *top.Named }; own{n}.Area()", "36"},
		{"type mine struct{ base.Square }; func (m mine) Area() float64 { return 1 }\nbase.Describe(mine{})", "square 1.0"},
	} {
		if got := mustRun(t, s, c[0]); got != c[1] {
			t.Errorf("%s is %s, want %s", c[0], got, c[1])
		}
	}
	_, err = s.Run(t.Context(), Cell{Name: "cell 9", Source: "base.Fail(nil)"})
	p, ok := err.(*PanicError)
	if !ok || len(p.Trace) != 2 || p.Trace[0].Cell != "example.com/base@v1.0.0/base.go" || p.Trace[0].Line != 28 {
		t.Errorf("%+v", p)
	}
	_, err = s.Run(t.Context(), Cell{Name: "cell 10", Source: "import \"example.com/top/sub\"\nsub.X"})
	if err == nil || !strings.Contains(err.Error(), "package example.com/top/low uses package unsafe") {
		t.Errorf("%v", err)
	}
	if _, err := s.Get(t.Context(), "gonum.org/v1/gonum@v0.17.0"); err == nil || !strings.Contains(err.Error(), "part of this kernel") {
		t.Errorf("%v", err)
	}
	if _, err := s.Get(t.Context(), "example.com/nosuch@v1.0.0"); err == nil {
		t.Error("a module that is not there is fetched")
	}
	if c := s.Complete("top.Ne", 6); len(c.Candidates) != 2 {
		t.Errorf("%+v", c.Candidates)
	}
	s.Reset()
	if _, err := s.Run(t.Context(), Cell{Name: "cell 11", Source: "import \"example.com/top\"\ntop.New3()"}); err == nil {
		t.Error("a module outlives a reset")
	}
}

// What an import fails of is said once, without the packages on the way, and a
// module that is there is not to be fetched.
func TestRefusedImports(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir, "example.com/top", "v1.0.0", map[string]string{
		"go.mod":         "module example.com/top\ngo 1.26",
		"top.go":         "package top\nimport _ \"example.com/top/mid\"",
		"mid/mid.go":     "package mid\nimport _ \"example.com/top/low\"",
		"low/low.go":     "package low\nimport \"unsafe\"\nvar _ unsafe.Pointer",
		"away/away.go":   "package away\nimport _ \"example.com/elsewhere\"",
		"fault/fault.go": "package fault\nvar x int = \"text\"",
	})
	setProxy(t, "file://"+dir)
	s, _ := newTestSession(t, Options{})
	if _, err := s.Get(t.Context(), "example.com/top@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ message, hint string }{
		"example.com/top":       {"package example.com/top cannot be imported: package example.com/top/low uses package unsafe (low.go)", ""},
		"example.com/top/low":   {"package example.com/top/low uses package unsafe (low.go)", ""},
		"example.com/top/fault": {"package example.com/top/fault cannot be interpreted: example.com/top@v1.0.0/fault/fault.go:2:13: cannot use \"text\" (untyped string constant) as int value in variable declaration", ""},
		"example.com/top/none":  {"no module has a package example.com/top/none", ""},
		"example.com/other":     {"", "%goget fetches modules: write %goget and the path of its module above, with @v1.2.3 or @latest"},
	} {
		_, err := s.Run(t.Context(), Cell{Name: "cell", Source: "import \"" + path + "\""})
		var failed *CompileError
		if !errors.As(err, &failed) || want.message != "" && failed.Diagnostics[0].Message != want.message || failed.Diagnostics[0].Hint != want.hint {
			t.Errorf("%s: %+v", path, err)
		}
	}
	if got := s.Complete("import \"example.com/top/mi", 26); len(got.Candidates) != 1 || got.Candidates[0].Text != "example.com/top/mid" {
		t.Errorf("completion of an import: %+v", got)
	}
	if got := s.Modules(); len(got) != 1 || got[0] != "example.com/top" {
		t.Errorf("the modules are %v", got)
	}
}

// TestOneFetch asks for a module in two cells at once.
func TestOneFetch(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir, "example.com/one", "v1.0.0", map[string]string{"go.mod": "module example.com/one\n\ngo 1.26\n", "one.go": "package one\n\nconst N = 1\n"})
	var mu sync.Mutex
	asked := map[string]int{}
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	setProxy(t, server.URL)
	s, _ := newTestSession(t, Options{})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			list, err := s.Get(t.Context(), "example.com/one@v1.0.0")
			if err != nil || len(list) != 1 || len(list[0].Packages) != 1 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
	both.Wait()
	if n := asked["/example.com/one/@v/v1.0.0.zip"]; n != 1 {
		t.Errorf("fetched %d times", n)
	}
	r, err := s.Run(t.Context(), Cell{Name: "cell 1", Source: "import \"example.com/one\"\none.N"})
	if err != nil || r.Bundle.Data["text/plain"] != "1" {
		t.Errorf("%v, %v", r.Bundle, err)
	}
}

func zipped(t *testing.T, prefix string, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, text := range files {
		f, err := w.Create(prefix + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
