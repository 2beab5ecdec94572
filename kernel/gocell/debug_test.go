package gocell

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/peek"
)

// debugged is a session with a debugger attached, and a cell that runs in it.
type debugged struct {
	*Session
	*Debugger
	halts chan eval.Halt
	ended chan error
	cells int
}

func newDebugged(t *testing.T) *debugged {
	s, _ := newTestSession(t, Options{})
	d := &debugged{Session: s, Debugger: s.Debugger(), halts: make(chan eval.Halt, 100)}
	d.attach()
	t.Cleanup(d.Detach)
	return d
}

func (d *debugged) attach() { d.Attach(func(h eval.Halt) { d.halts <- h }) }

// start runs a cell, whose file is named after it and has breakpoints on lines.
// They are there before it runs: else a quick cell ends without a halt.
func (d *debugged) start(ctx context.Context, source string, lines ...int) {
	d.cells++
	d.ended = make(chan error, 1)
	name, ended := fmt.Sprintf("cell %d", d.cells), d.ended
	d.SetBreakpoints(name, lines)
	go func() {
		_, err := d.Run(ctx, Cell{Name: name, ID: uint64(d.cells), Source: source, File: name})
		ended <- err
	}()
}

// halt waits for the next halt; false is the end of the cell.
func (d *debugged) halt(t *testing.T) (eval.Halt, bool) {
	t.Helper()
	select {
	case h := <-d.halts:
		return h, true
	case err := <-d.ended:
		d.ended <- err
		return eval.Halt{}, false
	case <-time.After(generous):
		t.Fatal("the cell neither halts nor ends")
		return eval.Halt{}, false
	}
}

// goesOn lets everything go on to the end of the cell.
func (d *debugged) goesOn(t *testing.T) {
	t.Helper()
	d.Continue()
	if err := <-d.ended; err != nil {
		t.Error(err)
	}
}

// place is where a goroutine is and what its variables are.
func (d *debugged) place(t *testing.T, h eval.Halt) string {
	t.Helper()
	stack, ok := d.Stack(h.Thread)
	if !ok || len(stack) == 0 {
		t.Fatalf("goroutine %d has no stack", h.Thread)
	}
	return fmt.Sprintf("%s %d %s%s", h.Reason, stack[0].Line, stack[0].Func, locals(stack[0]))
}

func locals(c Call) string {
	var b strings.Builder
	for _, v := range c.Variables() {
		text := peek.Text(v.Value, true)
		if v.Gone {
			text = "?"
		}
		fmt.Fprintf(&b, " %s=%s", v.Name, text)
	}
	return b.String()
}

func TestStep(t *testing.T) {
	d := newDebugged(t)
	d.start(t.Context(), `func add(a, b int) int {
	s := a
	s += b
	return s
}
x := 1
y := add(x, 2)
for i := range 2 {
	y += i
}
p := &y
func() {
	z := "in"
	*p = len(z)
}()
fmt.Sprint(y)`, 6)
	var got []string
	for h, ok := d.halt(t); ok; h, ok = d.halt(t) {
		got = append(got, d.place(t, h))
		d.Step(h.Thread, eval.StepIn)
	}
	want := []string{
		"breakpoint 6 ", "step 7 ",
		"step 2 add a=1 b=2", "step 3 add a=1 b=2 s=1", "step 4 add a=1 b=2 s=3", "step 7 ",
		"step 8 ", "step 9  i=0", "step 8 ", "step 9  i=1",
		"step 11 ", "step 12 ",
		"step 13 a function literal", `step 14 a function literal z="in"`, "step 15 ",
		"step 16 ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStepOverAndOut(t *testing.T) {
	d := newDebugged(t)
	d.start(t.Context(), `func fact(n int) int {
	if n < 2 {
		return 1
	}
	return n * fact(n-1)
}
a := fact(4)
b := a + 1
fmt.Sprint(b)`, 3)
	steps := []struct {
		step eval.Step
		want string
	}{
		{eval.StepOut, "step 5 fact n=2"},
		{eval.StepOver, "step 5 fact n=3"},
		{eval.StepOut, "step 5 fact n=4"},
		{eval.StepOut, "step 7 "},
		{eval.StepOver, "step 8 "},
		{eval.StepOver, "step 9 "},
	}
	h, _ := d.halt(t)
	if got := d.place(t, h); got != "breakpoint 3 fact n=1" {
		t.Errorf("at first %s", got)
	}
	if stack, _ := d.Stack(h.Thread); len(stack) != 5 || stack[3].Line != 5 || stack[4].Line != 7 {
		t.Errorf("stack %+v", stack)
	}
	for _, s := range steps {
		d.Step(h.Thread, s.step)
		h, _ = d.halt(t)
		if got := d.place(t, h); got != s.want {
			t.Errorf("got %s, want %s", got, s.want)
		}
	}
	d.goesOn(t)
}

// A variable that nothing uses any more is either right or said to be gone.
func TestLocalsAgree(t *testing.T) {
	d := newDebugged(t)
	var args []string
	d.Define("probe", func(values ...any) {
		args = nil
		for _, v := range values {
			args = append(args, peek.Text(reflect.ValueOf(v), true))
		}
	}, "")
	source := `type pt struct{ x, y int }
func walk(n int, name string) (total int, err error) {
	probe(n, name, total)
	best, ps := -1, []pt{}
	var any1 any
	for i := 0; i < n; i++ {
		sq := i * i
		if sq%2 == 1 { total += sq } else { best = i }
		ps = append(ps, pt{i, sq})
		probe(i, sq, total, best, ps, n)
		p := ps[i]
		if i == 2 { any1 = p }
		probe(p, any1, i)
	}
	a, b := 0, 1
	for range n {
		a, b = b, a+b
		probe(a, b, best)
	}
	func() { b *= 2; probe(b, a, name) }()
	defer func() { total++ ; probe(total, b) }()
	x := 1.5
	switch { case n > 3: x := "inner"; probe(x, n) ; default: x = 2 }
	probe(x, a, b, len(ps))
	i := n
	for i > 0 { j := i; i--; probe(i, j) }
	return total + best, nil
}
walk(5, "w")`
	lines := strings.Split(source, "\n")
	var at []int
	for i, l := range lines {
		if strings.Contains(l, "probe(") {
			at = append(at, i+1)
		}
	}
	d.start(t.Context(), source, at...)
	seen := 0
	for h, ok := d.halt(t); ok; h, ok = d.halt(t) {
		stack, _ := d.Stack(h.Thread)
		line := lines[stack[0].Line-1]
		if !strings.HasPrefix(strings.TrimSpace(line), "probe(") { // the halt is before another statement of the line
			d.Continue()
			continue
		}
		_, list, _ := strings.Cut(line, "probe(")
		names := strings.Split(strings.TrimSuffix(list, ")"), ", ")
		known := map[string]string{}
		for _, v := range stack[0].Variables() {
			if !v.Gone {
				known[v.Name] = peek.Text(v.Value, true)
			}
		}
		d.Step(h.Thread, eval.StepOver)
		_, more := d.halt(t)
		for i, name := range names {
			if strings.HasPrefix(name, "len(") {
				continue
			}
			seen++
			if known[name] != args[i] {
				t.Errorf("line %d: %s is %q to the debugger and %q to the program", stack[0].Line, name, known[name], args[i])
			}
		}
		if !more {
			break
		}
		d.Continue()
	}
	if seen < 60 {
		t.Errorf("only %d variables were compared", seen)
	}
}

// A cell is stepped into a function of a module, whose source a debugger can show
// and halt.
func TestDebugModule(t *testing.T) {
	dir := t.TempDir()
	source := "package half\n\n// Of halves.\nfunc Of(n int) int {\n\tn /= 2\n\treturn n\n}\n"
	writeModule(t, dir, "example.com/half", "v1.0.0", map[string]string{"go.mod": "module example.com/half\ngo 1.21", "half.go": source})
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	setProxy(t, server.URL)
	d := newDebugged(t)
	if _, err := d.Get(t.Context(), "example.com/half@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	if n := len(d.ModuleFiles()); n != 0 {
		t.Errorf("%d files before the import", n)
	}
	mustRun(t, d.Session, "import \"example.com/half\"\nhalf.Of(2)")
	const name = "example.com/half@v1.0.0/half.go"
	if text := d.ModuleFiles()[name]; text != source {
		t.Errorf("source %q", text)
	}
	lines := FileStopLines(source)
	if fmt.Sprint(lines) != "[5 6]" {
		t.Errorf("it halts on lines %v", lines)
	}
	d.SetBreakpoints(name, lines[:1])
	d.start(t.Context(), "x := half.Of(6)\nx")
	var got []string
	for h, ok := d.halt(t); ok; h, ok = d.halt(t) {
		stack, _ := d.Stack(h.Thread)
		got = append(got, strings.TrimSpace(d.place(t, h))+" in "+stack[0].File)
		d.Step(h.Thread, eval.StepIn)
	}
	if want := []string{"breakpoint 5 Of n=6 in " + name, "step 6 Of n=3 in " + name, "step 1 in cell 1", "step 2 in cell 1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("halts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestGone(t *testing.T) {
	d := newDebugged(t)
	d.start(t.Context(), `func f(c bool) int {
	x := 1
	y := x + 1
	if c {
		x = 2
	}
	y++
	return y
}
f(true)`, 7)
	h, _ := d.halt(t)
	if got := d.place(t, h); got != "breakpoint 7 f c=true x=? y=2" {
		t.Error(got)
	}
	stack, _ := d.Stack(h.Thread)
	if _, err := d.Evaluate(t.Context(), "x", &stack[0]); err == nil || !strings.Contains(err.Error(), "x is optimized out here") {
		t.Error(err)
	}
	d.Continue()
}

func TestEvaluate(t *testing.T) {
	d := newDebugged(t)
	mustRun(t, d.Session, "scale := 10\ntype box[T any] struct{ v T }\nfunc (b box[T]) get() T { return b.v }")
	d.start(t.Context(), `func f[T any](b box[T], xs []int) int {
	type own struct{ n int }
	o := &own{3}
	func() { o.n++ }()
	return len(xs) + o.n
}
f(box[string]{"in"}, []int{1, 2})`, 5)
	h, _ := d.halt(t)
	stack, _ := d.Stack(h.Thread)
	for expr, want := range map[string]string{
		"xs[1] * scale":                       "20",
		"b.get() + \"!\"":                     "in!",
		"o.n":                                 "4",
		"strings.ToUpper(b.v)":                "IN",
		"func() int { return len(xs) }() + 1": "3",
	} {
		r, err := d.Evaluate(t.Context(), expr, &stack[0])
		if err != nil || fmt.Sprint(r.Values[0]) != want {
			t.Errorf("%s is %v, %v", expr, r.Values, err)
		}
	}
	for _, expr := range []string{"nosuch", "xs = nil", "1 +", "xs[5]"} {
		if _, err := d.Evaluate(t.Context(), expr, &stack[0]); err == nil {
			t.Errorf("%s is taken", expr)
		}
	}
	if err := d.CopyToGlobals("xs", stack[0], "kept"); err != nil {
		t.Fatal(err)
	}
	if err := d.CopyToGlobals("nosuch", stack[0], "kept"); err == nil {
		t.Error("an unknown variable is copied")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var stopped *InterruptError
	if _, err := d.Evaluate(ctx, "func() int { for {} }()", &stack[0]); !errors.As(err, &stopped) {
		t.Error(err)
	}
	d.Continue()
	if err := <-d.ended; err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, d.Session, "len(kept)"); got != "2" {
		t.Errorf("len(kept) is %s", got)
	}
}

func TestStopLines(t *testing.T) {
	source := "import \"fmt\"\nvar a = 1\nx := 2\n\n// comment\nfunc f(n int) {\n\tfor {\n\t\tif n > 0 {\n\t\t\tbreak\n\t\t}\n\t}\n}\nf(\n\tx)"
	if got, want := StopLines(source, 3), []int{4, 5, 10, 15}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
