package gocell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// doubling makes n declarations out of a first one, each twice the one before.
func doubling(first, format string, n int) string {
	var b strings.Builder
	b.WriteString(first + "\n")
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1, i, i)
	}
	return b.String()
}

var (
	longConstants    = doubling(`const S0 = "0123456789"`, "const S%d = S%d + S%d", 45)
	largeInterfaces  = doubling("type I0 interface{ M() }", "type I%d interface{ I%d; interface{ I%d } }", 40)
	largeInstances   = "type D[A any] struct{ a, b A }\ntype Q " + nested("D[", 40, "int", "]")
	largeGenericType = doubling("type G0[A any] struct{ x A }", "type G%d[A any] struct{ a G%d[A]; b G%d[[2]A] }", 40)
)

// TestHostileModules imports packages that are made to harm: what runs, runs; what
// does not is refused by one sentence, soon, and again when it is imported again.
func TestHostileModules(t *testing.T) {
	const head = "package x\n"
	files := map[string]string{"go.mod": "module example.com/h\ngo 1.26\n", "two/y.go": "package y\n", "mixed/y.go": head + "var A = 4",
		"cycle2/x.go": "package cycle2\nimport \"example.com/h/cycle\"\nvar A = x.A\n", "uses/internal/x/x.go": head + "const A = 8\n",
		"large/x.go": "package large\n" + chain(14)}
	cases := []struct{ name, text, cell, want string }{
		{"constants", longConstants + "const L = len(S45)", "x.L", "the constant strings become too long here"},
		{"structs", chain(60), "x.T60{}", "type T15 has too many parts"},
		{"structs of another", "import \"example.com/h/large\"\n" + doubling("type T0 struct{ a large.T13 }", "type T%d struct{ a, b T%d; c T%d }", 40), "x.T40{}", "has too many parts"},
		{"interfaces", largeInterfaces, "x.I40(nil)", "has too many parts"},
		{"instances", largeInstances, "x.Q{}", "type Q has too many parts"},
		{"generic types", largeGenericType, "x.G40[int]{}", "has too many parts"},
		{"types", "var t " + strings.Repeat("[]", 3000) + "int", "x.A", "types are nested too deep"},
		{"blocks", "func F() {" + nested("{", 10_000, "", "}") + "}", "x.F()", "blocks are nested too deep"},
		{"operands", "func F(y int) int { return y" + strings.Repeat(" + y", 90_000) + "}", "x.F(1)", "too many operands"},
		{"else if", "func F(y int) { " + strings.Repeat("if y == 1 { } else ", 50_000) + "{ } }", "x.F(2)", "a chain of else if is too long"},
		{"growing function", "func F[T any](n int) int { return F[*T](n - 1) }", "x.F[int](3)", "instantiation cycle"},
		{"growing type", "type T[P any] struct { f *T[T[P]] }\nvar V T[int]", "x.V", "instantiation cycle"},
		{"shift", "const A = 1 << 1000000000", "x.A", "invalid shift count"},
		{"float", "const A = 1e1000000000", "x.A", "malformed constant"},
		{"array", "var A [1<<40][1<<10]int", "len(x.A)", "is too large"},
		{"local array", "func F() int { var a [1<<40]int; return len(a) }", "x.F()", "is too large"},
		{"not UTF-8", "var A = \"\xff\xfe\"\n", "x.A", "illegal UTF-8"},
		{"cgo", "import \"C\"\nvar A = 3\n", "x.A", "uses cgo"},
		{"embed after a tab", "import _ \"embed\"\n//go:embed\tx.go\nvar A string\n", "x.A", "go:embed"},
		{"generate", "//go:generate rm -rf /\nvar A = 3\n", "x.A", ""},
		{"two", "var A = 3\n", "x.A", "package y; expected package x"},
		{"mixed", "var A = 3\n", "x.A", "A redeclared"},
		{"internal/x", "const A = 3\n", "x.A", "use of internal package example.com/h/internal/x not allowed"},
		{"uses", "import i \"example.com/h/uses/internal/x\"\nconst A = i.A\n", "x.A", ""},
		{"intrudes", "import i \"example.com/h/uses/internal/x\"\nconst A = i.A\n", "x.A", "use of internal package"},
		{"vendor/x", "const A = 3\n", "x.A", "a copy for its module alone"},
		{"cycle", "import \"example.com/h/cycle2\"\nvar A = cycle2.A\n", "x.A", "import cycle"},
		{"self", "import \"example.com/h/self\"\nvar A = self.A\n", "x.A", "import cycle"},
		{"the kernel", "import \"forgekernel/kernel/gocell\"\nvar A = gocell.X\n", "x.A", "is not available"},
		{"a path", "import \"/etc/passwd\"\nvar A = 1", "x.A", "is not available"},
	}
	for i, c := range cases {
		dir := strings.ReplaceAll(c.name, " ", "")
		files[dir+"/x.go"] = head + c.text
		cases[i].cell = fmt.Sprintf("import x \"example.com/h/%s\"\n_ = %s", dir, c.cell)
		if strings.HasPrefix(c.cell, "x.F(") {
			cases[i].cell = strings.Replace(cases[i].cell, "_ = ", "", 1)
		}
	}
	files["program/x.go"] = "package main\nvar A = 3\nfunc main() {}\n"
	files["ignored/x.go"] = "//go:build ignore\n\npackage x\nvar A = 3\n"
	files["nothing/x.go"] = ""
	cases = append(cases, []struct{ name, text, cell, want string }{
		{"program", "", "import x \"example.com/h/program\"\nx.A", "is a program"},
		{"ignored", "", "import x \"example.com/h/ignored\"\nx.A", "no source for this machine"},
		{"nothing", "", "import x \"example.com/h/nothing\"\nx.A", "expected 'package'"},
	}...)
	dir := t.TempDir()
	writeModule(t, dir, "example.com/h", "v1.0.0", files)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	setProxy(t, server.URL)
	s, _ := newTestSession(t, Options{})
	if _, err := s.Get(t.Context(), "example.com/h@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for range 2 {
			_, err := s.Run(t.Context(), Cell{Name: "cell", Source: c.cell})
			var refused *CompileError
			switch {
			case c.want == "":
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			case !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000:
				t.Errorf("%s: %.300v, want %s", c.name, err, c.want)
			}
		}
	}
	mustRun(t, s, "1")
}

// TestFailedInitialisation has packages whose initialisation does not come to its end:
// nothing uses their variables afterwards.
func TestFailedInitialisation(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/i\ngo 1.26\n", "fine/x.go": "package fine\nvar A = 5\n"}
	for name, body := range map[string]string{"panics": "A = 2; panic(\"no\")", "exits": "os.Exit(3)"} {
		files[name+"/x.go"] = "package x\nimport (\"fmt\"; \"os\"; \"example.com/i/fine\")\nvar A = fine.A\nvar _, _ = fmt.Print, os.Exit\nfunc init() { " + body + " }\n"
		files[name+"/user/x.go"] = "package user\nimport x \"example.com/i/" + name + "\"\nvar B = x.A + 1\n"
	}
	writeModule(t, dir, "example.com/i", "v1.0.0", files)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	setProxy(t, server.URL)
	for name, want := range map[string]string{"panics": "panic: no", "exits": "os.Exit"} {
		s, _ := newTestSession(t, Options{})
		if _, err := s.Get(t.Context(), "example.com/i@v1.0.0"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context(), Cell{Name: "cell 1", Source: "import \"example.com/i/" + name + "/user\"\nuser.B"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, pkg := range []string{"", "/user"} {
			_, err := s.Run(t.Context(), Cell{Name: "cell 2", Source: "import x \"example.com/i/" + name + pkg + "\"\nx.A"})
			if err == nil || !strings.Contains(err.Error(), "the initialisation of example.com/i/"+name+" failed: "+want) {
				t.Errorf("%s%s afterwards: %v", name, pkg, err)
			}
		}
		if got := mustRun(t, s, "import \"example.com/i/fine\"\nfine.A"); got != "5" {
			t.Errorf("what it needs is %s", got)
		}
	}
}

// TestInterruptedInitialisation interrupts the initialisation of a package: the next
// cell that uses it initialises it anew, and one beside that waits.
func TestInterruptedInitialisation(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir, "example.com/slow", "v1.0.0", map[string]string{"go.mod": "module example.com/slow\ngo 1.26\n",
		"x.go": "package slow\nimport (\"fmt\"; \"os\")\nvar Zero int\nvar List = []int{1}\nfunc init() {\n\tZero++\n\tfmt.Println(\"in\")\n\tfor os.Getenv(\"GOCELL_TEST_WAIT\") != \"\" {\n\t}\n\tList = append(List, 2)\n}\n"})
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	setProxy(t, server.URL)
	s, out := newTestSession(t, Options{})
	if _, err := s.Get(t.Context(), "example.com/slow@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	const source = "import \"example.com/slow\"\nfmt.Sprint(slow.Zero, slow.List)"
	t.Setenv("GOCELL_TEST_WAIT", "1")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		waitFor(t, func() bool { return out.text() != "" })
		cancel()
	}()
	var stopped *InterruptError
	if _, err := s.Run(ctx, Cell{Name: "cell 1", Source: source}); !errors.As(err, &stopped) {
		t.Fatal(err)
	}
	if got := mustRun(t, s, "1 + 1"); got != "2" { // does not need it
		t.Error(got)
	}
	out.take()
	results := make(chan string)
	run := func(name string) {
		r, err := s.Run(t.Context(), Cell{Name: name, Source: name + " := true\n" + source})
		text, _ := r.Bundle.Data["text/plain"].(string)
		results <- text + errorText(err)
	}
	go run("second")
	waitFor(t, func() bool { return out.text() != "" })
	go run("third")
	waitFor(t, func() bool {
		return slices.ContainsFunc(s.Symbols(), func(sym Symbol) bool { return sym.Name == "third" })
	})
	os.Unsetenv("GOCELL_TEST_WAIT")
	for range 2 {
		if got := <-results; got != "1 [1 2]" {
			t.Errorf("a cell shows %s", got)
		}
	}
	if got := out.text(); got != "in\n" {
		t.Errorf("the initialisation ran as often as %q", got)
	}
}

// TestResetClosesArchives resets a session that has fetched a module, and one that
// is about to.
func TestResetClosesArchives(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"first", "other"} {
		writeModule(t, dir, "example.com/"+name, "v1.0.0", map[string]string{"go.mod": "module example.com/" + name + "\ngo 1.26\n", "x.go": "package " + name + "\nvar A = 6\n"})
	}
	var s *Session
	proxy := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "other/@v/v1.0.0.zip") {
			s.Reset()
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	setProxy(t, server.URL)
	s, _ = newTestSession(t, Options{})
	if _, err := s.Get(t.Context(), "example.com/first@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	if n := openArchives(t, "first"); n != 1 {
		t.Errorf("%d archives are open", n)
	}
	s.Reset()
	_, err := s.Get(t.Context(), "example.com/other@v1.0.0")
	if err == nil || !strings.Contains(err.Error(), "reset") || len(s.Modules()) != 0 {
		t.Errorf("%v, modules %v", err, s.Modules())
	}
	if n := openArchives(t, "first") + openArchives(t, "other"); n != 0 {
		t.Errorf("%d archives are open after that", n)
	}
}

// openArchives counts the descriptors of this process for archives of a module.
func openArchives(t *testing.T, name string) (n int) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("the descriptors of this process are not known")
	}
	for _, fd := range list {
		file, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		if strings.HasSuffix(file, ".zip") && strings.Contains(file, "example.com/"+name) {
			n++
		}
	}
	return n
}

// TestStalledImport interrupts a cell that waits for the archive of a module: other
// cells run, completion does not wait for it, and the next attempt may succeed.
func TestStalledImport(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir, "example.com/top", "v1.0.0", map[string]string{"go.mod": "module example.com/top\ngo 1.26\nrequire example.com/low v1.0.0\n",
		"x.go": "package top\nimport \"example.com/low\"\nvar A = low.A\n"})
	writeModule(t, dir, "example.com/low", "v1.0.0", map[string]string{"go.mod": "module example.com/low\ngo 1.26\n", "x.go": "package low\nvar A = 6\n"})
	var mended atomic.Bool
	asked, ended := make(chan bool, 10), make(chan bool)
	proxy := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "low/@v/v1.0.0.zip") && !mended.Load() {
			asked <- true
			select {
			case <-ended:
			case <-r.Context().Done():
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer close(ended)
	setProxy(t, server.URL)
	s, _ := newTestSession(t, Options{})
	if _, err := s.Get(t.Context(), "example.com/top@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	const source = "import \"example.com/top\"\ntop.A"
	for len(asked) == 0 { // on a busy machine its time may be over before it asks
		s.Complete(source, len(source))
	}
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	var stopped *InterruptError
	if _, err := s.Run(ctx, Cell{Name: "cell 1", Source: source}); !errors.As(err, &stopped) {
		t.Errorf("%v", err)
	}
	if got := mustRun(t, s, "1 + 1"); got != "2" {
		t.Errorf("the next cell shows %s", got)
	}
	mended.Store(true)
	if got := mustRun(t, s, source); got != "6" {
		t.Errorf("the next attempt shows %s", got)
	}
}
