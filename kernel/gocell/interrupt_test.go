package gocell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// endless runs a process that ends with this one, and not before.
const endless = `func() { r, w, _ := os.Pipe(); defer w.Close(); cat := exec.Command("cat"); cat.Stdin = r; cat.Run() }()`

// hangs are cells that never end by themselves.
var hangs = map[string]string{
	"loop":              `for {}`,
	"counting loop":     `for i := 0; ; i++ { kept = i }`,
	"recursive loop":    `func f(n int) { if n > 100 { return }; f(n + 1) }` + "\nfor { f(0) }",
	"receive":           `<-make(chan int)`,
	"nil channel":       `var c chan int; <-c`,
	"send":              `make(chan int) <- 1`,
	"select":            `select {}`,
	"select of two":     `a, b := make(chan int), make(chan int); select { case <-a: case b <- 1: }`,
	"range":             `for range make(chan int) {}`,
	"sleep":             `time.Sleep(time.Hour)`,
	"wait group":        `var wg sync.WaitGroup; wg.Add(1); wg.Wait()`,
	"double lock":       `var mu sync.Mutex; mu.Lock(); mu.Lock()`,
	"callback":          `sort.Slice([]int{3, 2, 1}, func(i, j int) bool { for {} })`,
	"recovering loop":   `for { func() { defer func() { recover() }(); for {} }() }`,
	"background loop":   `go func() { for {} }()` + "\n<-make(chan int)",
	"method from fmt":   "type S int\nfunc (S) String() string { for {} }\nfmt.Println(S(1))",
	"compiled wait":     `c := sync.NewCond(&sync.Mutex{}); c.L.Lock(); c.Wait()`,
	"deferred for ever": `defer func() { for {} }(); for {}`,
	"deferred sleeps":   `defer func() { for { time.Sleep(20 * time.Millisecond) } }(); for {}`,
	"read lock":         `var mu sync.RWMutex; mu.Lock(); mu.RLock()`,
	"range over closed": `c := make(chan int); close(c); for { <-c }`,
	"closure":           `var f func(int) int; f = func(n int) int { if n > 50 { return n }; return f(n + 1) }; for { f(0) }`,
	"goto":              "again:\ngoto again",
	"string callback":   `strings.Map(func(r rune) rune { for {} }, "abc")`,
	"accept":            `l, _ := net.Listen("tcp", "127.0.0.1:0"); defer l.Close(); l.Accept()`,
	"silent server":     `l, _ := net.Listen("tcp", "127.0.0.1:0"); defer l.Close(); http.Get("http://" + l.Addr().String())`,
	"file":              `r, w, _ := os.Pipe(); defer w.Close(); io.ReadAll(r)`,
	"pipe":              `r, _ := io.Pipe(); io.ReadAll(r)`,
	"process":           endless,
	"pulled":            `next, _ := iter.Pull(func(yield func(int) bool) { for { } }); next()`,
	"errors in a loop":  `for { func() { defer func() { recover() }(); var m map[int]int; m[0] = 1 }() }`,
	"growing":           `s := []int{}; for { s = append(s[:0], 1) }`,
	"interface wait":    `var w interface{ Wait() } = func() *sync.WaitGroup { wg := new(sync.WaitGroup); wg.Add(1); return wg }(); w.Wait()`,
	"deferred in range": `func() (n int) { for range slices.Values([]int{1}) { defer func() { for { n++ } }() }; return 1 }()`,
	"iterator":          `for range func(yield func() bool) { for yield() {} } {}`,
}

// TestInterrupt interrupts each of them; with -v it tells how long that took.
func TestInterrupt(t *testing.T) {
	var took []time.Duration
	for name, source := range hangs {
		t.Run(name, func(t *testing.T) {
			s, out := newTestSession(t, Options{})
			mustRun(t, s, "kept := 0\nx := 5")
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				_, err := s.Run(ctx, Cell{Name: "cell 2", ID: 2, Source: "fmt.Println(\"started\")\n" + source})
				ended <- err
			}()
			waitFor(t, func() bool { return strings.Contains(out.text(), "started") })
			began := time.Now()
			cancel()
			select {
			case err := <-ended:
				took = append(took, time.Since(began))
				var stopped *InterruptError
				if !errors.As(err, &stopped) || stopped.What == "" {
					t.Fatalf("an interrupt gives %v", err)
				}
			case <-time.After(generous):
				t.Fatal("the interrupt does not end the cell")
			}
			if got := mustRun(t, s, "x"); got != "5" {
				t.Errorf("after an interrupt x is %s", got)
			}
		})
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		t.Logf("%d interrupts took %v to %v, half of them at most %v, nine of ten %v", n, took[0], took[n-1], took[n/2], took[n*9/10])
	}
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// waitFor polls for something that other goroutines bring about.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.After(generous)
	for !done() {
		select {
		case <-deadline:
			t.Fatal("what the test waits for does not happen")
		case <-time.After(time.Millisecond):
		}
	}
}

// mustRun runs a cell that must succeed and returns the text it shows.
func mustRun(tb testing.TB, s *Session, source string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), generous)
	defer cancel()
	r, err := s.Run(ctx, Cell{Name: "cell", ID: 1, Source: source})
	if err != nil {
		tb.Fatalf("%s\n%s", source, errorText(err))
	}
	text, _ := r.Bundle.Data["text/plain"].(string)
	return text
}

func TestInterruptSaysWhat(t *testing.T) {
	for source, want := range map[string]string{
		"for {}": "running code", "<-make(chan int)": "a channel receive", "time.Sleep(time.Hour)": "time.Sleep", "select {}": "a select statement",
	} {
		s, _ := newTestSession(t, Options{})
		var stopped *InterruptError
		// A busy machine may not have come to the statement, or not have ended it in
		// time: then again, later.
		for after := 20 * time.Millisecond; stopped == nil || (stopped.What != want || len(stopped.Trace) == 0) && after < generous; after *= 2 {
			ctx, cancel := context.WithTimeout(context.Background(), after)
			_, err := s.Run(ctx, Cell{Name: "cell 1", Source: "\n" + source})
			cancel()
			if !errors.As(err, &stopped) || stopped.What != want && stopped.What != "checking the cell" && stopped.What != "running code" {
				t.Fatalf("%s: %v, want %q", source, err, want)
			}
		}
		if len(stopped.Trace) == 0 || stopped.Trace[0].Line != 2 && source != "for {}" { // an empty loop has no place
			t.Errorf("%s: trace is %v", source, stopped.Trace)
		}
	}
}

// TestInterruptRunsDeferred checks that mutexes are released, before the cell is
// said to be over: deferred calls have their time.
func TestInterruptRunsDeferred(t *testing.T) {
	for _, hang := range []string{"for {}", "<-make(chan int)", "select {}"} {
		s, out := newTestSession(t, Options{})
		mustRun(t, s, "var mu sync.Mutex\nfunc hold() {\n\tmu.Lock()\n\tdefer func() { time.Sleep(100 * time.Millisecond); mu.Unlock() }()\n\tfmt.Println(\"held\")\n\t"+hang+"\n}")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			waitFor(t, func() bool { return out.text() != "" })
			cancel()
		}()
		if _, err := s.Run(ctx, Cell{Name: "cell 2", Source: "hold()"}); err == nil {
			t.Fatalf("%s ended", hang)
		}
		if got := mustRun(t, s, "mu.TryLock()"); got != "true" {
			t.Errorf("after %s TryLock gives %s", hang, got)
		}
	}
}

// TestSlowDeferred has a deferred call that comes to run late, as on a machine that
// stands still meanwhile: it is not stopped.
func TestSlowDeferred(t *testing.T) {
	s, out := newTestSession(t, Options{})
	mustRun(t, s, "var mu sync.Mutex")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		waitFor(t, func() bool { return out.text() != "" })
		cancel()
	}()
	if _, err := s.Run(ctx, Cell{Name: "cell 2", Source: "mu.Lock()\ndefer func() { for range 3 { time.Sleep(250 * time.Millisecond) }; mu.Unlock() }()\nfmt.Println(\"held\")\nselect {}"}); err == nil {
		t.Fatal("it ended")
	}
	waitFor(t, func() bool { return mustRun(t, s, "free := mu.TryLock()\nif free { mu.Unlock() }\nfree") == "true" })
}

// What a goroutine asks the person does not keep the cell in compiled code: it is left
// there long before the time is over that a question has to end, which is some hundreds
// of looks. These are counted rather than time, which passes also when the machine
// stands still.
func TestInterruptBesideQuestion(t *testing.T) {
	const apart, most = 10 * time.Millisecond, 100
	asked := make(chan bool)
	s, _ := newTestSession(t, Options{Stdin: func(ctx context.Context, _ string, _ bool) (string, error) {
		close(asked)
		<-ctx.Done()
		return "", ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		// It asks when the cell is in c.Wait, which unlocks.
		_, err := s.Run(ctx, Cell{Name: "cell", Source: "c := sync.NewCond(&sync.Mutex{})\nc.L.Lock()\ngo func() { c.L.Lock(); var word string; fmt.Scan(&word) }()\nc.Wait()"})
		left <- err
	}()
	<-asked
	cancel()
	for looks := 0; len(left) == 0 && looks <= most; looks++ {
		time.Sleep(apart)
	}
	if len(left) == 0 {
		t.Errorf("the cell is not left after %d looks", most)
	}
	var stopped *InterruptError
	if err := <-left; !errors.As(err, &stopped) {
		t.Error(err)
	}
}

// A panic of a goroutine whose cell is over is reported, also while other cells run.
func TestGoroutinePanicIsReported(t *testing.T) {
	reports := make(chan string, 1)
	s, _ := newTestSession(t, Options{Async: func(cell uint64, err error) {
		var p *PanicError
		if errors.As(err, &p) && p.Goroutine && len(p.Trace) > 0 {
			reports <- fmt.Sprintf("%d %v %s:%d", cell, p.Value, p.Trace[0].Cell, p.Trace[0].Line)
		}
	}})
	if _, err := s.Run(context.Background(), Cell{Name: "cell 7", ID: 7, Source: "over := make(chan bool)\ngo func() {\n\t<-over\n\tpanic(\"lost\")\n}()"}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, "close(over)")
	select {
	case got := <-reports:
		if got != "7 lost cell 7:4" {
			t.Errorf("reported %q", got)
		}
	case <-time.After(generous):
		t.Fatal("the panic is not reported")
	}
	mustRun(t, s, "1")
}

func TestGoroutinesAndReset(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "x := 1\ngo func() { for {} }()\ngo func() { <-make(chan int) }()")
	waitFor(t, func() bool {
		list := s.Goroutines()
		return len(list) == 2 && list[0].Line == 2 && list[1].State == "a channel receive"
	})
	s.Reset()
	if len(s.Symbols()) != 0 {
		t.Errorf("after Reset there are %v", s.Symbols())
	}
	if _, err := s.Run(context.Background(), Cell{Source: "x"}); err == nil {
		t.Error("x lives on after Reset")
	}
}

// TestStopGoroutine stops those of one cell and leaves those of another.
func TestStopGoroutine(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "x := 1\nc := make(chan int)\ngo func() { for {} }()\ngo func() { <-make(chan int) }()")
	mustRun(t, s, "go func() { c <- x }()")
	waitFor(t, func() bool { return len(s.Goroutines()) == 3 })
	if s.StopGoroutine(0) || !s.StopGoroutine(s.Goroutines()[1].ID) {
		t.Error("a goroutine is not found by its number, or one is that is not there")
	}
	waitFor(t, func() bool { return len(s.Goroutines()) == 1 })
	if got := mustRun(t, s, "<-c"); got != "1" {
		t.Errorf("the goroutine of another cell sends %s", got)
	}
}

// TestOutputOfGoroutines checks that what a goroutine prints goes to its cell.
func TestOutputOfGoroutines(t *testing.T) {
	outs := map[uint64]*console{1: {}, 2: {}}
	s, _ := newTestSession(t, Options{Writer: writers(outs)})
	run := func(id uint64, source string) {
		t.Helper()
		if _, err := s.Run(context.Background(), Cell{ID: id, Name: "cell", Source: source}); err != nil {
			t.Fatal(errorText(err))
		}
	}
	run(1, "start, done := make(chan int), make(chan int)\ngo func() { <-start; fmt.Println(\"late\"); close(done) }()")
	run(2, "start <- 1\n<-done\nfmt.Println(\"own\")")
	if outs[1].text() != "late\n" || outs[2].text() != "own\n" {
		t.Errorf("cell 1 got %q, cell 2 got %q", outs[1].text(), outs[2].text())
	}
}

// TestKeptStreams checks that what is printed through a stream that compiled code
// has kept goes to the cell that prints.
func TestKeptStreams(t *testing.T) {
	outs := map[uint64]*console{1: {}, 2: {}, 3: {}}
	s, _ := newTestSession(t, Options{Writer: writers(outs)})
	run := func(id uint64, source string) {
		t.Helper()
		if _, err := s.Run(context.Background(), Cell{ID: id, Name: "cell", Source: source}); err != nil {
			t.Fatal(errorText(err))
		}
	}
	run(1, `l := log.New(os.Stdout, "", 0)
b := bufio.NewWriter(os.Stdout)
w := tabwriter.NewWriter(os.Stdout, 0, 8, 1, ' ', 0)
log.SetOutput(os.Stderr)
log.SetFlags(0)
start, done := make(chan int), make(chan int)
go func() { <-start; l.Print("late"); close(done) }()
l.Print("first")`)
	run(2, "start <- 1\n<-done")
	waitFor(t, func() bool { return len(s.Goroutines()) == 0 })
	run(3, "l.Print(\"own\")\nfmt.Fprintln(b, \"buffered\")\nb.Flush()\nfmt.Fprintln(w, \"a\\tb\")\nw.Flush()\nlog.Print(\"log\")")
	for id, want := range map[uint64]string{1: "first\nlate\n", 2: "", 3: "own\nbuffered\na b\nlog\n"} {
		if got := outs[id].text(); got != want {
			t.Errorf("cell %d prints %q, want %q", id, got, want)
		}
	}
}

// TestClosuresOfInterruptedCell calls a function of a cell that was interrupted
// and left a goroutine behind in compiled code.
func TestClosuresOfInterruptedCell(t *testing.T) {
	s, out := newTestSession(t, Options{Stdin: func(context.Context, string, bool) (string, error) { return "line", nil }})
	mustRun(t, s, "xs := []int{2, 3, 1}\ncond := sync.NewCond(new(sync.Mutex))\nvar less func(i, j int) bool\nvar in *bufio.Reader")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		waitFor(t, func() bool { return out.text() != "" })
		cancel()
	}()
	_, err := s.Run(ctx, Cell{Name: "cell 2", Source: `less = func(i, j int) bool { return xs[i] < xs[j] }
in = bufio.NewReader(os.Stdin)
cond.L.Lock()
fmt.Println("waits")
cond.Wait()`})
	var stopped *InterruptError
	if !errors.As(err, &stopped) {
		t.Fatal(err)
	}
	if got := mustRun(t, s, "sort.Slice(xs, less)\ntext, _ := in.ReadString('\\n')\nfmt.Sprint(xs, text)"); got != "[1 2 3]line\n" {
		t.Errorf("later cells get %q", got)
	}
	mustRun(t, s, "cond.Broadcast()")
}

// TestOnceAfterInterrupt interrupts what is to be done once: it is not done.
func TestOnceAfterInterrupt(t *testing.T) {
	for made, call := range map[string]string{
		"sync.OnceFunc(func() { compute() })":                            "once()\nruns",
		"sync.OnceValue(func() int { return compute() })":                "once()",
		"sync.OnceValues(func() (int, error) { return compute(), nil })": "n, err := once()\nif err == nil { runs = n }\nruns",
	} {
		s, out := newTestSession(t, Options{})
		mustRun(t, s, "runs, ready := 0, make(chan bool)\nfunc compute() int { fmt.Println(\"started\"); <-ready; runs++; return runs }\nonce := "+made)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			waitFor(t, func() bool { return out.text() != "" })
			cancel()
		}()
		var stopped *InterruptError
		if _, err := s.Run(ctx, Cell{Name: "cell 2", Source: "once()"}); !errors.As(err, &stopped) {
			t.Fatal(err)
		}
		mustRun(t, s, "close(ready)")
		for range 2 {
			if got := mustRun(t, s, call); got != "1" {
				t.Errorf("%s gives %s", made, got)
			}
		}
	}
}

// TestManyTimers has more callbacks at once than calls may be within one another.
func TestManyTimers(t *testing.T) {
	reports := make(chan error, 1)
	s, _ := newTestSession(t, Options{Async: func(_ uint64, err error) {
		select {
		case reports <- err:
		default:
		}
	}})
	if got := mustRun(t, s, `const callbacks = 5200
var wg sync.WaitGroup
wg.Add(callbacks)
all := make(chan int)
var n atomic.Int32
for range callbacks {
	time.AfterFunc(0, func() {
		defer wg.Done()
		if n.Add(1) == callbacks {
			close(all)
		}
		<-all
	})
}
wg.Wait()
n.Load()`); got != "5200" {
		t.Error(got)
	}
	select {
	case err := <-reports:
		t.Error(err)
	default:
	}
}

// TestPanicOnForeignGoroutine checks callbacks that compiled code calls on
// goroutines of its own.
func TestPanicOnForeignGoroutine(t *testing.T) {
	reports := make(chan string, 10)
	s, _ := newTestSession(t, Options{Async: func(cell uint64, err error) { reports <- fmt.Sprint(cell, " ", err) }})
	mustRun(t, s, "time.AfterFunc(0, func() { panic(\"in timer\") })")
	select {
	case got := <-reports:
		if got != "1 panic: in timer (in a goroutine)" {
			t.Errorf("reported %q", got)
		}
	case <-time.After(generous):
		t.Fatal("the panic is not reported")
	}
	mustRun(t, s, "next, _ := iter.Pull(func(func(int) bool) { panic(\"in iterator\") })\n_ = time.AfterFunc(0, func() { next() })")
	if got := <-reports; got != "1 panic: in iterator (in a goroutine)" {
		t.Errorf("reported %q", got)
	}
	got := mustRun(t, s, `srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic("in handler") }))
defer srv.Close()
_, err := http.Get(srv.URL)
err == nil`)
	if report := <-reports; got != "true" || !strings.Contains(report, "in handler") {
		t.Errorf("the request gives %s, reported %q", got, report)
	}
}

// TestTooMuchMemory asks for more than a machine has, which would end a program.
func TestTooMuchMemory(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("the memory of this machine is not known")
	}
	s, _ := newTestSession(t, Options{})
	for _, source := range []string{"n := 1 << 44; make([]byte, n)", "n := 1 << 41; _ = make([]int64, 0, n)", "n := 1 << 44; _ = make(chan [8]byte, n/8)"} {
		_, err := s.Run(context.Background(), Cell{Name: "cell", Source: source})
		var p *PanicError
		if !errors.As(err, &p) || !strings.Contains(p.Error(), "out of memory") {
			t.Errorf("%s gives %v", source, err)
		}
	}
	mustRun(t, s, "make([]byte, 1000)")
}
