// Package child runs a program that answers lines of its input with lines of its
// output, such as a library in a Python process. One line is answered before the next
// is sent.
package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxLine bounds an answer, in bytes.
const MaxLine = 1 << 20

const (
	maxStderr = 4 << 10     // bytes kept of what it writes to standard error
	waitDelay = time.Second // for its pipes to close once it has ended
)

// ErrEnded is the error of a line to or from a process that has ended.
var ErrEnded = errors.New("its process has ended")

// Process is a running program. It is for one goroutine at a time.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan line
	said  *tail
}

// line is one of the answers, or why there are no more.
type line struct {
	text []byte
	err  error
}

// Environment is that of the parent without what would choose slow kernels for
// OpenBLAS, and with the number of threads for all libraries.
func Environment(threads int) []string {
	chosen := map[string]string{"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
	for _, name := range []string{"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"} {
		chosen[name] = strconv.Itoa(threads)
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, ours := chosen[name]
		return ours || strings.HasPrefix(name, "OPENBLAS_") || strings.HasPrefix(name, "PYTHON")
	})
	for name, value := range chosen {
		env = append(env, name+"="+value)
	}
	return env
}

// Start starts a process in a group of its own, which ends with all that it started.
// When this process dies, it ends with its input.
func Start(argv, env []string) (*Process, error) {
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan line, 1), said: &tail{}}
	p.cmd.Env = env
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = p.said
	p.cmd.WaitDelay = waitDelay
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stdout)
	return p, nil
}

// read passes answers on until there are no more. The channel holds one, so that
// reading ends also when nobody waits: nothing but answers is sent, one a request.
func (p *Process) read(stdout io.Reader) {
	defer close(p.lines)
	scan := bufio.NewScanner(stdout)
	scan.Buffer(make([]byte, 0, 4<<10), MaxLine)
	for scan.Scan() {
		select {
		case p.lines <- line{text: bytes.Clone(scan.Bytes())}:
		default: // more answers than requests: the next one does not get its own
			return
		}
	}
	err := scan.Err()
	if err == nil {
		err = ErrEnded
	}
	select {
	case p.lines <- line{err: err}:
	default:
	}
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ask sends a line, without its end, and returns the next one, unless ctx ends first.
func (p *Process) Ask(ctx context.Context, text []byte) ([]byte, error) {
	// A question is shorter than a pipe holds: writing does not block.
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return nil, ErrEnded
	}
	return p.Next(ctx)
}

// Next returns the next line, unless ctx ends first: the first thing that a process
// says without being asked, for instance.
func (p *Process) Next(ctx context.Context) ([]byte, error) {
	select {
	case l, ok := <-p.lines:
		if !ok {
			return nil, errors.New("it answered more than it was asked")
		}
		return l.text, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// End kills the process and what it started, and returns the last line that it
// wrote to standard error.
func (p *Process) End() string {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	for range p.lines { // until its output ends
	}
	p.stdin.Close()
	p.cmd.Wait() // that it was killed is known
	return p.said.lastLine()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, text...)
	t.kept = t.kept[max(len(t.kept)-maxStderr, 0):]
	return len(text), nil
}

func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.kept))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
