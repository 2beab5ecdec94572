package front

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// Whatever a cell does to its process: one error that says what happened and
// what was lost, definitions restored, and the next cell runs.
func TestSessionDies(t *testing.T) {
	for _, c := range []struct{ code, name, says string }{
		{"exit 3", "SessionExit", "exited with status 3"},
		{"exit 0", "SessionExit", "exited with status 0"},
		{"crash maps", "ConcurrentMapWrites", "fatal error: concurrent map writes"},
		{"crash stack", "StackOverflow", "fatal error: stack overflow"},
		{"crash memory", "OutOfMemory", "ran out of memory"},
		{"crash panic", "Panic", "panic: goroutine panics"},
		{"crash abort", "NativeCrash", "SIGABRT"},
		{"crash kill", "Killed", "SIGKILL"},
		{"crash term", "Killed", "SIGTERM"},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			if underRace && (c.code == "crash memory" || c.code == "crash maps") {
				t.Skip("the race detector notices first, in its own way")
			}
			r := start(t, func(cfg *Config) { cfg.MemoryLimit = 1 << 30 })
			r.run("var x\nvar y\ndef layer")
			child := r.run("child").text(t)
			res := r.ran(r.execute("print before\ndisplay d shown\n" + c.code))
			if res.Name != c.name || !strings.Contains(res.Value, c.says) {
				t.Errorf("%s: %s; want %s, %q", res.Name, res.Value, c.name, c.says)
			}
			trace := strings.Join(res.Traceback, "\n")
			for _, want := range []string{"Lost: x int, y int.", "Restored: the ForgeScript functions layer."} {
				if !strings.Contains(trace, want) {
					t.Errorf("the trace does not say %q:\n%s", want, trace)
				}
			}
			var types []string
			for _, o := range res.outputs {
				types = append(types, o.Header.MsgType)
			}
			if !slices.Equal(types, []string{"stream", "display_data", "error"}) {
				t.Errorf("outputs:\n%s", describe(res.outputs))
			}
			equal(t, "next cell", r.run("defined").text(t), `[{"name":"layer","source":"def layer"}]`)
			gone(t, child)
		})
	}
}

// doomedFront is a front in a process of its own.
func doomedFront(connectionFile string) int {
	err := Run(context.Background(), Config{ConnectionFile: connectionFile, SessionArgv: []string{os.Args[0], "fake-session"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// The session and what it started die with the front, however the front dies.
func TestFrontDies(t *testing.T) {
	started := make(chan *os.Process, 1)
	r := launchAs(t, func(_ context.Context, c Config) error {
		front := exec.Command(os.Args[0], "front", c.ConnectionFile)
		if err := front.Start(); err != nil {
			return err
		}
		started <- front.Process
		if err := front.Wait(); front.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			return fmt.Errorf("the front was not killed: %w", err)
		}
		return nil
	})
	r.subscribe()
	r.want("iopub_welcome")
	r.want("status")
	pid := r.run("pid").text(t)
	child := r.run("child").text(t)
	(<-started).Kill()
	gone(t, pid)
	gone(t, child)
}

// A process that escapes from the session's group with all of its descriptors
// does not keep the front from noticing the session's end.
func TestEscapedProcess(t *testing.T) {
	r := start(t)
	escaped := r.run("escape 1000").text(t)
	equal(t, "cell", r.run("print x\nexit 3").Name, "SessionExit")
	equal(t, "next", r.run("result 1").text(t), "1")
	pid, err := strconv.Atoi(escaped)
	if err != nil {
		t.Fatal(err)
	}
	if !alive(escaped) {
		t.Error("the process did not escape")
	}
	syscall.Kill(pid, syscall.SIGKILL)
}

// Waiting cells are aborted, and the ones after run in the new session.
func TestSessionDiesWithQueue(t *testing.T) {
	r := start(t)
	first := r.execute("print in\nwait go\nexit 1")
	second := r.execute("result 2")
	sub := r.subshell()
	other := r.send(r.shell, r.in(sub, "execute_request", map[string]any{"code": "stream in\nblock"}))
	r.prints(other)
	r.send(r.shell, r.in(r.subshell(), "execute_request", map[string]any{"code": "signal go"}))
	replies := r.replies(4)
	equal(t, "first", replies[first.Header.MsgID].Name, "SessionExit")
	equal(t, "second", replies[second.Header.MsgID].Name, "Aborted")
	equal(t, "other", replies[other.Header.MsgID].Name, "SessionExit")
}

// A session that dies between cells is replaced, and the next cell says so.
func TestSessionDiesIdle(t *testing.T) {
	r := start(t)
	r.run("var x")
	pid := r.run("pid").text(t)
	r.run("crash later")
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(number, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	gone(t, pid) // its end is not announced
	// A cell that is sent at this moment may still meet the dying session.
	res := r.run("result 1")
	text := res.stream(t, stderr) + strings.Join(res.Traceback, "\n")
	if !strings.Contains(text, "status 5") || !strings.Contains(text, "Lost: x int.") {
		t.Errorf("the next cell says %q", text)
	}
	equal(t, "next", r.run("result 2").text(t), "2")
}

// A session that cannot start is reported with every cell and not started in a
// loop.
func TestSessionCannotStart(t *testing.T) {
	for name, c := range map[string]struct {
		argv []string
		says string
	}{
		"dies":          {nil, "status 7: cannot start"},
		"other version": {nil, "another build"},
		"garbage":       {nil, "session"},
		"no command":    {[]string{"/does/not/exist"}, "/does/not/exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, func(cfg *Config) {
				cfg.SessionArgv = append(cfg.SessionArgv, name)
				if c.argv != nil {
					cfg.SessionArgv = c.argv
				}
			})
			for range 2 {
				res := r.run("result 1")
				if res.Status != "error" || !strings.Contains(res.Value, c.says) {
					t.Errorf("%s: %s", res.Name, res.Value)
				}
			}
			reply, _ := r.ask(r.shell, "complete_request", wire.CompleteRequest{Code: "x"})
			equal(t, "complete", content[wire.ErrorReply](t, reply).Status, "error")
		})
	}
}

// What only looks like the end of a session is printed like anything else.
func TestFalseLastWords(t *testing.T) {
	r := start(t)
	equal(t, "stderr", r.run("eprint fatal error: not really\nprint x\neprint more").stream(t, stderr), "fatal error: not really\nmore\n")
	m := r.execute("eprint fatal error: not yet\nwait go")
	for r.recv(r.iopub).Header.MsgType != "stream" { // although the cell goes on
	}
	r.send(r.control, r.message("interrupt_request", nil))
	r.until(m)
}

// A goroutine's panic stands on stderr before it stands in the crash output: what was
// read in between is part of the report when the rest comes in time.
func TestPanicIsNotPrinted(t *testing.T) {
	var s sink
	p, ends, err := newPipes(printed{s.output(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.waits = time.Hour
	const text = "panic: goroutine panics\n"
	write := func(end int, text string) {
		t.Helper()
		if _, err := ends[end].WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(1, text)
	p.mu.Lock()
	if _, _, err := p.readOnce(stderr, int(p.err.Fd()), readSize); err != nil || string(p.fatal) != text {
		t.Errorf("%q is held, %v, want %q", p.fatal, err, text)
	}
	p.mu.Unlock()
	const rest = "\ngoroutine 7 [running]:\n"
	write(1, rest)
	write(2, text+rest)
	for _, end := range ends {
		end.Close()
	}
	traced, fatal, _ := p.finish()
	before, report := splitFatal(string(fatal), string(traced))
	equal(t, "report", []string{before, report}, []string{"", text + rest})
	equal(t, "printed", len(s.published()), 0)
}

// printed is a printer of one cell.
type printed struct{ *cellOutput }

func (p printed) print(stream string, text []byte) time.Duration { return p.write(stream, text) }
func (p printed) unprint(stream string) []byte                   { return p.unprinted(stream) }

const outOfMemoryReport = "runtime: out of memory: cannot allocate 8589934592-byte block (3932160 in use)\n" +
	"fatal error: runtime: out of memory\n\ngoroutine 7 [running]:\nmain.main()\n\t/a.go:3\n"

// Running out of memory is told in a line, without the runtime's stacks.
func TestOutOfMemoryIsBrief(t *testing.T) {
	e := crash{report: outOfMemoryReport, limit: 1 << 30}.failure(loss{})
	if n := len(e.Traceback); n > 4 || strings.Contains(strings.Join(e.Traceback, "\n"), "goroutine") {
		t.Errorf("%d lines:\n%s", n, strings.Join(e.Traceback, "\n"))
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		crash      crash
		name, says string
	}{
		{crash{report: "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n"}, "Deadlock", "every goroutine"},
		{crash{report: "runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n"}, "StackOverflow", "fatal error: stack overflow"},
		{crash{report: "fatal error: concurrent map read and map write\n"}, "ConcurrentMapAccess", "RWMutex"},
		{crash{report: "SIGSEGV: segmentation violation\nPC=0x0 m=0 sigcode=1\nsignal arrived during cgo execution\n"}, "NativeCrash", "native code"},
		{crash{report: "fatal error: sync: unlock of unlocked mutex\n"}, "LockMisuse", "lock"},
		{crash{report: "fatal error: something new\n"}, "FatalError", "something new"},
		{crash{report: outOfMemoryReport, limit: 1 << 30}, "OutOfMemory", "ran out of memory at its limit of 1024 MiB (fatal error: runtime: out of memory)"},
		{crash{report: outOfMemoryReport}, "OutOfMemory", "ran out of memory (fatal error: runtime: out of memory)"},
		{crash{signal: syscall.SIGSEGV}, "NativeCrash", "SIGSEGV"},
		{crash{report: "SIGSEGV: segmentation violation\n", peak: 900 << 20, limit: 1 << 30}, "OutOfMemory", "limit of 1024 MiB"},
		{crash{report: "SIGSEGV: segmentation violation\n", peak: 100 << 20, limit: 1 << 30}, "NativeCrash", "SIGSEGV"},
		{crash{signal: syscall.SIGKILL, peak: 1 << 30, limit: 1 << 30}, "OutOfMemory", "SIGKILL"},
		{crash{signal: syscall.SIGUSR1}, "Killed", "SIGUSR1"},
		{crash{exited: true, status: 2}, "SessionExit", "status 2"},
		{crash{reason: "the front says so"}, "SessionFailed", "the front says so"},
	} {
		name, what := c.crash.explain()
		if name != c.name || !strings.Contains(what, c.says) {
			t.Errorf("%+v: %s: %s", c.crash, name, what)
		}
	}
}

func TestTrace(t *testing.T) {
	for _, c := range []struct {
		report string
		want   []string
	}{
		{"", nil},
		{"fatal error: x\n\ngoroutine 1 [running]:\nmain.main()\n\ngoroutine 2 [select]:\nother()\n",
			[]string{"fatal error: x", "", "goroutine 1 [running]:", "main.main()"}},
		{"runtime: sp=0x1 stack=[0x2]\nfatal error: stack overflow\n\nruntime stack:\nruntime.throw()\n\ngoroutine 7 gp=0x1 m=0 mp=0x2 [running]:\nf()\n\tcell:1 +0x8 fp=0x1 sp=0x2 pc=0x3\n",
			[]string{"fatal error: stack overflow", "", "goroutine 7 [running]:", "f()", "\tcell:1 +0x8"}},
		{"SIGSEGV: segmentation violation\nPC=0x1 m=0 sigcode=0\n\ngoroutine 0 gp=0x1 m=0 [idle]:\nruntime.futex()\n\nrax    0x0\nrbx    0x1\n",
			[]string{"SIGSEGV: segmentation violation"}},
		{"fatal error: x\n\ngoroutine 3 [running]:\nmaps.fatal()\n\tm.go:1\n" + strings.Repeat("forgekernel/kernel/gocell/eval.(*frame).exec(0x1)\n\te.go:2\n", 3) +
			"other()\n\to.go:1\nforgekernel/kernel/gocell/eval.f()\n\te.go:3\ncreated by forgekernel/kernel/gocell/eval.g in goroutine 1\n\te.go:4",
			[]string{"fatal error: x", "", "goroutine 3 [running]:", "maps.fatal()", "\tm.go:1", "forgekernel/kernel/gocell/eval.(*frame).exec(0x1)", "\te.go:2",
				"… and 2 more calls of the evaluator", "other()", "\to.go:1", "forgekernel/kernel/gocell/eval.f()", "\te.go:3", "created by forgekernel/kernel/gocell/eval.g in goroutine 1", "\te.go:4"}},
	} {
		equal(t, c.report, crash{report: c.report}.trace(), c.want)
	}
	long := crash{report: "fatal error: x\n" + strings.Repeat("line\n", 100)}
	equal(t, "length", len(long.trace()), maxTrace+1)
}

func TestLoss(t *testing.T) {
	var l loss
	equal(t, "nothing", l.sentences()[1], "No variables or functions were lost.")
	for range 25 {
		l.held = append(l.held, link.Symbol{Name: "f", Kind: "func", Type: "func()"})
	}
	got := l.sentences()[1]
	if !strings.HasPrefix(got, "Lost: f (func), f (func),") || !strings.HasSuffix(got, " and 5 more.") {
		t.Errorf("%s", got)
	}
}

// A cell that lacks a name is told that a session which ended had it, until one has
// it again.
func TestRemind(t *testing.T) {
	v := newSupervisor(nil, nil, nil, slog.New(slog.DiscardHandler))
	holds := func(names ...string) {
		var done link.DoneBody
		for _, name := range names {
			done.Symbols = append(done.Symbols, link.Symbol{Name: name})
		}
		v.learn(done)
	}
	reminded := func(message string) bool {
		e := &link.Error{Name: "CompileError", Value: message}
		v.remind(e)
		return len(e.Traceback) > 0
	}
	holds("x", "y")
	equal(t, "in the same session", reminded("undefined: x"), false)
	v.lose(&session{})
	v.lose(&session{})
	holds("y")
	for message, want := range map[string]bool{"undefined: x": true, "undefined: y": false, "undefined: z": false, "undefined: x.F": false, "x": false} {
		equal(t, message, reminded(message), want)
	}
	v.remind(nil)
}

func TestSplitFatal(t *testing.T) {
	for _, c := range [][4]string{ // stderr, crash output; printed, report
		{"printed\npanic: x\n\ngoroutine 1\n", "panic: x\n\ngorou", "printed\n", "panic: x\n\ngorou"},
		{"printed\nfatal error: maps\n\ngoroutine 1 [running]:\n", "\ngoroutine 1 [running]:\n", "printed\n", "fatal error: maps\n\ngoroutine 1 [running]:\n"},
		{"runtime: sp=1\nfatal error: stack overflow\n\nruntime stack:\nmore\n", "\nruntime stack:\nmore\n", "", "runtime: sp=1\nfatal error: stack overflow\n\nruntime stack:\nmore\n"},
		{"printed only", "", "printed only", ""},
		{"cut off", "goroutine 1\n", "cut off", "goroutine 1\n"},
		{"", "\n\n", "", ""},
		{"printed\nfatal error: no trace\n", "", "printed\n", "fatal error: no trace\n"},
	} {
		printed, report := splitFatal(c[0], c[1])
		equal(t, "split", []string{printed, report}, c[2:])
	}
}

// Nothing that was printed is invented, and a report is explained without fail.
func FuzzSplitFatal(f *testing.F) {
	f.Add("printed\nfatal error: x\n\ngoroutine 1 [running]:\n", "\ngoroutine 1 [running]:\n")
	f.Add("", "\n")
	f.Fuzz(func(t *testing.T, text, traced string) {
		printed, report := splitFatal(text, traced)
		if !strings.HasPrefix(text, printed) {
			t.Errorf("%q was not printed", printed)
		}
		c := crash{report: report, exited: true, status: 2}
		if e := c.failure(loss{}); e.Name == "" || e.Value == "" || len(e.Traceback) > maxTrace+8 {
			t.Errorf("%+v", e)
		}
	})
}
