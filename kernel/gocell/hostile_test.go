package gocell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"
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
		"type P[A, B any] struct{ a A; b B }\n" + "type Q " + nested("P[int, ", 50, "int", "]"): "",
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
	if len(s.Symbols()) != 1 {
		t.Errorf("an abandoned cell leaves %v", s.Symbols())
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
