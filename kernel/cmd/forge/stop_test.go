package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/wire"
)

// process is this build, run as the forge command.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	temp   string // its TMPDIR
}

func startForge(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self, args...), temp: t.TempDir()}
	p.Env = append(os.Environ(), asForge+"=1", "XDG_STATE_HOME="+t.TempDir(), "TMPDIR="+p.temp)
	p.Stderr = &p.stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await reads what the process prints up to a line that begins with prefix, and
// returns the rest of that line.
func (p *process) await(t *testing.T, prefix string) string {
	t.Helper()
	for {
		line, err := p.stdout.ReadString('\n')
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), prefix); found {
			return rest
		}
		if err != nil {
			t.Fatalf("no line begins with %q: %v", prefix, err)
		}
	}
}

// status reads the rest of what the process prints and waits for its end.
func (p *process) status() int {
	io.Copy(io.Discard, p.stdout)
	p.Wait() // its error repeats the state
	return p.ProcessState.ExitCode()
}

// hanging is a notebook whose second cell prints the numbers of the session and
// the kernel, and never ends.
func hanging(t *testing.T) string {
	t.Helper()
	nb := &notebook.Notebook{Cells: []*notebook.Cell{
		{Type: notebook.Code, Source: `fmt.Println("first")`},
		{Type: notebook.Code, Source: "fmt.Println(\"processes\", os.Getpid(), os.Getppid())\nselect {}"},
		{Type: notebook.Code, Source: `fmt.Println("third")`},
	}}
	path := filepath.Join(t.TempDir(), "hanging.ipynb")
	if err := nb.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A signal stops the running cell; what has run is written, and the kernel ends.
func TestSignalStopsNotebook(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.ipynb")
			p := startForge(t, "notebook", "run", hanging(t), "-o", out)
			pids := strings.Fields(p.await(t, "processes"))
			p.Process.Signal(s)
			if got := p.status(); got != exitFailure {
				t.Errorf("exit status %d, want %d", got, exitFailure)
			}
			if want := "forge: cell 2: stopped: " + s.String(); !strings.Contains(p.stderr.String(), want) {
				t.Errorf("stderr is %q, want %q", p.stderr.String(), want)
			}
			for _, pid := range pids {
				waitUntilGone(t, pid)
			}
			nb, err := notebook.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var outputs []int
			for _, c := range nb.Cells {
				outputs = append(outputs, len(c.Outputs))
			}
			if left, err := os.ReadDir(p.temp); err != nil || len(left) > 0 {
				t.Errorf("left in the directory for temporary files: %v, %v", left, err)
			}
			if len(outputs) != 3 || outputs[0] != 1 || outputs[1] != 2 || outputs[2] != 0 {
				t.Errorf("the cells have %v outputs, want [1 2 0]", outputs)
			}
		})
	}
}

// waiting is a command that reads its standard input, which looks at no context.
func waiting(t *testing.T) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self, "nebula", "batch", "--model", "tiny", "--input", "-"), temp: t.TempDir()}
	p.Env = append(os.Environ(), asForge+"=1", "TMPDIR="+p.temp)
	p.Stderr = &p.stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	p.Stdin = r
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	// It reads when the pipe that holds a line is empty again.
	if _, err := w.WriteString("{\"prompt\":\"x\"}\n"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		n, err := unix.IoctlGetInt(int(w.Fd()), unix.TIOCINQ)
		if err != nil || time.Now().After(deadline) {
			t.Fatal("standard input is not read", err)
		}
		if n == 0 {
			return p
		}
	}
}

// What takes no notice of a signal is ended after a time, and by a second one at once.
func TestDeafCommandEnds(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		t.Setenv(faultVariable, "hurry")
		p := waiting(t)
		p.Process.Signal(syscall.SIGTERM)
		p.Wait()
		if got := p.ProcessState.ExitCode(); got != exitFailure || !strings.Contains(p.stderr.String(), "forge: stopped: terminated; what ran took no notice for 1s and was ended\n") {
			t.Errorf("it ended with %v and said %q", p.ProcessState, p.stderr.String())
		}
	})
	t.Run("at once", func(t *testing.T) {
		p := waiting(t)
		ended := make(chan struct{})
		go func() {
			p.Wait()
			close(ended)
		}()
		for {
			p.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
				if state := p.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGTERM {
					t.Errorf("after the second signal: %v", p.ProcessState)
				}
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// A notebook that is verified says that it was stopped, too.
func TestSignalStopsVerify(t *testing.T) {
	path := hanging(t)
	nb, err := notebook.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	nb.Cells[0].Outputs = []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: "first\n"}}
	nb.Cells[1].Source = "os.WriteFile(\"here\", nil, 0o600)\nselect {}"
	if err := nb.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	p := startForge(t, "notebook", "verify", path)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "here")); err == nil {
			break
		}
	}
	p.Process.Signal(syscall.SIGINT)
	if got := p.status(); got != exitFailure || !strings.Contains(p.stderr.String(), "forge: cell 2: stopped: interrupt") {
		t.Errorf("exit status %d; it said %q", got, p.stderr.String())
	}
}

// Nobody reads what the run prints any more: it stops as on a signal.
func TestBrokenPipeStopsNotebook(t *testing.T) {
	nb := &notebook.Notebook{Cells: []*notebook.Cell{{Type: notebook.Code, Source: `fmt.Println("processes", os.Getpid(), os.Getppid())
for { fmt.Println("more"); time.Sleep(time.Millisecond) }`}}}
	in, out := filepath.Join(t.TempDir(), "in.ipynb"), filepath.Join(t.TempDir(), "out.ipynb")
	if err := nb.WriteFile(in); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self, "notebook", "run", in, "-o", out), stdout: bufio.NewReader(r)}
	p.Env = append(os.Environ(), asForge+"=1", "XDG_STATE_HOME="+t.TempDir())
	p.Stdout = w
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	pids := strings.Fields(p.await(t, "processes"))
	r.Close()
	p.Wait()
	if got := p.ProcessState.ExitCode(); got != exitFailure {
		t.Errorf("it ended with %v, want exit status %d", p.ProcessState, exitFailure)
	}
	for _, pid := range pids {
		waitUntilGone(t, pid)
	}
	if nb, err := notebook.ReadFile(out); err != nil || len(nb.Cells[0].Outputs) == 0 {
		t.Errorf("the partial notebook: %v", err)
	}
}

// A kernel does not outlive the process that started it and wants it to end
// with itself.
func TestKernelEndsWithItsParent(t *testing.T) {
	p := startForge(t, "notebook", "run", hanging(t))
	pids := strings.Fields(p.await(t, "processes"))
	p.Process.Kill()
	p.status()
	if len(pids) != 2 {
		t.Fatalf("processes %q", pids)
	}
	for _, pid := range pids {
		waitUntilGone(t, pid)
	}
}

// A connection file whose port is taken is a failure that names it.
func TestPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "connection.json")
	c := wire.Connection{Transport: "tcp", IP: "127.0.0.1", IOPubPort: taken.Addr().(*net.TCPAddr).Port, Key: "k", SignatureScheme: wire.Scheme}
	if err := c.Write(file); err != nil {
		t.Fatal(err)
	}
	p := startForge(t, "kernel", "--connection-file", file)
	if got := p.status(); got != exitFailure {
		t.Errorf("exit status %d, want %d", got, exitFailure)
	}
	for _, want := range []string{"iopub socket", taken.Addr().String(), "address already in use"} {
		if said := p.stderr.String(); !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("stderr is %q, want one line with %q", said, want)
		}
	}
}

func TestFullOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full:", err)
	}
	defer full.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"version", "version --json", "help"} {
		cmd := exec.CommandContext(t.Context(), self, strings.Fields(args)...)
		cmd.Env = append(os.Environ(), asForge+"=1")
		cmd.Stdout = full
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != exitFailure {
			t.Errorf("%s: exit status %d, want %d", args, got, exitFailure)
		}
	}
}
