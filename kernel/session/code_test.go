package session

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"forgekernel/kernel/link"
)

// result is the text of a cell's result.
func result(done link.DoneBody) string {
	if done.Result == nil {
		return ""
	}
	text, _ := done.Result.Data["text/plain"].(string)
	return text
}

// An interrupt ends whatever a cell does, says what that was and keeps the
// session's state.
func TestInterruptCode(t *testing.T) {
	f := newFront(t)
	f.ok(t, "kept := 41")
	f.ok(t, "def product(a, b):\n    return a @ b")
	for _, c := range []struct{ name, code string }{
		{"loop", `for {}`},
		{"receive", `<-make(chan int)`},
		{"empty select", `select {}`},
		{"sleep", `time.Sleep(time.Hour)`},
		{"lock", "var mu sync.Mutex\nmu.Lock()\nmu.Lock()"},
		{"recovering loop", `for { func() { defer func() { recover() }(); panic(1) }() }`},
		{"forge program", `a := forge.Ones(2500, 2500); for { product(a, a) }`},
		{"forge program in a loop", `b := forge.Ones(2, 2); for { b = product(b, b) }`},
		{"question", "var s string\nfmt.Scanln(&s)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := f.begin(fmt.Sprintf("fmt.Println(\"%s up\")\n%s", c.name, c.code))
			f.awaitText(c.name + " up")
			f.conn.SendBody(link.Interrupt, 0, 0, nil)
			done, ok := f.end(id)
			if !ok || done.Error == nil || done.Error.Name != "Interrupt" || !strings.HasPrefix(done.Error.Value, "interrupted: ") {
				t.Fatalf("alive %v, outcome %+v; the session said %.500q", ok, done.Error, f.text())
			}
			t.Log(done.Error.Value)
			if got := result(f.ok(t, "kept + 1")); got != "42" {
				t.Errorf("state after the interrupt: %q", got)
			}
		})
	}
}

// An interrupt stops every running cell.
func TestInterruptAll(t *testing.T) {
	f := newFront(t)
	a := f.begin("fmt.Println(\"first up\")\nfor {}")
	f.awaitText("first up")
	b := f.begin("!echo second up\nselect {}")
	f.awaitText("second up")
	f.conn.SendBody(link.Interrupt, 0, 0, nil)
	for _, id := range []uint64{a, b} {
		if done, ok := f.end(id); !ok || done.Error == nil || done.Error.Name != "Interrupt" {
			t.Errorf("cell %d: alive %v, %+v", id, ok, done.Error)
		}
	}
}

// What a cell can do to its process without ending it is an error of the cell.
func TestSurvived(t *testing.T) {
	f := newFront(t)
	f.ok(t, "kept := 41")
	for _, c := range []struct{ code, name, value string }{
		{`os.Exit(3)`, "Exit", "status 3"},
		{`log.Fatal("out")`, "Exit", ""},
		{`runtime.Goexit()`, "Exit", ""},
		{`panic("oh")`, "panic", "oh"},
		{`var p *int; *p`, "panic", "nil pointer"},
		{`[]int{1}[kept]`, "panic", "index out of range"},
		{`undefined`, "CompileError", "undefined: undefined"},
		{`type Bad struct{}; func (Bad) Display() display.Bundle { panic("in Display") }; Bad{}`, "panic", "in Display"},
	} {
		done := f.run(t, c.code)
		if done.Error == nil || done.Error.Name != c.name || !strings.Contains(done.Error.Value, c.value) || len(done.Error.Traceback) == 0 {
			t.Errorf("%s: %+v; want %s with %q", c.code, done.Error, c.name, c.value)
		}
	}
	if got := result(f.ok(t, "kept + 1")); got != "42" {
		t.Errorf("state afterwards: %q", got)
	}
}

// What Go cannot recover from ends the process, and its last words say why.
func TestFatal(t *testing.T) {
	for _, c := range []struct{ name, code, report string }{
		{"concurrent map writes", "m := map[int]int{}\nfor range 4 { go func() { for { m[1]++ } }() }\nselect {}", "concurrent map"},
		{"signal", "syscall.Kill(os.Getpid(), syscall.SIGSEGV)\nselect {}", "SIGSEGV"},
		{"memory", "var all [][]byte\nfor { b := make([]byte, 64<<20); for i := 0; i < len(b); i += 4096 { b[i] = 1 }; all = append(all, b) }", "out of memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFront(t)
			limit := unix.Rlimit{Cur: 1 << 30, Max: 1 << 30}
			if err := unix.Prlimit(f.hello.PID, unix.RLIMIT_DATA, &limit, nil); err != nil {
				t.Fatal(err)
			}
			if done, ok := f.end(f.begin(c.code)); ok {
				t.Fatalf("the cell ended: %+v", done.Error)
			}
			f.cmd.Wait()
			if f.cmd.ProcessState.Success() {
				t.Error("the process ended well")
			}
			said := f.report() + f.text()
			if !strings.Contains(said, c.report) && !strings.Contains(said, "ThreadSanitizer") { // which runs out of memory before Go does
				t.Errorf("the session said %.500q, not %q", said, c.report)
			}
		})
	}
}

// Endless recursion ends the cell or the process, but not with all memory.
func TestEndlessRecursion(t *testing.T) {
	f := newFront(t)
	done, ok := f.end(f.begin("func down(n int) int { return down(n+1) + 1 }\ndown(0)"))
	switch {
	case ok && done.Error == nil:
		t.Errorf("the cell ended well: %q", result(done))
	case ok && !strings.Contains(done.Error.Value, "stack") && !strings.Contains(done.Error.Value, "deep"):
		t.Errorf("error %+v", done.Error)
	case !ok && !strings.Contains(f.report(), "stack overflow"):
		t.Errorf("crash report %.500q", f.report())
	}
}

// Prints and displays arrive in the order in which the cell made them.
func TestOrder(t *testing.T) {
	f := newFront(t)
	f.ok(t, `for i := range 50 {
	fmt.Println("print", i)
	display.Show(display.Text(fmt.Sprint("show ", i)))
	fmt.Fprintln(os.Stderr, "error", i)
	display.Clear(false)
}`)
	var want strings.Builder
	for i := range 50 {
		fmt.Fprintf(&want, "stdout: print %d\n\ndisplay 1: show %d\nstderr: error %d\n\nclear 1: \n", i, i, i)
	}
	if got := f.text() + "\n"; got != want.String() {
		t.Errorf("transcript\n%.600s\nwant\n%.600s", got, want.String())
	}
}

// What a goroutine prints and shows after its cell has ended belongs to that
// cell.
func TestLateGoroutine(t *testing.T) {
	f := newFront(t)
	f.ok(t, "gate := make(chan bool)\ngo func() {\n\t<-gate\n\tfmt.Println(\"late\")\n\tdisplay.Show(display.Text(\"later\"))\n\tpanic(\"last\")\n}()")
	f.ok(t, `fmt.Println("next")`)
	f.ok(t, "close(gate)")
	f.awaitText("stdout of 1: late")
	f.awaitText("display 1: later")
	f.awaitText("panic: last")
	if text := f.text(); !strings.Contains(text, "stderr of 1: ") || !strings.Contains(text, "stdout: next") {
		t.Errorf("transcript %q", text)
	}
}

// A program of the compiler that is still running when its cell has ended goes
// on: only a running cell is interrupted.
func TestLateProgram(t *testing.T) {
	f := newFront(t)
	f.ok(t, "def twice(x):\n    return x + x")
	f.ok(t, "gate := make(chan bool)\ngo func() { <-gate; fmt.Println(\"late\", twice(forge.Ones(1)).At(0)) }()")
	f.ok(t, "close(gate)")
	f.awaitText("stdout of 2: late 2")
}

func TestReadInput(t *testing.T) {
	f := newFront(t)
	var mu []link.InputPrompt
	f.input = func(p link.InputPrompt) *link.InputValue {
		mu = append(mu, p)
		return &link.InputValue{Value: fmt.Sprintf("answer%d", len(mu))}
	}
	if got := result(f.ok(t, "var s string\nfmt.Scanln(&s)\ns")); got != "answer1" {
		t.Errorf("read %q", got)
	}
	code := "import \"github.com/janpfeifer/gonb/gonbui\"\ngonbui.RequestInput(\"Name? \", true)\nvar n string\nfmt.Scanln(&n)\nn"
	if got := result(f.ok(t, code)); got != "answer2" {
		t.Errorf("read %q", got)
	}
	if len(mu) != 2 || mu[1].Prompt != "Name? " || !mu[1].Password {
		t.Errorf("questions %+v", mu)
	}
}

// An interrupt that ends the question for a line ends the cell, and not only the
// read; what refuses an answer otherwise is an error of the read.
func TestInterruptedRead(t *testing.T) {
	f := newFront(t)
	f.input = func(link.InputPrompt) *link.InputValue {
		f.conn.SendBody(link.Interrupt, 0, 0, nil)
		return &link.InputValue{Error: "interrupted"}
	}
	done := f.run(t, "kept := 3\nfor {\n\tvar s string\n\t_, err := fmt.Scanln(&s)\n\tfmt.Println(\"again\", err)\n}")
	if done.Error == nil || done.Error.Name != "Interrupt" || done.Error.Value != "interrupted: fmt.Scanln" {
		t.Errorf("error %+v", done.Error)
	}
	if strings.Contains(f.text(), "again") {
		t.Errorf("the cell goes on: %q", f.text())
	}
	f.input = func(link.InputPrompt) *link.InputValue { return &link.InputValue{Error: "nobody is there"} }
	if got := result(f.ok(t, "var s string\n_, err := fmt.Scanln(&s)\nfmt.Sprint(kept, err)")); got != "3 no input: nobody is there" {
		t.Errorf("read %q", got)
	}
	f.input = nil
	f.conn.SendBody(link.Execute, 1000, 0, link.ExecuteRequest{Code: "_, err = fmt.Scanln(&s)\nerr"})
	if done, _ := f.end(1000); done.Error != nil || done.Result == nil {
		t.Errorf("without allow_stdin: %+v", done.Error)
	}
}

func TestRestore(t *testing.T) {
	f := newFront(t)
	f.ok(t, "def base(x):\n    return x + 1")
	f.ok(t, "def outer(x):\n    return base(x) * 2")
	done := f.ok(t, "def base(x):\n    return x + 2")
	if len(done.Definitions) != 2 || done.Definitions[0].Name != "base" || !strings.Contains(done.Definitions[0].Source, "+ 2") {
		t.Fatalf("definitions %+v", done.Definitions)
	}
	var names []string
	for _, s := range done.Symbols {
		names = append(names, s.Name+" "+s.Kind)
	}
	if got := strings.Join(names, ", "); got != "base forgescript, outer forgescript" {
		t.Errorf("symbols %s", got)
	}
	again := newFront(t)
	again.conn.SendBody(link.Restore, 0, 0, link.RestoreRequest{Definitions: done.Definitions})
	if got := result(again.ok(t, "outer(forge.Ones(1)).At(0)")); got != "6" {
		t.Errorf("outer(1) = %q after restoring", got)
	}
	if text := again.text(); text != "" {
		t.Errorf("restoring said %q", text)
	}
}

// A definition that can no longer be restored is reported; the others are
// restored, in whatever order they need one another.
func TestRestoreFails(t *testing.T) {
	f := newFront(t)
	f.conn.SendBody(link.Restore, 0, 0, link.RestoreRequest{Definitions: []link.Definition{
		{Name: "first", Source: "def first(x):\n    return second(x) + 1"},
		{Name: "bad", Source: "def bad(x: nonsense"},
		{Name: "second", Source: "def second(x):\n    return x * 2"},
	}})
	if got := result(f.ok(t, "first(forge.Ones(1)).At(0)")); got != "3" {
		t.Errorf("first(1) = %q", got)
	}
	if text := f.text(); !strings.Contains(text, "could not be restored: restored bad:1:") || strings.Contains(text, "first") {
		t.Errorf("the session said %q", text)
	}
}

func TestUserExpressions(t *testing.T) {
	f := newFront(t)
	f.conn.SendBody(link.Execute, 90, 0, link.ExecuteRequest{
		Code: "v := 20", Number: 1,
		UserExpressions: map[string]string{"good": "v + 1", "bad": "nope", "none": "v = 21"},
	})
	done, _ := f.end(90)
	if got := done.UserExpressions["good"].Result; got == nil || got.Data["text/plain"] != "21" {
		t.Errorf("good: %+v", got)
	}
	for _, name := range []string{"bad", "none"} {
		if e := done.UserExpressions[name]; e.Error == nil || e.Result != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// A cell that spins on every processor does not keep the session from ending
// with its front.
func TestFrontGoneWhileSpinning(t *testing.T) {
	f := newFront(t)
	f.begin("fmt.Println(\"up\")\nfor range 8 { go func() { for {} }() }\nfor {}")
	f.awaitText("up")
	f.conn.Close()
	f.cmd.Wait()
	if status := f.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() || status.ExitStatus() != 0 {
		t.Errorf("the session ended with %v", f.cmd.ProcessState)
	}
}
