package gocell

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// uncaughtIn runs a cell that the panic of a goroutine must end.
func uncaughtIn(t *testing.T, s *Session, source string) *PanicError {
	t.Helper()
	_, err := s.Run(t.Context(), Cell{Name: "cell 3", ID: 3, Source: source})
	var p *PanicError
	if !errors.As(err, &p) || !p.Goroutine {
		t.Fatalf("%s: %v", source, err)
	}
	return p
}

// The panic of a goroutine is what its cell ends with, whatever that does, and the
// debugger has the goroutine's calls.
func TestGoroutinePanicEndsCell(t *testing.T) {
	for _, rest := range []string{
		"select {}", "for {}", "time.Sleep(time.Hour)", "<-make(chan int)", "var mu sync.Mutex; mu.Lock(); mu.Lock()",
		"r, w, _ := os.Pipe(); defer w.Close(); io.ReadAll(r)", "for { func() { defer func() { recover() }(); time.Sleep(time.Hour) }() }",
	} {
		s, _ := newTestSession(t, Options{Async: func(_ uint64, err error) { t.Errorf("reported %v", err) }})
		mustRun(t, s, "func fail(name string) { panic(\"no \" + name) }\nkept := 4")
		p := uncaughtIn(t, s, "go fail(\"worker\")\n"+rest)
		if p.Text != "no worker" || len(p.Trace) != 1 || p.Trace[0].Func != "fail" || p.Trace[0].Line != 1 {
			t.Errorf("%s: %v, %+v", rest, p, p.Trace)
		}
		if latest, calls := s.Panicked(); latest.Text != p.Text || len(calls) != 1 || !strings.Contains(locals(calls[0]), `name="worker"`) {
			t.Errorf("%s: %%debug shows %v, %v", rest, latest, calls)
		}
		if got := mustRun(t, s, "kept"); got != "4" {
			t.Errorf("kept is %s", got)
		}
	}
}

// A cell that comes to its end because of the deferred calls of a goroutine that
// panics waits for them.
func TestPendingPanic(t *testing.T) {
	for range 50 {
		s, _ := newTestSession(t, Options{})
		p := uncaughtIn(t, s, "done := make(chan bool)\ngo func() {\n\tdefer runtime.Gosched()\n\tdefer close(done)\n\tpanic(\"late\")\n}()\n<-done")
		if p.Text != "late" {
			t.Fatal(p)
		}
	}
}

// Of several panics the first one is the cell's error; the others are reported, or
// were stopped before they came.
func TestSeveralGoroutinesPanic(t *testing.T) {
	reports := make(chan error, 10)
	s, _ := newTestSession(t, Options{Async: func(_ uint64, err error) { reports <- err }})
	p := uncaughtIn(t, s, "first := make(chan bool)\ngo func() {\n\tdefer panic(\"second\")\n\t<-first\n\tselect {}\n}()\ngo func() {\n\tdefer close(first)\n\tpanic(\"first\")\n}()\nselect {}")
	if p.Text != "first" {
		t.Error(p)
	}
	if len(reports) > 0 {
		t.Error(<-reports) // an interrupt is not replaced
	}
	mustRun(t, s, "1")
}

// The panic of a goroutine ends its own cell, and none that runs beside it.
func TestGoroutinePanicBeside(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "up, end := make(chan bool), make(chan bool)")
	other := make(chan error, 1)
	go func() {
		_, err := s.Run(context.Background(), Cell{Name: "cell 2", ID: 2, Source: "close(up)\n<-end"})
		other <- err
	}()
	uncaughtIn(t, s, "<-up\ngo panic(1)\nselect {}")
	mustRun(t, s, "close(end)")
	if err := <-other; err != nil {
		t.Error(err)
	}
}

// Reading standard input, by any way, ends with the interrupt of the cell, and names the call.
// What the person or the client refuses is an error of the call.
func TestInterruptedInput(t *testing.T) {
	for source, what := range map[string]string{
		"var nm string\nn, err := fmt.Scanln(&nm)\nfmt.Print(n, err)":                       "fmt.Scanln",
		"b := make([]byte, 9)\nn, err := os.Stdin.Read(b)\nfmt.Print(n, err)":               "os.(*File).Read",
		"line, err := bufio.NewReader(os.Stdin).ReadString('\\n')\nfmt.Print(line, err)":    "bufio.(*Reader).ReadString",
		"for {\n\tsc := bufio.NewScanner(os.Stdin)\n\tsc.Scan()\n\tfmt.Print(\"again\")\n}": "bufio.(*Scanner).Scan",
		"kept.Scan()\nfmt.Print(kept.Err())":                                                "bufio.(*Scanner).Scan",
		"var n int\nfmt.Fscan(os.Stdin, &n)\nfmt.Print(n)":                                  "fmt.Fscan",
		"all, err := io.ReadAll(os.Stdin)\nfmt.Print(all, err)":                             "io.ReadAll",
	} {
		// The question ends before the run hears of it and, on a busy machine, long after.
		for _, late := range []time.Duration{0, 100 * time.Millisecond} {
			attempts := 3 // a machine may stand still for longer than a cell is waited for
			for ; attempts > 0 && !interruptInput(t, source, what, late); attempts-- {
			}
			if attempts == 0 {
				t.Errorf("%s: the cell is left behind when the question ends after %v", source, late)
			}
		}
	}
	s, _ := newTestSession(t, Options{Stdin: func(context.Context, string, bool) (string, error) { return "", io.EOF }})
	if got := mustRun(t, s, "var word string\n_, err := fmt.Scan(&word)\nerr == io.EOF || err == io.ErrUnexpectedEOF"); got != "true" {
		t.Errorf("the end of input gives %s", got)
	}
}

// interruptInput interrupts a cell that asks; the question ends some time later. It
// reports whether the cell ended, and was not left behind.
func interruptInput(t *testing.T, source, what string, late time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	interrupt := true
	s, out := newTestSession(t, Options{Stdin: func(context.Context, string, bool) (string, error) {
		if interrupt {
			cancel()
			time.Sleep(late)
		}
		return "", errors.New("no input: interrupted")
	}})
	mustRun(t, s, "kept := bufio.NewScanner(os.Stdin)")
	_, err := s.Run(ctx, Cell{Name: "cell 2", ID: 2, Source: "x := 7\ndefer fmt.Print(\"deferred\")\n" + source})
	var stopped *InterruptError
	if !errors.As(err, &stopped) || stopped.What != what {
		t.Fatalf("%s: %v", source, err)
	}
	if len(stopped.Trace) == 0 {
		return false
	}
	if got := out.take(); got != "deferred" {
		t.Errorf("%s: prints %q", source, got)
	}
	if got := mustRun(t, s, "x"); got != "7" {
		t.Errorf("x is %s", got)
	}
	interrupt = false
	if got := mustRun(t, s, "var word string\n_, err := fmt.Scan(&word)\nerr"); got != "no input: interrupted" {
		t.Errorf("refused input gives %s", got)
	}
	return true
}
