// Package shell runs commands for cells: output arrives live, an interrupt
// reaches everything that a command started, and nothing outlives its session.
//
// A command is a direct child of the session in a process group of its own, so
// that an interrupt can be sent to a pipeline as a whole and to no other. Its
// stdin is /dev/null. With [Command.Terminal] stdout and stderr are one
// pseudo-terminal, because many programs hold their output back when they
// write to a pipe. When the session dies, the host's kernel kills its children
// (see launch) and the keeper what these left behind.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// grace is how long a command may take to end after SIGINT before it is
// killed. Half a second lets a Python or make child clean up while a person
// still feels the interrupt take effect.
var grace = 500 * time.Millisecond

// Command is one command to run.
type Command struct {
	Path string   // program, such as /bin/sh
	Args []string // without the program's name
	// Terminal gives the command a pseudo-terminal for stdout and stderr,
	// which are then both copied to Stdout.
	Terminal bool
	// Stdout and Stderr receive output as it comes. They are called for every
	// piece, so that the place that output goes to may change after the cell
	// has ended.
	Stdout, Stderr func() io.Writer

	script string // what the command reads from descriptor 3, if anything
}

// Line is the command that a shell runs for the given text.
func Line(text string) Command { return Script(text, Path()) }

// maxArgument is what Linux allows one argument of a command, in bytes.
const maxArgument = 128 << 10

// readScript runs the script behind descriptor 3, which it closes, so that the
// script finds all as with -c. Its lines keep their numbers.
const readScript = `eval "$(command -p cat <&3)" 3<&-`

// Script is the command that a shell runs for a script of any length, which
// calls itself name and has the given arguments.
func Script(text, name string, args ...string) Command {
	c := Command{Path: Path()}
	if len(text) >= maxArgument {
		c.script, text = text, readScript
	}
	c.Args = append([]string{"-c", text, name}, args...)
	return c
}

// Path is the shell that runs command lines: bash where there is one, for
// people write bash, else sh.
func Path() string {
	if p, err := exec.LookPath("bash"); err == nil {
		return p
	}
	return "/bin/sh"
}

// ExitError says how a command failed.
type ExitError struct {
	Status int    // exit status, or -1 when a signal ended the command
	Signal string // its name, when there was one
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "the command was ended by signal " + e.Signal
	}
	return fmt.Sprintf("the command ended with exit status %d", e.Status)
}

// Run runs c to its end. When ctx ends first the command's process group gets
// SIGINT and, after half a second, SIGKILL; the error is then context.Cause(ctx).
// Output of processes that c leaves behind keeps being copied after Run has
// returned.
func (c Command) Run(ctx context.Context) error {
	p, err := c.start()
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.stop()
		return context.Cause(ctx)
	}
	p.drain()
	return p.err
}

// process is a started command.
type process struct {
	pid    int
	ended  chan struct{} // closed when the direct child has been waited for
	err    error         // valid after ended
	copies []*copier
}

func (c Command) start() (*process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.SysProcAttr = ownGroup()
	out, err := c.outputs(cmd)
	if err == nil && c.script != "" {
		var script *os.File
		if script, err = memoryFile(c.script); err == nil {
			cmd.ExtraFiles = []*os.File{script}
			out.child = append(out.child, script)
		}
	}
	if err == nil {
		err = launch(cmd)
	}
	if err == nil {
		if lost := groups.add(cmd.Process.Pid); lost != nil {
			fmt.Fprintf(c.Stderr(), "[%v]\n", lost)
		}
	}
	for _, f := range out.child {
		f.Close()
	}
	if err != nil {
		for _, c := range out.copies {
			c.src.Close()
		}
		return nil, fmt.Errorf("start the command: %w", err)
	}
	p := &process{pid: cmd.Process.Pid, ended: make(chan struct{}), copies: out.copies}
	for _, c := range p.copies {
		go c.run()
	}
	go func() {
		p.err = exitError(cmd.Wait())
		groups.leaderless(p.pid)
		close(p.ended)
	}()
	return p, nil
}

// stop interrupts the process group and returns when its leader has ended.
func (p *process) stop() {
	syscall.Kill(-p.pid, syscall.SIGINT)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
	p.kill()
	p.drain()
}

// kill ends the whole group. The leader's pid may have been waited for; the
// group's number is not reused while a member lives, and a group without
// members is an error that changes nothing.
func (p *process) kill() {
	syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.ended
}

// drain returns when everything that was written before the call has been
// copied.
func (p *process) drain() {
	for _, c := range p.copies {
		c.drain()
	}
}

func exitError(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	status := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return &ExitError{Status: -1, Signal: signalName(status.Signal())}
	}
	return &ExitError{Status: status.ExitStatus()}
}

// Background reports whether a command line asks to be run in the background,
// and returns it without the ampersand.
func Background(line string) (string, bool) {
	line = strings.TrimSpace(line)
	rest, found := strings.CutSuffix(line, "&")
	if !found || strings.HasSuffix(rest, "&") || strings.HasSuffix(rest, `\`) || strings.HasSuffix(rest, ">") {
		return line, false
	}
	return strings.TrimSpace(rest), true
}

// memoryFile is a file without a name that holds text, ready to be read.
func memoryFile(text string) (*os.File, error) {
	f, err := unnamedFile()
	if err != nil {
		return nil, err
	}
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// outputs are the ends of a command's stdout and stderr.
type outputs struct {
	child  []*os.File // to be closed once the child has them
	copies []*copier
}

func (c Command) outputs(cmd *exec.Cmd) (outputs, error) {
	var out outputs
	add := func(ours, theirs *os.File, to func() io.Writer, settle time.Duration) {
		out.child = append(out.child, theirs)
		out.copies = append(out.copies, newCopier(ours, to, settle))
	}
	if c.Terminal {
		ours, theirs, err := openTerminal()
		if err == nil {
			add(ours, theirs, c.Stdout, terminalSettle)
			cmd.Stdout, cmd.Stderr = theirs, theirs
			return out, nil
		}
		// A sandbox without /dev/ptmx: a pipe works, though some programs
		// then hold their output back.
	}
	for _, end := range []struct {
		of *io.Writer
		to func() io.Writer
	}{{&cmd.Stdout, c.Stdout}, {&cmd.Stderr, c.Stderr}} {
		ours, theirs, err := os.Pipe()
		if err != nil {
			return out, err
		}
		add(ours, theirs, end.to, 0)
		*end.of = theirs
	}
	return out, nil
}
