package gocell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/kernel/gocell/rtype"
)

func TestDefine(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	for name, value := range map[string]any{
		"label":  display.Text("hi"),
		"double": func(x int) int { return 2 * x },
		"build":  &strings.Builder{},
		"wait":   3 * time.Second,
		"list":   []any{1, "x"},
		"join":   strings.Join,
		"err":    errors.New("own"),
	} {
		if err := s.Define(name, value, "made by the host"); err != nil && name != "err" {
			t.Fatal(err)
		} else if err == nil && name == "err" {
			t.Error("a value of a type that is not exported has a type in cells")
		}
	}
	for source, want := range map[string]string{
		"double(21)":     "42",
		"wait.Seconds()": "3",
		"build.WriteString(\"abc\"); build.Len()": "3",
		"join([]string{\"a\", \"b\"}, \"-\")":     "a-b",
		"len(list)":                               "2",
		"f := double; f(4)":                       "8",
		"label":                                   "hi",
	} {
		if got := mustRun(t, s, source); got != want {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
	}
	if err := s.Define("not a name", 1, ""); err == nil {
		t.Error("a bad name is taken")
	}
	if err := s.Define("x", nil, ""); err == nil {
		t.Error("nil is taken")
	}
	if i, ok := s.Inspect("double", 3, 0); !ok || i.Doc != "made by the host" {
		t.Errorf("inspection gives %+v", i)
	}
	if c := s.Complete("wait.Sec", 8); len(c.Candidates) != 1 {
		t.Errorf("completion gives %v", c.Candidates)
	}
	mustRun(t, s, "double := 3")
	if got := mustRun(t, s, "double"); got != "3" {
		t.Errorf("double is %s", got)
	}
}

// A type may be known by its alias alone, before any value of it was seen.
func TestAliasOfHostType(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	if got := mustRun(t, s, `b := forge.Binding{Dims: map[string]int{"batch": 4}}; b.Dims["batch"]`); got != "4" {
		t.Errorf("got %s", got)
	}
}

// TestDefineAgain checks that functions of cells see new host values.
func TestDefineAgain(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	define := func(value any) {
		t.Helper()
		if err := s.Define("layer", value, ""); err != nil {
			t.Fatal(err)
		}
	}
	define(func(x int) int { return x + 1 })
	mustRun(t, s, "func use() any { return layer(1) }\nfunc stale() int { return layer(1) }")
	define(func(x int) int { return x + 10 })
	if got := mustRun(t, s, "use()"); got != "11" {
		t.Errorf("use gives %s", got)
	}
	define(func(x int) string { return fmt.Sprint("text ", x) })
	if got := mustRun(t, s, "use()"); got != "text 1" {
		t.Errorf("use gives %s", got)
	}
	if _, err := s.Run(context.Background(), Cell{Source: "stale()"}); err == nil || !strings.Contains(err.Error(), "stale (cell) no longer compiles") {
		t.Errorf("a function that no longer fits gives %v", err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })
	define(handler)
	if got := mustRun(t, s, "w := httptest.NewRecorder()\nlayer.ServeHTTP(w, nil)\nlayer(w, nil)\nw.Body.String()"); got != "servedserved" {
		t.Errorf("a method of a defined function gives %s", got)
	}
}

func TestSymbols(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "x := []int{1}\nconst k = 2\ntype T struct{ A int }\nfunc f(t T) error { return nil }\nimport m \"math\"")
	var got []string
	for _, sym := range s.Symbols() {
		got = append(got, fmt.Sprint(sym.Name, "|", sym.Kind, "|", sym.Type))
	}
	want := "T|type|struct{A int} f|func|func(t T) error k|const|untyped int m|import|math x|var|[]int"
	if strings.Join(got, " ") != want {
		t.Errorf("symbols are\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
}

func TestLinesCountFromTheCell(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	_, err := s.Run(context.Background(), Cell{Name: "cell 1", Source: "x := 1\n\té := undefinedName", Line: 5})
	var ce *CompileError
	if !errors.As(err, &ce) || len(ce.Diagnostics) != 1 {
		t.Fatal(err)
	}
	d := ce.Diagnostics[0]
	if d.Line != 6 || d.Col != 7 || d.EndCol != 20 || d.Text != "\té := undefinedName" || d.Source != "cell 1" {
		t.Errorf("diagnostic is %+v", d)
	}
}

func TestDisplays(t *testing.T) {
	var shown []display.Output
	s, _ := newTestSession(t, Options{Sink: func(cell uint64) display.Sink { return sinkFunc(func(o display.Output) { shown = append(shown, o) }) }})
	mustRun(t, s, `display.Show("a")`+"\n"+`display.ShowID("id", 1)`+"\n"+`display.Update("id", 2)`)
	if len(shown) != 3 || shown[1].ID != "id" || !shown[2].Update {
		t.Errorf("shown are %+v", shown)
	}
	if got := mustRun(t, s, "type D struct{}\nfunc (D) Display() display.Bundle { return display.Text(\"own form\") }\nD{}"); got != "own form" {
		t.Errorf("an own Display method shows %q", got)
	}
	_, err := s.Run(context.Background(), Cell{Source: "func (D) Display() display.Bundle { panic(\"broken\") }\nD{}"})
	var p *PanicError
	if !errors.As(err, &p) {
		t.Errorf("a panicking Display method gives %v", err)
	}
}

type sinkFunc func(display.Output)

func (f sinkFunc) Show(o display.Output) error { f(o); return nil }
func (f sinkFunc) Clear(bool) error            { return nil }

// A list of structs is a table beside its text, also of fields that only the cell sees.
func TestRecordsAreTables(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	r, err := s.Run(t.Context(), Cell{Name: "cell", Source: "type job struct { name string; wait time.Duration }\nlist := []job{{\"a<b\", time.Second}}\nfunc load() ([]job, error) { return list, nil }\nload()"})
	if err != nil {
		t.Fatal(err)
	}
	page, _ := r.Bundle.Data["text/html"].(string)
	for _, want := range []string{">name</th>", ">wait</th>", ">a&lt;b</td>", ">1s</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the table lacks %s: %s", want, page)
		}
	}
	if text := r.Bundle.Data["text/plain"]; text != `[]main.job{{name: "a<b", wait: 1s}}` {
		t.Errorf("the text is %s", text)
	}
}

func TestNoStdin(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	if got := mustRun(t, s, "var n int\n_, err := fmt.Scan(&n)\nerr"); got != "this cell cannot ask for input" {
		t.Errorf("Scan gives %q", got)
	}
}

// TestMemory runs many cells that redefine everything and compares the heap
// after a first and a last stretch.
func TestMemory(t *testing.T) {
	cells := 10_000
	if testing.Short() {
		cells = 1_000
	}
	s, _ := newTestSession(t, Options{})
	heap := func() uint64 {
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(n int) {
		for i := range n {
			mustRun(t, s, fmt.Sprintf("x := %d\nfunc f() int { return x + %d }\ny := f() + 1\nfmt.Sprint(y)", i, i))
		}
	}
	run(cells / 10)
	before := heap()
	run(cells)
	const perCell = 512 // bytes that a cell may leave behind
	if after := heap(); after > before+uint64(cells)*perCell {
		t.Errorf("%d cells take %d KiB", cells, (after-before)/1024)
	}
	runtime.KeepAlive(s)
}

// A cell that waits does not hold up another, and sees what that declares.
func TestCellsOverlap(t *testing.T) {
	s, out := newTestSession(t, Options{})
	mustRun(t, s, "gate, x := make(chan int), 1")
	type end struct {
		result Result
		err    error
	}
	ended := make(chan end)
	go func() {
		r, err := s.Run(context.Background(), Cell{Name: "cell 2", ID: 2, Source: "fmt.Println(\"waiting\")\ny := <-gate\ny + x"})
		ended <- end{r, err}
	}()
	waitFor(t, func() bool { return strings.Contains(out.text(), "waiting") })
	if got := mustRun(t, s, "1 + 1"); got != "2" {
		t.Errorf("beside a cell that waits 1 + 1 is %s", got)
	}
	mustRun(t, s, "x = 10\nfunc later() int { return x }")
	mustRun(t, s, "gate <- 5")
	e := <-ended
	if text := e.result.Bundle.Data["text/plain"]; e.err != nil || text != "15" {
		t.Errorf("the cell that waited shows %v, %v", text, e.err)
	}
	if got := mustRun(t, s, "y + later()"); got != "15" {
		t.Errorf("afterwards y + later() is %s", got)
	}
}

// A cell that fails takes back its own names only.
func TestOverlapForgets(t *testing.T) {
	s, out := newTestSession(t, Options{})
	mustRun(t, s, "gate := make(chan int)")
	ended := make(chan error)
	go func() {
		_, err := s.Run(context.Background(), Cell{Name: "cell 2", ID: 2,
			Source: "fmt.Println(\"waiting\")\nif <-gate > 0 { panic(\"no\") }\na := 1\nb := 2"})
		ended <- err
	}()
	waitFor(t, func() bool { return strings.Contains(out.text(), "waiting") })
	if _, err := s.Run(context.Background(), Cell{Name: "cell 3", ID: 3, Source: "a := \"mine\"\ngate <- 1"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("the cell did not panic")
	}
	if got := mustRun(t, s, "a"); got != "mine" {
		t.Errorf("a is %s", got)
	}
	if _, err := s.Run(context.Background(), Cell{Name: "cell 4", ID: 4, Source: "b"}); err == nil {
		t.Error("b is there although its cell did not get to define it")
	}
}

func TestManyErrors(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	_, err := s.Run(context.Background(), Cell{Source: "1" + strings.Repeat("+x", 2000)})
	var ce *CompileError
	if !errors.As(err, &ce) || len(ce.Diagnostics) != maxFaults {
		t.Errorf("2000 errors give %d diagnostics", len(ce.Diagnostics))
	}
}

// TestTypesWhereverTheyStand declares a type at many positions, some of which
// generic functions of other texts have, too.
func TestTypesWhereverTheyStand(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	for pad := 0; pad < 3000; pad += 60 {
		got := mustRun(t, s, strings.Repeat(" ", pad)+"type Key uint16\nslices.Sorted(maps.Keys(map[Key]int{2: 1, 1: 2}))")
		if got != "[]main.Key{1, 2}" {
			t.Errorf("after %d bytes the keys are %s", pad, got)
		}
	}
}

// TestRoomForMethods runs a cell that declares methods over and over: the same
// types keep their room, of which there is an end.
func TestRoomForMethods(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	const cell = "type Shape struct{ n int }\nfunc (s Shape) String() string { return fmt.Sprint(\"shape \", s.n) }\nfunc (s *Shape) Grow() { s.n++ }\nfmt.Sprint(Shape{1})"
	mustRun(t, s, cell)
	before := rtype.Room()
	for range 200 {
		if got := mustRun(t, s, cell); got != "shape 1" {
			t.Fatalf("a cell that runs again shows %s", got)
		}
	}
	if now := rtype.Room(); now != before {
		t.Errorf("200 runs of one cell took room for %d methods", before-now)
	}
}

// What the translator finds out about the instructions of a block holds in long
// blocks, too, which it does not search one by one.
func TestLongBlocks(t *testing.T) {
	const n = 200
	var b strings.Builder
	b.WriteString("type pair struct{ a, b int }\nfunc of(i int) pair { return pair{i, 2 * i} }\nfunc long() (sum int, list [4]pair) {\n\tlast := pair{}\n")
	for i := range n {
		k := i % 4
		fmt.Fprintf(&b, "\tlist[%d] = pair{%d, list[%d].a}\n\tp%d := of(%d)\n\tsum += p%d.b\n\tlist[%d].b += p%d.a\n\tq%d := pair{sum, last.a}\n\tlast = q%d\n\tq%d.a = 0\n", k, i, (k+1)%4, i, i, i, k, i, i, i, i)
	}
	b.WriteString("\treturn sum + last.a, list\n}")
	sum, list := 0, [4][2]int{}
	for i := range n {
		k := i % 4
		list[k] = [2]int{i, list[(k+1)%4][0]}
		sum += 2 * i
		list[k][1] += i
	}
	s, _ := newTestSession(t, Options{})
	got := mustRun(t, s, b.String()+"\nfmt.Sprint(long())")
	want := fmt.Sprint(2*sum, list)
	if text := strings.NewReplacer("{", "[", "}", "]").Replace(strings.TrimSpace(got)); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// TestPanicOnHostGoroutine lets compiled code call functions of a cell, which
// panic, on a goroutine of its own: it gets zeros, of any type.
func TestPanicOnHostGoroutine(t *testing.T) {
	reports := make(chan error, 1)
	s, _ := newTestSession(t, Options{Async: func(_ uint64, err error) { reports <- err }})
	got := make(chan any, 1)
	for name, value := range map[string]any{
		"pointer":  func(f func() *int) { go func() { got <- f() == nil }() },
		"number":   func(f func() int64) { go func() { got <- f() == 0 }() },
		"duration": func(f func(string) time.Duration) { go func() { got <- f("") == 0 }() },
		"fault":    func(f func() error) { go func() { got <- f() != nil }() },
	} {
		if err := s.Define(name, value, "made by the host"); err != nil {
			t.Fatal(err)
		}
	}
	for _, cell := range []string{
		`pointer(func() *int { panic("lost") })`, `number(func() int64 { panic("lost") })`,
		`duration(func(string) time.Duration { panic("lost") })`, `fault(func() error { panic("lost") })`,
	} {
		mustRun(t, s, cell)
		if zero, report := <-got, <-reports; zero != true || report.Error() != "panic: lost (in a goroutine)" {
			t.Errorf("%s: %v, %v", cell, zero, report)
		}
	}
}
