package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// process is a rank as its parent sees it: the leader of its own group, so that
// a terminal's interrupt does not reach it and that what it starts ends with it.
type process struct {
	rank    int
	id      proc.ID
	cmd     *exec.Cmd
	channel *Channel
	output  *output

	mu      sync.Mutex
	reaped  bool          // its number may belong to another process now
	stopped time.Duration // how long it was stopped when it was ended for that
}

// startProcess must run on the thread whose end is to end the rank.
func startProcess(rank int, argv, env []string, dir, logs string) (*process, error) {
	channel, theirs, err := channelPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	pipe, write, err := os.Pipe()
	if err != nil {
		channel.Close()
		return nil, err
	}
	defer write.Close()
	cmd := &exec.Cmd{
		Path: thisBinary, Args: argv, Env: env, Dir: dir,
		Stdout: write, Stderr: write, ExtraFiles: []*os.File{theirs},
		SysProcAttr: ownGroup(),
	}
	if err := cmd.Start(); err != nil {
		channel.Close()
		pipe.Close()
		return nil, fmt.Errorf("start rank %d: %w", rank, err)
	}
	p := &process{rank: rank, cmd: cmd, channel: channel, output: newOutput(pipe, openLog(filepath.Join(logs, logName(rank))))}
	go p.output.drain()
	// It is not collected yet, so that its entry in /proc is there.
	stat, err := proc.Read(cmd.Process.Pid)
	if err != nil {
		p.kill()
		p.wait()
		channel.Close()
		return nil, fmt.Errorf("start rank %d: %w", rank, err)
	}
	p.id = stat.ID
	return p, nil
}

func logName(rank int) string { return fmt.Sprintf("rank-%d.log", rank) }

// openLog returns a file that takes nothing when none can be made: logs are a
// convenience, and [Exit] has the tail.
func openLog(path string) io.WriteCloser {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failed{err}
	}
	return f
}

type failed struct{ err error }

func (f failed) Write([]byte) (int, error) { return 0, f.err }
func (f failed) Close() error              { return nil }

// wait returns when the rank has ended, its group is gone and all that it
// printed has been read.
func (p *process) wait() Exit {
	// The dead leader is not collected before its group is killed: until then the
	// group's number cannot go to anyone else.
	proc.AwaitEnd(p.cmd.Process.Pid)
	p.kill()
	p.mu.Lock()
	p.cmd.Wait() // its error repeats the state
	p.reaped = true
	e := Exit{Rank: p.rank, Code: p.cmd.ProcessState.ExitCode(), Stopped: p.stopped}
	p.mu.Unlock()
	p.output.finish()
	e.Output = p.output.text()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}

// kill ends the rank and its group.
func (p *process) kill() { p.signal(-p.cmd.Process.Pid, unix.SIGKILL) }

// terminate asks the rank to end; one that was stopped has to run to hear it.
func (p *process) terminate() {
	p.signal(p.cmd.Process.Pid, unix.SIGTERM)
	p.signal(p.cmd.Process.Pid, unix.SIGCONT)
}

func (p *process) signal(pid int, s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		unix.Kill(pid, s) // ESRCH: it has ended by itself
	}
}
