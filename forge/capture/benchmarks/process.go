package benchmarks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// request is a line to a peer.
type request struct {
	ID      int        `json:"id"`
	Do      string     `json:"do"` // hello, prepare, run, time or device
	Program string     `json:"program,omitempty"`
	Arrays  string     `json:"arrays,omitempty"`
	Results string     `json:"results,omitempty"`
	Model   *modelFile `json:"model,omitempty"`
	Lead    int        `json:"lead"`
	Runs    int        `json:"runs"`
}

// modelFile is where a program was imported from. Its inputs are m0, m1, … in the
// archive.
type modelFile struct {
	Path    string   `json:"path"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

// answer is a line from a peer.
type answer struct {
	ID    int             `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error string          `json:"error"`
}

// reportedError is what a peer that works says went wrong.
type reportedError struct{ message string }

func (e *reportedError) Error() string { return e.message }

// Limits of a process.
const (
	maxAnswer = 64 << 10    // bytes of a line
	maxStderr = 4 << 10     // bytes kept of what it writes to standard error
	waitDelay = time.Second // for its pipes to close once it has ended
)

// process is a running peer. One request is answered before the next is sent.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan line
	said  *tail
	last  int // id of a request
}

// line is one of the answers, or why there are no more.
type line struct {
	text []byte
	err  error
}

// environment is that of the parent without what would choose slow kernels for
// OpenBLAS, and with the number of threads for all libraries.
// On a GPU the compiler of PyTorch tries many kernels, and gets all processors for that.
func environment(threads int, d Device) []string {
	chosen := map[string]string{"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
	if d == CPU {
		chosen["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
	}
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

// launch starts a process in a group of its own, which ends with all that it
// started. When this process dies, it ends with its input.
func launch(argv []string, threads int, d Device) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan line, 1), said: &tail{}}
	p.cmd.Env = environment(threads, d)
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
func (p *process) read(stdout io.Reader) {
	defer close(p.lines)
	scan := bufio.NewScanner(stdout)
	scan.Buffer(make([]byte, 0, 4<<10), maxAnswer)
	for scan.Scan() {
		select {
		case p.lines <- line{text: bytes.Clone(scan.Bytes())}:
		default: // more answers than requests: the next one does not get its own
			return
		}
	}
	err := scan.Err()
	if err == nil {
		err = errors.New("its process has ended")
	}
	select {
	case p.lines <- line{err: err}:
	default:
	}
}

// ask sends a request and decodes the answer, unless ctx ends first.
func (p *process) ask(ctx context.Context, r request, into any) error {
	p.last++
	r.ID = p.last
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A request is shorter than a pipe holds: writing does not block.
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return errors.New("its process has ended")
	}
	select {
	case l, ok := <-p.lines:
		if !ok {
			return errors.New("it answered more than it was asked")
		}
		if l.err != nil {
			return l.err
		}
		return p.decode(l.text, into)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// decode reads the answer to the last request.
func (p *process) decode(text []byte, into any) error {
	var a answer
	if err := strict(text, &a); err != nil {
		return fmt.Errorf("it answers %.60q, which is no answer: %w", text, err)
	}
	switch {
	case a.ID != p.last:
		return fmt.Errorf("it answers request %d when asked number %d", a.ID, p.last)
	case a.Error != "":
		return &reportedError{a.Error}
	case a.OK == nil:
		return fmt.Errorf("it answers %.60q, which says nothing", text)
	}
	if err := strict(a.OK, into); err != nil {
		return fmt.Errorf("it answers %.60q, which is no answer: %w", text, err)
	}
	return nil
}

// strict decodes a value in which every field is known.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// end kills the process and what it started, and returns the last line that it
// wrote to standard error.
func (p *process) end() string {
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
