package compile

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process that compiles.
type child struct {
	ctx     context.Context
	cmd     *exec.Cmd
	dir     string
	in      io.WriteCloser
	out     io.Reader
	said    *tail
	version string
	started chan error
	over    chan struct{} // closed when the process has ended
	release chan struct{} // closed when the process is to be waited for
	ended   sync.Once
}

// hello is the first message of a child.
type hello struct {
	Version string `json:"version"`
	Error   string `json:"error"`
}

// start starts a child and reads its first message.
func (c *Compiler) start(ctx context.Context) (*child, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	dir, err := os.MkdirTemp("", "forge-triton-*")
	if err != nil {
		return nil, err
	}
	p := &child{ctx: ctx, dir: dir, said: &tail{}, started: make(chan error, 1), over: make(chan struct{})}
	if err := p.launch(c.Python); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	var h hello
	err = p.receive(&h)
	switch {
	case err != nil:
		err = &Missing{fmt.Sprintf("%s: %v", c.Python, p.failed(err))}
	case h.Error != "":
		err = &Missing{fmt.Sprintf("%s: %s", c.Python, h.Error)}
	case h.Version == "":
		err = &Missing{c.Python + " does not say the version of Triton"}
	}
	if err != nil {
		p.close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	p.version = h.Version
	return p, nil
}

// launch starts the process from a thread that lives as long as it does.
func (p *child) launch(python string) error {
	script := filepath.Join(p.dir, "compile.py")
	if err := os.WriteFile(script, helper, 0o600); err != nil {
		return err
	}
	p.cmd = exec.CommandContext(p.ctx, python, "-B", script)
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), "TRITON_CACHE_DIR="+filepath.Join(p.dir, "cache"), "TRITON_HOME="+p.dir)
	p.cmd.SysProcAttr = ownGroup()
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.cmd.WaitDelay = time.Second
	p.cmd.Stderr = p.said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.in, p.out, p.release = in, out, make(chan struct{})
	go func() {
		runtime.LockOSThread() // the child ends with the thread that started it
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		p.started <- err
		if err != nil {
			return
		}
		<-p.release
		_ = p.cmd.Wait() // what it had to say was read before
		close(p.over)
	}()
	return <-p.started
}

// close ends the process, with its group, and removes its folder; once.
func (p *child) close() {
	p.ended.Do(func() {
		_ = p.in.Close()
		_ = p.cmd.Cancel()
		close(p.release)
		<-p.over
		_ = os.RemoveAll(p.dir)
	})
}

// failed ends the process and says why a message did not come or go: the end of the
// context, or what the process wrote to its standard error.
func (p *child) failed(err error) error {
	p.close()
	if p.ctx.Err() != nil {
		return fmt.Errorf("the compilation by Triton did not finish: %w", context.Cause(p.ctx))
	}
	if said := p.said.String(); said != "" {
		return fmt.Errorf("the process with Triton ended: %s", said)
	}
	return fmt.Errorf("the process with Triton ended: %w", err)
}

func (p *child) send(message any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(raw) > maxMessage {
		return fmt.Errorf("a request of %d bytes is too long", len(raw))
	}
	_, err = p.in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...))
	return err
}

func (p *child) receive(message any) error { return readMessage(p.out, message) }

// readMessage reads one value of JSON behind its length.
func readMessage(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", size)
	}
	var raw bytes.Buffer // grows with what comes, not with what is announced
	if _, err := io.CopyN(&raw, r, int64(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return json.Unmarshal(raw.Bytes(), message)
}

// tail keeps the last lines of what a process writes to its standard error.
type tail struct{ text []byte }

const maxTail = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

func (t *tail) String() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
