package gocell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/gocell/eval"
)

// Attaching reaches what runs already, in a loop that is one closure too.
func TestAttachLate(t *testing.T) {
	for _, loop := range []string{"for { n++ }", "for n < 1<<62 { n += 1 }", "for { step() }", "for { if n < 0 { break }; n++ }"} {
		s, _ := newTestSession(t, Options{})
		d := &debugged{Session: s, Debugger: s.Debugger(), halts: make(chan eval.Halt, 100)}
		ctx, cancel := context.WithCancel(t.Context())
		mustRun(t, s, "count := 0\nfunc step() { count++ }\nstarted := make(chan bool)")
		d.start(ctx, "func work() {\n\tn := 0\n\tstarted <- true\n\t"+loop+"\n}\nwork()")
		mustRun(t, s, "<-started")
		d.attach()
		d.Pause()
		h, ok := d.halt(t)
		if stack, halted := d.Stack(h.Thread); !ok || h.Reason != "pause" || !halted {
			t.Errorf("%s: %+v, %d calls", loop, h, len(stack))
		}
		cancel()
		var stopped *InterruptError
		if err := <-d.ended; !errors.As(err, &stopped) {
			t.Errorf("%s: %v", loop, err)
		}
		d.Detach()
		if got := mustRun(t, s, "1 + 1"); got != "2" {
			t.Error(got)
		}
	}
}

// All goroutines halt when one does, also those that wait and go on meanwhile.
func TestGoroutinesHalt(t *testing.T) {
	d := newDebugged(t)
	d.start(t.Context(), `var wg sync.WaitGroup
var ticks atomic.Int64
for i := range 3 {
	wg.Go(func() {
		for range 1000 {
			ticks.Add(1)
		}
		n := i * 10
		fmt.Sprint(n)
	})
}
wg.Wait()`, 9)
	var values []string
	for h, ok := d.halt(t); ok; h, ok = d.halt(t) {
		stack, _ := d.Stack(h.Thread)
		values = append(values, locals(stack[0]))
		before, after := "", mustRunPeek(t, d, "ticks.Load()")
		for end := time.Now().Add(generous); before != after && time.Now().Before(end); { // one call of Add may be under way
			before = after
			time.Sleep(5 * time.Millisecond)
			after = mustRunPeek(t, d, "ticks.Load()")
		}
		if before != after {
			t.Errorf("ticks went from %s to %s", before, after)
		}
		d.Continue()
	}
	if len(values) != 3 {
		t.Errorf("halts at %q", values)
	}
}

// mustRunPeek evaluates an expression, as soon as all code stops for it: on a busy
// machine a goroutine may not come to a poll in time.
func mustRunPeek(t *testing.T, d *debugged, expr string) string {
	t.Helper()
	r, err := d.Evaluate(t.Context(), expr, nil)
	for errors.Is(err, errRuns) {
		r, err = d.Evaluate(t.Context(), expr, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(r.Values[0])
}

// Code that compiled code calls back is on the stack of its caller.
func TestCallbackStack(t *testing.T) {
	d := newDebugged(t)
	d.start(t.Context(), `func order(xs []int) {
	sort.Slice(xs, func(i, j int) bool {
		return xs[i] < xs[j]
	})
	xs[0]++
}
order([]int{2, 1})`, 3)
	h, _ := d.halt(t)
	stack, _ := d.Stack(h.Thread)
	var funcs []string
	for _, c := range stack {
		funcs = append(funcs, fmt.Sprintf("%s:%d", c.Func, c.Line))
	}
	if got := strings.Join(funcs, " "); got != "a function literal in order:3 order:2 :7" {
		t.Error(got)
	}
	d.SetBreakpoints("cell 1", nil)
	d.Step(h.Thread, eval.StepOut)
	if h, _ = d.halt(t); d.place(t, h) != "step 2 order xs=[1, 2]" {
		t.Error(d.place(t, h))
	}
	d.Continue()
}

func TestHaltOnPanic(t *testing.T) {
	d := newDebugged(t)
	d.HaltOnPanic(true)
	d.start(t.Context(), "func f(xs []int, k int) int {\n\treturn xs[k]\n}\nf([]int{1}, 3)")
	h, ok := d.halt(t)
	if !ok || h.Reason != "exception" || !strings.Contains(h.Text, "index out of range [3]") {
		t.Fatalf("%+v", h)
	}
	if got := d.place(t, h); got != "exception 2 f xs=[1] k=3" {
		t.Error(got)
	}
	d.Continue()
	var p *PanicError
	if err := <-d.ended; !errors.As(err, &p) {
		t.Error(err)
	}
}

// The calls of a panic keep their variables, deferred calls and recursion
// notwithstanding.
func TestPanicked(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "func inner(k int) int {\n\tm := map[string]int{\"k\": k}\n\tdefer func() { k = 99 }()\n\tvar p *int\n\treturn *p + m[\"k\"]\n}\nfunc outer(name string) int {\n\tn := len(name)\n\tdefer fmt.Sprint(n)\n\treturn inner(n)\n}")
	if _, err := s.Run(t.Context(), Cell{Name: "cell 9", Source: "outer(\"abc\")"}); err == nil {
		t.Fatal("no panic")
	}
	var got []string
	_, stack := s.Panicked()
	for _, c := range stack {
		got = append(got, fmt.Sprintf("%s:%d%s", c.Func, c.Line, locals(c)))
	}
	want := []string{`inner:5 k=3 m=map["k": 3] p=nil`, `outer:10 name="abc" n=3`, ":1"}
	if len(got) != 3 || got[1] != want[1] || got[2] != want[2] || !strings.HasPrefix(got[0], "inner:5 k=") || !strings.HasSuffix(got[0], want[0][len("inner:5 k=3"):]) {
		t.Errorf("got %q, want %q", got, want)
	}
	r, err := s.Evaluate(t.Context(), "m[\"k\"] * 2", &stack[0])
	if err != nil || r.Values[0] != 6 {
		t.Errorf("%v, %v", r.Values, err)
	}
}

// A panic of a goroutine that nothing recovers halts it as a cell's own does.
func TestGoroutinePanicHalts(t *testing.T) {
	d := newDebugged(t)
	d.HaltOnUncaught(true)
	d.start(t.Context(), "done := make(chan bool)\ngo func() {\n\tdefer close(done)\n\tx := 4\n\tpanic(fmt.Sprint(\"x is \", x))\n}()\n<-done")
	h, ok := d.halt(t)
	if !ok || h.Reason != "exception" || h.Text != "panic: x is 4" {
		t.Fatalf("%v: %+v", ok, h)
	}
	if stack, _ := d.Stack(h.Thread); len(stack) == 0 || !strings.Contains(locals(stack[0]), " x=") {
		t.Errorf("stack is %v", stack)
	}
	d.Continue()
	if h, ok := d.halt(t); ok {
		t.Errorf("halts once more: %+v", h)
	}
}
