// Package tool runs the command-line tools of hosts, as a person would.
//
// A tool keeps its own login: nothing here reads, prints or passes on credentials, and a
// tool inherits the environment as it is. It runs in a process group of its own, so that
// an interrupt reaches it once, from here, and what must be done afterwards can be.
package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Tool is a program on PATH.
type Tool struct {
	Name     string
	Out, Err io.Writer // get what the program prints while it runs; nil for nobody

	path string
}

// Find finds a tool, which install is how one gets it.
func Find(name, install string) (*Tool, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("there is no %s on PATH: %s", name, install)
	}
	return &Tool{Name: name, path: path}, nil
}

// Error is a tool that ended with a status, and the end of what it had to say.
type Error struct {
	Command string
	Status  int
	Said    string
}

func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("%s ended with status %d", e.Command, e.Status)
	}
	return fmt.Sprintf("%s ended with status %d: %s", e.Command, e.Status, e.Said)
}

// grace is what a tool has to end after an interrupt, and what its outputs stay open for
// after it has ended: what it left running may hold them.
var grace = 10 * time.Second

// Run runs the tool and returns what it printed, both streams in their order, the last
// [Kept] bytes of it.
func (t *Tool) Run(ctx context.Context, args ...string) (string, error) {
	said := &tail{}
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Stdout, cmd.Stderr = said.also(t.Out), said.also(t.Err)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		if cmd.Process != nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started and did not end
		}
		return said.String(), context.Cause(ctx)
	case errors.As(err, &exit):
		return said.String(), &Error{Quote(append([]string{t.Name}, args...)), exit.ExitCode(), said.end()}
	case errors.Is(err, exec.ErrWaitDelay): // the tool itself ended with status 0
		return said.String(), nil
	}
	return said.String(), err
}

// versionPattern finds a version in what a tool says of itself.
var versionPattern = regexp.MustCompile(`([0-9]+)\.([0-9]+)\.([0-9]+)`)

// Require refuses a tool that is older than a version. ask is the argument that makes it
// say its own.
func (t *Tool) Require(ctx context.Context, ask string, oldest [3]int) error {
	said, err := t.Run(ctx, ask)
	if err != nil {
		return err
	}
	m := versionPattern.FindStringSubmatch(said)
	if m == nil {
		return fmt.Errorf("%s %s tells no version: %q", t.Name, ask, strings.TrimSpace(said))
	}
	for i, want := range oldest {
		switch have, _ := strconv.Atoi(m[i+1]); {
		case have > want:
			return nil
		case have < want:
			return fmt.Errorf("%s is %s; %d.%d.%d or later is needed", t.Name, m[0], oldest[0], oldest[1], oldest[2])
		}
	}
	return nil
}

// plain needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Quote is a command as one types it into a shell.
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if !plain.MatchString(a) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Kept is how much of what a tool prints is kept, in bytes.
const Kept = 1 << 20

// tail keeps the end of what is written to it, from two streams at once.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.text.Write(p)
	if extra := t.text.Len() - Kept; extra > 0 {
		t.text.Next(extra)
	}
	return n, err
}

// also is a stream that goes to w, too.
func (t *tail) also(w io.Writer) io.Writer {
	if w == nil {
		return t
	}
	return io.MultiWriter(t, w)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// end is the last lines, for an error.
func (t *tail) end() string {
	const most = 6
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
