package gocell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forgekernel/kernel/gocell/eval"
)

// chain declares structs that each hold the one before twice.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("type T0 struct{ x int }\n")
	for i := range n {
		fmt.Fprintf(&b, "type T%d struct{ a, b T%d }\n", i+1, i)
	}
	return b.String()
}

func nested(open string, n int, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// TestTooDeep has cells whose check would take hours or all memory. What is near
// the limits runs.
func TestTooDeep(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	for source, want := range map[string]string{
		"var t " + nested("[]", 3000, "int", ""):                          "types are nested too deep",
		"type P " + nested("*", 3000, "int", ""):                          "types are nested too deep",
		"type G[T any] struct{}\nvar g " + nested("G[", 3000, "int", "]"): "type arguments or indices are nested too deep",
		nested("{", 10_000, "", "}"):                                      "blocks are nested too deep",
		"_ = " + nested("func() int { return ", 3000, "1", " }()"):        "blocks are nested too deep",
		"x := " + nested("(", 200_000, "1", ")"):                          "max nesting depth",
		chain(60):                                                         "type T15 has too many parts",
		"func f() {\n" + chain(60) + "}":                                  "type T15 has too many parts",
		"var v struct{ a, b, c, d, e T13 }\n" + chain(13):                 "this type has too many parts",
		largeInterfaces:                                                   "type I15 has too many parts",
		largeInstances:                                                    "type Q has too many parts",
		largeGenericType:                                                  "has too many parts",
		longConstants:                                                     "the constant strings become too long here",
		"const s = \"" + strings.Repeat("x", 1<<20) + "\"\nx := []string{" + strings.Repeat("s + s,", 100) + "}": "the constant strings become too long here",
		"const (\nA = Q + Q\nB\nC\n)\nconst Q = \"" + strings.Repeat("x", 12<<20) + "\"":                         "the constant strings become too long here",
		"y := 1\nx := y" + strings.Repeat(" + y", 50_000):                                                        "this expression has too many operands",
		"type P[A, B any] struct{ a A; b B }\n" + "type Q " + nested("P[int, ", 50, "int", "]"):                  "",
		"var a [1 << 29][1 << 16]int":                                         "a is too large",
		chain(10) + "T10{}.a.b.a":                                             "",
		"x := 1\n" + nested("if true {", 100, "x++", "}"):                     "",
		"x := 1\nif x > 1 { }" + strings.Repeat(" else if x > 1 { }", 30_000): "a chain of else if is too long",
		"x := 1\nif x > 1 { }" + strings.Repeat(" else if x > 1 { }", 300):    "",
		strings.Repeat("a", 1<<20):                                            "undefined: aaa",
	} {
		name := source[:min(len(source), 40)]
		_, err := s.Run(context.Background(), Cell{Name: "cell", Source: source})
		if want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s gives %v, want %q", name, err, want)
		}
		s.Complete(source, len(source))
		s.Inspect(source, len(source)/2, 0)
		s.Completeness(source)
	}
	mustRun(t, s, "1")
}

// TestTooMuchInSeveralCells has cells that are near the limits each.
func TestTooMuchInSeveralCells(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, chain(13)+"type D[A any] struct{ a, b A }\nconst long = \""+strings.Repeat("x", 1<<20)+"\"\nlen(long)")
	for source, want := range map[string]string{
		doubling("type U0 struct{ a T13 }", "type U%d struct{ a U%d; b U%d }", 30): "has too many parts",
		"type V struct { a D[D[D[T13]]] }":                                         "type V has too many parts",
		doubling("const L0 = long", "const L%d = L%d + L%d", 30):                   "the constant strings become too long here",
	} {
		if _, err := s.Run(t.Context(), Cell{Name: "cell 2", Source: source}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s gives %v, want %q", source, err, want)
		}
	}
	mustRun(t, s, "type V struct { a D[T13]; b D[D[int]] }\nconst M = long + long\nlen(M)")
}

// TestLongCells has long sources that people's tools generate: the time to translate
// them grows with their length and not with its square.
func TestLongCells(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "y := 0")
	if got := mustRun(t, s, strings.Repeat("y++\n", 50_000)+"y"); got != "50000" {
		t.Errorf("y is %s", got)
	}
	var cases strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&cases, "case %d: return %d\n", i, 2*i)
	}
	if got := mustRun(t, s, "func twice(n int) int {\nswitch n {\n"+cases.String()+"}\nreturn -1 }\nfmt.Sprint(twice(0), twice(1), twice(2999), twice(3000), twice(-1))"); got != "0 2 5998 -1 -1" {
		t.Errorf("a long switch gives %s", got)
	}
}

// TestLongNames has names that are compared with all others, for a hint.
func TestLongNames(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	long := strings.Repeat("x", 1_000_000)
	mustRun(t, s, long+" := 3\n"+long)
	for _, source := range []string{strings.Repeat("y", 3_000_000), long[1:], "strings." + long} {
		if _, err := s.Run(t.Context(), Cell{Name: "cell 2", Source: source}); err == nil || !strings.Contains(err.Error(), "undefined") {
			t.Errorf("%.40v", err)
		}
		s.Inspect(source, len(source)/2, 0)
	}
}

// TestInterruptWhileChecking interrupts a cell that takes long to check.
func TestInterruptWhileChecking(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "y := 1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Run(ctx, Cell{Name: "cell 2", Source: "x := y" + strings.Repeat(" + y", 20_000)})
	var stopped *InterruptError
	if !errors.As(err, &stopped) || stopped.What != "checking the cell" {
		t.Fatalf("an interrupt gives %v", err)
	}
	if got := mustRun(t, s, "y"); got != "1" {
		t.Errorf("after an interrupt y is %s", got)
	}
	if _, err := s.prepare(ctx, &eval.Source{Name: "cell 3", Line: 1, Text: "z := y"}, new(atomic.Bool)); !errors.As(err, &stopped) {
		t.Errorf("a cell that is checked before the interrupt is heard of gives %v", err)
	}
	if len(s.Symbols()) != 1 {
		t.Errorf("abandoned cells leave %v", s.Symbols())
	}
}

// TestInterruptKeepsState checks that what came before the interrupted statement
// stays, in loops without statements and within compiled code too.
func TestInterruptKeepsState(t *testing.T) {
	for _, hang := range []string{"for {}", "for { func() {}() }", endless, "time.Sleep(time.Hour)"} {
		s, out := newTestSession(t, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			waitFor(t, func() bool { return out.text() != "" })
			time.Sleep(20 * time.Millisecond) // it is in the statement that hangs
			cancel()
		}()
		if _, err := s.Run(ctx, Cell{Name: "cell 1", Source: "k := 7\nfmt.Println(k)\n" + hang + "\nlate := 1"}); err == nil {
			t.Fatalf("%s ended", hang)
		}
		if got := mustRun(t, s, "k"); got != "7" || len(s.Symbols()) != 1 {
			t.Errorf("after %s k is %s, and there are %v", hang, got, s.Symbols())
		}
	}
}

// TestInterruptOfPanicText interrupts a panic whose value does not end to say what
// it is.
func TestInterruptOfPanicText(t *testing.T) {
	s, out := newTestSession(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		waitFor(t, func() bool { return out.text() != "" })
		cancel()
	}()
	source := "type E struct{}\nfunc (E) Error() string { fmt.Println(\"asked\"); for {} }\npanic(E{})"
	if _, err := s.Run(ctx, Cell{Name: "cell 1", Source: source}); err == nil {
		t.Fatal("the panic is lost")
	} else if text := err.Error(); text != "panic: (main.E)" {
		t.Errorf("the panic is %q", text)
	}
	mustRun(t, s, "1")
}

// TestErrorsOfPanic looks through the error of a panic for what the kernel tells
// apart, without the methods of cells, which do not end here.
func TestErrorsOfPanic(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "type L struct{}\nfunc (*L) Error() string { return \"L\" }\nfunc (l *L) Unwrap() error { return l }\nfunc (*L) As(any) bool { for {} }\nfunc (*L) Is(error) bool { for {} }")
	for value, wraps := range map[string]bool{
		"&L{}":                                  false,
		"struct{ *L }{}":                        false,
		"fmt.Errorf(\"x %w\", &L{})":            false,
		"errors.Join(&L{}, &fs.PathError{})":    true,
		"fmt.Errorf(\"x %w\", io.EOF)":          false,
		"fmt.Errorf(\"x %w\", &fs.PathError{})": true,
	} {
		_, err := s.Run(t.Context(), Cell{Name: "cell", Source: "panic(" + value + ")"})
		var panicked *PanicError
		if !errors.As(err, &panicked) {
			t.Fatalf("%s: %v", value, err)
		}
		var path *fs.PathError
		if errors.As(err, &path) != wraps || errors.Is(err, io.EOF) != strings.Contains(value, "EOF") || errors.Is(err, context.Canceled) {
			t.Errorf("%s is not looked through", value)
		}
	}
}

// TestServerOutlivesInterrupt has a function of a cell called by compiled code
// after the latest cell was interrupted, and stopped by Reset.
func TestServerOutlivesInterrupt(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	called := make(chan int, 1)
	if err := s.Define("called", called, ""); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, "beat := time.AfterFunc(time.Hour, func() { for i := range 100 { if i == 99 { called <- 1 } } })")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	s.Run(ctx, Cell{Name: "cell 2", Source: "for {}"})
	cancel()
	beat := s.scope.symbols["beat"].variable.Value().Interface().(*time.Timer)
	beat.Reset(0)
	select { // the function is called while no cell runs
	case <-called:
	case <-time.After(generous):
		t.Fatal("the timer's function was stopped by the interrupt of a cell")
	}
	waitFor(t, func() bool { return len(s.Goroutines()) == 0 }) // it has returned
	mustRun(t, s, "time.AfterFunc(0, func() { for {} })")
	waitFor(t, func() bool { return len(s.Goroutines()) == 1 })
	if g := s.Goroutines()[0]; g.State != "called by compiled code" || !s.StopGoroutine(g.ID) {
		t.Errorf("the timer's function is %v", g)
	}
	waitFor(t, func() bool { return len(s.Goroutines()) == 0 })
	mustRun(t, s, "time.AfterFunc(0, func() { for {} })")
	waitFor(t, func() bool { return len(s.Goroutines()) == 1 })
	engine := s.engine
	s.Reset()
	waitFor(t, func() bool { return len(engine.Goroutines()) == 0 })
}

// TestManyCallbacks has more goroutines in functions that compiled code called than
// one goroutine may have such calls within one another.
func TestManyCallbacks(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	const n = 3 * eval.MaxNesting
	source := fmt.Sprintf(`var wg sync.WaitGroup
here, done := make(chan bool), make(chan bool)
sum := new(atomic.Int64)
for i := range %d { wg.Go(func() { sort.Slice([]int{2, 1}, func(i, j int) bool { sum.Add(1); return i < j }); here <- true; <-done }) }
for range %d { <-here }
close(done)
wg.Wait()
sum.Load() >= %d`, n, n, n)
	if got := mustRun(t, s, source); got != "true" {
		t.Errorf("shows %s", got)
	}
	_, err := s.Run(t.Context(), Cell{Name: "cell 2", Source: "type S int\nfunc (s S) Write(p []byte) (int, error) { return fmt.Fprint(s, 1) }\nfmt.Fprint(S(1), 2)"})
	if err == nil || !strings.Contains(err.Error(), "stack overflow") {
		t.Errorf("endless recursion gives %v", err)
	}
}
