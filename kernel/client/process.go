package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"forgekernel/kernel/wire"
)

// Command says how to start a kernel process.
type Command struct {
	Argv []string // {connection_file} is replaced
	Env  []string // added to the environment, KEY=value
	Dir  string   // working directory; empty is the caller's
	// SignalInterrupt makes Interrupt send SIGINT, for kernels that do not
	// understand interrupt_request.
	SignalInterrupt bool
}

// ReadKernelspec reads the command of a kernel.json.
func ReadKernelspec(path string) (Command, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Command{}, fmt.Errorf("client: kernelspec: %w", err)
	}
	var spec struct {
		Argv          []string          `json:"argv"`
		Env           map[string]string `json:"env"`
		InterruptMode string            `json:"interrupt_mode"`
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return Command{}, fmt.Errorf("client: kernelspec %s: %w", path, err)
	}
	if len(spec.Argv) == 0 {
		return Command{}, fmt.Errorf("client: kernelspec %s: no argv", path)
	}
	cmd := Command{Argv: spec.Argv, SignalInterrupt: spec.InterruptMode != "message"}
	for i, arg := range cmd.Argv {
		cmd.Argv[i] = strings.ReplaceAll(arg, "{resource_dir}", filepath.Dir(path))
	}
	for key, value := range spec.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return cmd, nil
}

// process is a kernel that Start runs.
type process struct {
	cmd     *exec.Cmd
	signals bool
	dir     string        // of its connection file; removed at the end
	output  tail          // what it printed
	release func()        // lets go of its ports, which it has or will not have
	exited  chan struct{} // closed when it ended
	err     error         // of Wait
}

func startProcess(command Command, ipc bool) (*process, *wire.Connection, error) {
	if len(command.Argv) == 0 {
		return nil, nil, errors.New("client: no command")
	}
	dir, err := os.MkdirTemp("", "kernel-") // mode 0700
	if err != nil {
		return nil, nil, fmt.Errorf("client: %w", err)
	}
	p := &process{dir: dir, signals: command.SignalInterrupt, exited: make(chan struct{})}
	connection, release, err := newConnection(dir, ipc)
	if err == nil {
		p.release = release
		if err = p.start(command, connection); err != nil {
			p.release()
		}
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return p, connection, nil
}

// start writes the connection file and runs the command.
func (p *process) start(command Command, connection *wire.Connection) error {
	path := filepath.Join(p.dir, "connection.json")
	if err := connection.Write(path); err != nil {
		return err
	}
	args := make([]string, len(command.Argv))
	for i, arg := range command.Argv {
		args[i] = strings.ReplaceAll(arg, "{connection_file}", path)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir = command.Dir
	// Kernels look at the last to notice that we are gone.
	p.cmd.Env = append(append(os.Environ(), command.Env...), fmt.Sprintf("JPY_PARENT_PID=%d", os.Getpid()))
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.WaitDelay = time.Second // its children may hold the pipe
	// Ctrl-C at our terminal is for us; we interrupt the kernel by message.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("client: start the kernel: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		os.RemoveAll(p.dir)
		close(p.exited)
	}()
	return nil
}

// kill ends the process and everything in its group, and waits for it.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // fails only when it is gone
		<-p.exited
	}
}

// deadError describes the end of the process.
func (p *process) deadError() *DeadError {
	reason := "its process ended"
	if p.cmd.ProcessState != nil {
		reason = p.cmd.ProcessState.String()
	}
	return &DeadError{Reason: reason, Output: p.output.String()}
}

// newConnection chooses addresses and a key. The addresses are kept for the kernel
// until they are released.
func newConnection(dir string, ipc bool) (_ *wire.Connection, release func(), err error) {
	c := &wire.Connection{Transport: "tcp", IP: "127.0.0.1", Key: uuid.NewString(), SignatureScheme: wire.Scheme}
	ports := []*int{&c.ShellPort, &c.IOPubPort, &c.StdinPort, &c.ControlPort, &c.HBPort}
	if ipc {
		c.Transport, c.IP = "ipc", filepath.Join(dir, "s")
		for i, port := range ports {
			*port = i + 1
		}
		return c, func() {}, nil
	}
	free, release, err := holdPorts(len(ports))
	if err != nil {
		return nil, nil, err
	}
	for i, port := range ports {
		*port = free[i]
	}
	return c, release, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.text)), "\uFFFD")
}
