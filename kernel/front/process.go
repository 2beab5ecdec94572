package front

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// oomScore makes the kernel's out-of-memory killer prefer the session to the
// front and to Jupyter.
const oomScore = 500

// process is a session's operating-system process, leader of its own group.
// It is told to end when the thread that started it does (Pdeathsig), and so
// must be started on a thread that lives as long as the front. On that SIGTERM
// the session ends all that it started, also what left its group; the guard
// ends the group of a session that cannot.
type process struct {
	cmd *exec.Cmd
	// leash is the write end of a pipe that the guard reads: when the front is
	// killed it closes, and the guard ends the whole group, which Pdeathsig
	// alone would not.
	leash *os.File
	guard *exec.Cmd

	memory atomic.Int64 // limit in bytes; 0 is none

	mu     sync.Mutex
	reaped bool // its number may belong to another process now
}

// guardScript waits for the front's end, leaves the session time to clean up,
// and then ends its group, itself included. It ignores what an interrupt may
// send to the group.
const guardScript = `trap '' INT TERM HUP QUIT; read _; sleep 2; kill -KILL 0`

// guardShell runs it.
var guardShell = "/bin/sh"

// startProcess starts a session. files become its descriptors 1 and up: stdout,
// stderr, link, crash report.
func startProcess(argv []string, files [4]*os.File, memory int64, log *slog.Logger) (*process, error) {
	if len(argv) == 0 {
		return nil, errors.New("front: no command for the session")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	cmd.ExtraFiles = files[2:]
	cmd.SysProcAttr = ownGroup()
	cmd.Env = os.Environ()
	if memory > 0 {
		// The collector works harder before the hard limit is reached.
		cmd.Env = append(cmd.Env, "GOMEMLIMIT="+strconv.FormatInt(memory/10*9, 10))
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the session: %w", err)
	}
	p := &process{cmd: cmd}
	if err := p.limitMemory(memory); err != nil {
		log.Warn("memory limit of the session", "error", err)
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid()), []byte(strconv.Itoa(oomScore)), 0o644); err != nil {
		log.Debug("oom score of the session", "error", err)
	}
	if err := p.startGuard(); err != nil {
		log.Warn("processes of the session may outlive a kernel that is killed: their guard cannot be started", "error", err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// limitMemory bounds the session's data (heap and private mappings) in bytes; 0
// lifts the bound.
func (p *process) limitMemory(bytes int64) error {
	if err := limitData(p.pid(), bytes); err != nil {
		return err
	}
	p.memory.Store(bytes)
	return nil
}

func (p *process) startGuard() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	guard := exec.Command(guardShell, "-c", guardScript)
	guard.Stdin = r
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: p.pid()}
	if err := guard.Start(); err != nil {
		w.Close()
		return err
	}
	p.guard, p.leash = guard, w
	return nil
}

// wait returns when the process has ended and its whole group is gone.
func (p *process) wait() *os.ProcessState {
	// The dead leader is not reaped before its group is killed: until then the
	// group's number cannot go to anyone else.
	proc.AwaitEnd(p.pid())
	p.kill()
	p.mu.Lock()
	p.reaped = true
	p.cmd.Wait() // its error repeats the state
	p.mu.Unlock()
	if p.guard != nil {
		p.leash.Close()
		p.guard.Wait()
	}
	return p.cmd.ProcessState
}

// kill ends the group.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		unix.Kill(-p.pid(), unix.SIGKILL)
	}
}

// resume lets a stopped process run: one that stopped itself, or that somebody
// stopped, would otherwise never hear of an interrupt.
func (p *process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		unix.Kill(p.pid(), unix.SIGCONT)
	}
}

// usageOf the resident set of a process in bytes and the seconds of processor time
// that it has used.
func usageOf(pid int) (memory int64, cpu float64, err error) {
	s, err := proc.Read(pid)
	if err != nil {
		return 0, 0, err
	}
	return s.Pages * int64(os.Getpagesize()), float64(s.User+s.System) / clockTicks, nil
}

// clockTicks is USER_HZ, 100 on every Linux that Go runs on.
const clockTicks = 100
