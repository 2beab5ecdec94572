package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// output collects what a command writes and can be waited for.
type output struct {
	mu   sync.Mutex
	cond *sync.Cond
	buf  bytes.Buffer
}

func newOutput() *output {
	o := &output{}
	o.cond = sync.NewCond(&o.mu)
	return o
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.cond.Broadcast()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await returns when the output contains s.
func (o *output) await(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !strings.Contains(o.buf.String(), s) {
		o.cond.Wait()
	}
}

func line(text string, terminal bool) (Command, *output, *output) {
	c := Line(text)
	stdout, stderr := newOutput(), newOutput()
	c.Terminal = terminal
	c.Stdout = func() io.Writer { return stdout }
	c.Stderr = func() io.Writer { return stderr }
	return c, stdout, stderr
}

// A long script runs as a short one does: with its name, arguments and line
// numbers, and without a further descriptor.
func TestScript(t *testing.T) {
	const script = `echo $0 $# "$2"
if { true >&3; } 2>/dev/null; then echo three is open; fi
nosuchcommand
read x || echo no input
exit 5`
	for name, c := range map[string]struct {
		padding string
		line    string
	}{
		"short": {"\n\n", "line 5: "},
		"long":  {strings.Repeat("# padding\n", maxArgument/10+1), fmt.Sprintf("line %d: ", maxArgument/10+4)},
	} {
		t.Run(name, func(t *testing.T) {
			command := Script(c.padding+script, "name", "one", "two words")
			stdout, stderr := newOutput(), newOutput()
			command.Stdout = func() io.Writer { return stdout }
			command.Stderr = func() io.Writer { return stderr }
			var exit *ExitError
			if err := command.Run(t.Context()); !errors.As(err, &exit) || exit.Status != 5 {
				t.Errorf("ended with %v", err)
			}
			if got, want := stdout.String(), "name 2 two words\nno input\n"; got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
			if !strings.HasPrefix(stderr.String(), "name: ") || filepath.Base(Path()) == "bash" && !strings.Contains(stderr.String(), c.line) {
				t.Errorf("said %q, want %q", stderr, c.line)
			}
		})
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, text     string
		terminal       bool
		stdout, stderr string
		err            error
	}{
		{name: "output", text: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "terminal output", text: "echo out; echo err >&2", terminal: true, stdout: "out\nerr\n"},
		{name: "is a terminal", text: "test -t 1 && test -t 2 && echo yes", terminal: true, stdout: "yes\n"},
		{name: "size", text: "stty size <&1", terminal: true, stdout: "40 100\n"},
		{name: "stdin is empty", text: "cat; echo end", terminal: true, stdout: "end\n"},
		{name: "status", text: "exit 3", err: &ExitError{Status: 3}},
		{name: "signal", text: "kill -SEGV $$", err: &ExitError{Status: -1, Signal: "SIGSEGV"}},
		{name: "not found", text: "exec 2>/dev/null; no-such-command", err: &ExitError{Status: 127}},
		{name: "own group", text: `test $(ps -o pgid= -p $$) = $$ && echo leader`, stdout: "leader\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, stdout, stderr := line(c.text, c.terminal)
			err := cmd.Run(t.Context())
			if fmt.Sprint(err) != fmt.Sprint(c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if stdout.String() != c.stdout || stderr.String() != c.stderr {
				t.Errorf("stdout %q, stderr %q; want %q, %q", stdout, stderr, c.stdout, c.stderr)
			}
		})
	}
}

// Nothing of a large output is missing when Run returns.
func TestLargeOutput(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		cmd, stdout, _ := line("seq 200000", terminal)
		if err := cmd.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for i := range 200000 {
			fmt.Fprintln(&want, i+1)
		}
		if stdout.String() != want.String() {
			t.Errorf("terminal %v: %d bytes, want %d", terminal, len(stdout.String()), want.Len())
		}
	}
}

func TestInterrupt(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"child", "echo started; exec sleep 1000"},
		{"pipeline", "(echo started; sleep 1000) | cat"},
		{"ignores SIGINT", "trap '' INT; echo started; while :; do sleep 1000; done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, stdout, _ := line(c.text, true)
			reason := errors.New("interrupted")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				stdout.await("started")
				cancel(reason)
			}()
			if err := cmd.Run(ctx); err != reason {
				t.Errorf("error %v, want the cause of the cancellation", err)
			}
		})
	}
}

// A command may clean up after SIGINT, and that output is not lost.
func TestInterruptLetsCommandFinish(t *testing.T) {
	defer func(usual time.Duration) { grace = usual }(grace)
	grace = time.Minute // on a busy machine the shell may not come to it soon
	cmd, stdout, _ := line(`trap 'echo cleaned; exit 1' INT; echo started; while :; do sleep 0.01; done`, false)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		stdout.await("started")
		cancel()
	}()
	if err := cmd.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := stdout.String(); got != "started\ncleaned\n" {
		t.Errorf("output %q", got)
	}
}

// Run returns although a process that was left behind holds the output, and
// what that process writes later still arrives.
func TestLeftBehind(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		dir := t.TempDir()
		fifo := dir + "/go"
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, stdout, _ := line(fmt.Sprintf("(read x <%s; echo late) & echo early", fifo), terminal)
		if err := cmd.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := stdout.String(); got != "early\n" {
			t.Errorf("terminal %v: output %q at return", terminal, got)
		}
		release, _, _ := line("echo go >"+fifo, false)
		if err := release.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		stdout.await("late\n")
	}
}

func TestStartError(t *testing.T) {
	cmd, _, _ := line("", true)
	cmd.Path = "/nonexistent/shell"
	if err := cmd.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
}

func TestBackground(t *testing.T) {
	for _, c := range []struct {
		in, out string
		want    bool
	}{
		{"sleep 5 &", "sleep 5", true},
		{"sleep 5&", "sleep 5", true},
		{" a & b & ", "a & b", true},
		{"sleep 5", "sleep 5", false},
		{"a && b", "a && b", false},
		{"a &&", "a &&", false},
		{`echo \&`, `echo \&`, false},
		{"echo >&", "echo >&", false},
		{"&", "", true},
	} {
		if out, got := Background(c.in); out != c.out || got != c.want {
			t.Errorf("Background(%q) = %q, %v; want %q, %v", c.in, out, got, c.out, c.want)
		}
	}
}

func TestJobs(t *testing.T) {
	var jobs Jobs
	sleeper, out, _ := line("echo up; exec sleep 1000", false)
	first, err := jobs.Start(sleeper, "sleep 1000 &")
	if err != nil {
		t.Fatal(err)
	}
	failing, _, _ := line("exit 4", false)
	second, err := jobs.Start(failing, "exit 4 &")
	if err != nil {
		t.Fatal(err)
	}
	<-second.proc.ended
	out.await("up")
	list := jobs.List()
	if len(list) != 2 || list[0] != first || list[1] != second || first.Number != 1 || second.Number != 2 {
		t.Fatalf("jobs %v", list)
	}
	if running, err := first.Running(); !running || err != nil {
		t.Errorf("first job: running %v, %v", running, err)
	}
	var exit *ExitError
	if running, err := second.Running(); running || !errors.As(err, &exit) || exit.Status != 4 {
		t.Errorf("second job: running %v, %v", running, err)
	}
	if list := jobs.List(); len(list) != 1 || list[0] != first {
		t.Errorf("an ended job is listed twice: %v", list)
	}
	jobs.Kill()
	if running, err := first.Running(); running || !errors.As(err, &exit) || exit.Signal != "SIGKILL" {
		t.Errorf("after Kill: running %v, %v", running, err)
	}
}
