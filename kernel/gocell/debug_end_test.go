package gocell

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/gocell/eval"
)

// An interrupt ends what has halted at a panic, wherever that came, and the
// session goes on.
func TestInterruptAtPanic(t *testing.T) {
	for source, out := range map[string]string{
		"panic(1)":                            "",
		"go func() { panic(1) }()\nselect {}": "",
		"var wg sync.WaitGroup\nwg.Go(func() { panic(1) })\nwg.Wait()":            "",
		"func() { defer func() { fmt.Print(recover()) }(); panic(1) }()":          "<nil>", // it is no panic any more
		"sort.Slice([]int{1, 2}, func(i, j int) bool { panic(2) })":               "",
		"defer fmt.Print(\"deferred\")\nfunc() { var m map[int]int; m[1] = 2 }()": "deferred",
	} {
		s, console := newTestSession(t, Options{})
		d := &debugged{Session: s, Debugger: s.Debugger(), halts: make(chan eval.Halt, 100)}
		d.attach()
		d.HaltOnPanic(true)
		ctx, cancel := context.WithCancel(t.Context())
		d.start(ctx, source)
		if h, ok := d.halt(t); !ok || h.Reason != "exception" {
			t.Fatalf("%s: %+v", source, h)
		}
		cancel()
		var stopped *InterruptError
		if err := <-d.ended; !errors.As(err, &stopped) {
			t.Errorf("%s: %v", source, err)
		}
		if h := <-d.halts; h.Reason != eval.Resumed {
			t.Errorf("%s: then %+v", source, h)
		}
		if got := console.take(); got != out {
			t.Errorf("%s: prints %q, want %q", source, got, out)
		}
		d.Detach()
		if got := mustRun(t, s, "1 + 1"); got != "2" {
			t.Error(got)
		}
	}
}

// The panic of a goroutine that defers nothing halts it, too, and ends its cell when
// that goes on.
func TestGoroutinePanics(t *testing.T) {
	for source, text := range map[string]string{
		"done := make(chan bool)\ngo func() {\n\tdefer close(done)\n\tfunc() {\n\t\tn := 0\n\t\t_ = 1 / n\n\t}()\n}()\n<-done": "panic: runtime error: integer divide by zero",
		"go func() { panic(\"bare\") }()\nselect {}":                                "panic: bare",
		"var wg sync.WaitGroup\nwg.Go(func() { panic(\"in a group\") })\nwg.Wait()": "panic: in a group",
	} {
		d := newDebugged(t)
		d.HaltOnUncaught(true)
		d.start(t.Context(), source)
		if h, ok := d.halt(t); !ok || h.Text != text {
			t.Fatalf("halts at %+v, want %q", h, text)
		}
		d.Continue()
		var p *PanicError
		if err := <-d.ended; !errors.As(err, &p) || "panic: "+p.Text != text {
			t.Errorf("ends with %v, want %q", err, text)
		}
	}
}

// Endless recursion halts before its calls are gone, through compiled code too.
func TestHaltOnStackOverflow(t *testing.T) {
	for source, calls := range map[string]int{
		"func f(n int) int {\n\treturn f(n+1) + 1\n}\nf(0)":                                                                eval.MaxDepth - 40,
		"type S int\nfunc (s S) Write(p []byte) (int, error) {\n\treturn fmt.Fprint(s, \"x\")\n}\nfmt.Fprint(S(1), \"y\")": 0,
	} {
		d := newDebugged(t)
		d.HaltOnUncaught(true)
		d.start(t.Context(), source)
		h, ok := d.halt(t)
		if !ok || !strings.Contains(h.Text, "stack overflow") {
			t.Fatalf("%s: %+v", source, h)
		}
		stack, _ := d.Stack(h.Thread)
		omitted := 0
		for _, c := range stack {
			omitted += c.Omitted
		}
		if len(stack) < 40 || omitted != calls {
			t.Errorf("%s: %d calls, %d left out", source, len(stack), omitted)
		}
		d.Detach()
		if err := <-d.ended; err == nil {
			t.Error("no panic")
		}
	}
}

// A pause halts once, however many goroutines run into it, and one that has halted
// is not paused again.
func TestPauseOnce(t *testing.T) {
	d := newDebugged(t)
	mustRun(t, d.Session, "var stop atomic.Bool\nvar up atomic.Int64\nvar wg sync.WaitGroup")
	d.start(t.Context(), "for range 8 {\n\twg.Go(func() { for up.Add(1); !stop.Load(); { runtime.Gosched() } })\n\tgo func() { for up.Add(1); !stop.Load(); { runtime.Gosched() } }()\n}\nfor up.Load() < 16 { runtime.Gosched() }\nup.Store(100)\nwg.Wait()")
	for mustRunPeek(t, d, "up.Load() >= 100") != "true" {
		time.Sleep(time.Millisecond)
	}
	for range 300 {
		d.Pause()
		if h, ok := d.halt(t); !ok || h.Reason != "pause" {
			t.Fatalf("%+v", h)
		}
		d.Pause()
		d.Continue()
		runtime.Gosched()
		if len(d.halts) > 0 {
			t.Fatalf("halts again: %+v", <-d.halts)
		}
	}
	if got := mustRunPeek(t, d, "func() bool { stop.Store(true); return true }()"); got != "true" {
		t.Error(got)
	}
	if h, ok := d.halt(t); ok {
		t.Errorf("halts again: %+v", h)
	}
}

// A pause that comes while a breakpoint's condition is computed is kept when the
// condition does not hold.
func TestPauseWhileDeciding(t *testing.T) {
	d := newDebugged(t)
	d.OnBreakpoint(func(context.Context, uint64) bool {
		d.Pause()
		return false
	})
	d.start(t.Context(), "x := 1\nx++\nx++", 2)
	if h, ok := d.halt(t); !ok || h.Reason != "pause" {
		t.Errorf("%+v, %v", h, ok)
	}
	d.Continue()
	if h, ok := d.halt(t); ok {
		t.Errorf("halts again: %+v", h)
	}
}

// A goroutine whose breakpoint's condition does not hold goes on once nobody looks
// at it.
func TestLookWhileDeciding(t *testing.T) {
	d := newDebugged(t)
	mustRun(t, d.Session, "n := 0")
	deciding, decided := make(chan bool), make(chan bool)
	d.OnBreakpoint(func(context.Context, uint64) bool {
		deciding <- true
		<-decided
		return false
	})
	const rounds = 300
	d.start(t.Context(), fmt.Sprintf("for range %d {\n\tn++\n}", rounds), 2)
	for round := range rounds {
		<-deciding
		d.Hold(t.Context(), func(w eval.World) {
			decided <- true
			for range 100 {
				runtime.Gosched()
			}
			if n := d.Globals()[0].Value.Int(); !w.Maps() || n != int64(round) {
				t.Errorf("%+v, n goes on from %d to %d", w, round, n)
			}
		})
	}
	if err := <-d.ended; err != nil {
		t.Error(err)
	}
}

// What compiled code calls is debugged also when its cell had ended before the
// debugger came.
func TestAttachAfterCell(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "goOn, done := make(chan bool), make(chan bool)")
	source := "func tick() {\n\tn := 1\n\t_ = n\n\tclose(done)\n}\nvar wg sync.WaitGroup\nwg.Go(func() {\n\t<-goOn\n\ttick()\n})"
	if _, err := s.Run(t.Context(), Cell{Name: "cell 1", Source: source, File: "cell 1"}); err != nil {
		t.Fatal(err)
	}
	d := &debugged{Session: s, Debugger: s.Debugger(), halts: make(chan eval.Halt, 100)}
	d.attach()
	d.SetBreakpoints("cell 1", []int{3})
	mustRun(t, s, "close(goOn)")
	h := <-d.halts
	if got := d.place(t, h); got != "breakpoint 3 tick n=1" {
		t.Error(got)
	}
	d.Detach()
	mustRun(t, s, "<-done")
}

// Breakpoints in deferred functions do not halt what an interrupt ends.
func TestInterruptedDefers(t *testing.T) {
	d := newDebugged(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.start(ctx, "defer func() {\n\tx := 1\n\t_ = x\n}()\ny := 2\ny++", 2, 6)
	d.halt(t)
	cancel()
	<-d.ended
	var reasons []string
	for len(d.halts) > 0 {
		reasons = append(reasons, (<-d.halts).Reason)
	}
	if fmt.Sprint(reasons) != "[resumed]" {
		t.Error(reasons)
	}
}

// That a goroutine was interrupted is told before another halts.
func TestResumedComesFirst(t *testing.T) {
	d := newDebugged(t)
	d.Attach(func(h eval.Halt) {
		for i := 0; h.Reason == eval.Resumed && len(d.halts) == 0 && i < 10_000; i++ {
			runtime.Gosched()
		}
		d.halts <- h
	})
	ctx, cancel := context.WithCancel(t.Context())
	d.start(ctx, "x := 1\nx++", 2)
	d.halt(t)
	first := d.ended
	d.start(t.Context(), "y := 1\ny++", 2)
	waitFor(t, func() bool {
		list := d.Threads()
		return len(list) == 2 && list[1].Halted
	})
	cancel()
	if h, _ := d.halt(t); h.Reason != eval.Resumed {
		t.Errorf("%+v", h)
	}
	if h, _ := d.halt(t); h.Reason != "breakpoint" {
		t.Errorf("then %+v", h)
	}
	<-first
	d.goesOn(t)
}

// A pause that comes as soon as the interrupt of a halt is told is kept.
func TestPauseWhenResumed(t *testing.T) {
	d := newDebugged(t)
	d.Attach(func(h eval.Halt) {
		if h.Reason == eval.Resumed {
			d.Pause()
		}
		d.halts <- h
	})
	ctx, interrupt := context.WithCancel(t.Context())
	d.start(ctx, "x := 1\nx++", 2)
	d.halt(t)
	first := d.ended
	d.start(t.Context(), "y := 0\nfor y < 100 {\n\ty++\n}")
	interrupt()
	for _, want := range []string{eval.Resumed, "pause"} {
		if h, ok := d.halt(t); !ok || h.Reason != want {
			t.Fatalf("%+v, %v, want %s", h, ok, want)
		}
	}
	<-first
	d.goesOn(t)
}

// What is interrupted before all code has stopped for it says so.
func TestInterruptedEvaluation(t *testing.T) {
	d := newDebugged(t)
	mustRun(t, d.Session, "var stop atomic.Bool")
	d.start(t.Context(), "for !stop.Load() {}")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 300 {
		var stopped *InterruptError
		if _, err := d.Evaluate(over, "1", nil); !errors.As(err, &stopped) {
			t.Fatal(err)
		}
	}
	mustRunPeek(t, d, "func() bool { stop.Store(true); return true }()")
	if err := <-d.ended; err != nil {
		t.Error(err)
	}
}

// A loop that a debugger left goes on as fast code does, and can be joined again.
func TestDetachInLoop(t *testing.T) {
	d := newDebugged(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.start(ctx, "n := 0\nfor {\n\tn++\n}", 3)
	for range 3 {
		if h, ok := d.halt(t); !ok || h.Reason != "breakpoint" {
			t.Fatalf("%+v", h)
		}
		d.Detach()
		before := mustRunPeek(t, d, "n")
		for mustRunPeek(t, d, "n") == before {
			time.Sleep(time.Millisecond)
		}
		d.attach()
		d.SetBreakpoints("cell 1", []int{3})
	}
	cancel()
	<-d.ended
}
