package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// inside executes a job and waits.
func (s Service) inside(job hostJob) error {
	cmd, err := s.command(job)
	if err != nil {
		return err
	}
	defer os.RemoveAll(job.Root)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// command is the host's first process, which becomes Python.
func (s Service) command(job hostJob) (*exec.Cmd, error) {
	root, err := os.MkdirTemp(s.Dir, "root-")
	if err != nil {
		return nil, err
	}
	job.Root = root
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", string(raw))
	cmd.Args[0] = hostName
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return cmd, nil
}

// Possible says why hosts cannot be played here, nil if they can.
func Possible() error {
	cmd, err := Service{os.TempDir()}.command(hostJob{Kind: "nothing"})
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("no namespaces for mounts and processes here: %w: %s", err, out)
	}
	return nil
}

// launch starts who looks after a job, and does not wait.
func (s Service) launch(kernel string, job hostJob) error {
	raw, err := json.Marshal(job)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "kernels", kernel, "job.json"), raw, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", kernel)
	cmd.Args[0] = supervisorName
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, "kernels", kernel, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644)
}

// supervise runs a job of Kaggle's.
func supervise(kernel string) int {
	s := Service{os.Getenv(folderVariable)}
	end, err := s.supervise(kernel)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		end = "ERROR"
	}
	if s.setStatus(kernel, end) != nil {
		return 1
	}
	return 0
}

func (s Service) supervise(kernel string) (end string, err error) {
	var plan Plan
	var job hostJob
	if err := errors.Join(s.read("plan.json", &plan), s.read(filepath.Join("kernels", kernel, "job.json"), &job)); err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(s.Dir, "kernels", kernel, "log"))
	if err != nil {
		return "", err
	}
	defer log.Close()
	if err := s.setStatus(kernel, "RUNNING"); err != nil {
		return "", err
	}
	fmt.Fprintln(log, "the machine has started")
	for plan.Hold && !exists(filepath.Join(s.Dir, "go")) {
		time.Sleep(10 * time.Millisecond)
	}
	if plan.Kernel != "" {
		return "ERROR", nil
	}
	cmd, err := s.command(job)
	if err != nil {
		return "", err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.Run() != nil {
		return "ERROR", nil
	}
	return "COMPLETE", nil
}

// end ends what a test left running.
func (s Service) end(t *testing.T) {
	pids, _ := filepath.Glob(filepath.Join(s.Dir, "kernels", "*", "pid"))
	for _, path := range pids {
		raw, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(string(raw)); err == nil {
			syscall.Kill(pid, syscall.SIGKILL) // and with it, by their parent-death signals, the host
			for deadline := time.Now().Add(2 * time.Minute); running(pid) && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			if running(pid) {
				t.Errorf("process %d is still there", pid)
			}
		}
	}
}

// running tells whether there is a process that is more than its exit status.
func running(pid int) bool {
	stat, err := proc.Read(pid)
	return err == nil && !stat.Dead()
}

// enter is the host's first process: it makes the root, enters it and becomes Python.
func enter(raw string) int {
	var job hostJob
	err := json.Unmarshal([]byte(raw), &job)
	if err == nil && job.Kind == "nothing" {
		return 0
	}
	if err == nil {
		err = job.build()
	}
	if err == nil {
		err = job.become()
	}
	fmt.Fprintln(os.Stderr, "standin:", err)
	return 1
}

func (j hostJob) become() error {
	if err := errors.Join(unix.Chroot(j.Root), unix.Chdir("/")); err != nil {
		return err
	}
	environment := []string{"HOME=/root", "PATH=/usr/local/nvidia/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin"}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "FORGE_TEST_") { // by which a test program is forge
			environment = append(environment, v)
		}
	}
	if j.Kind == "kaggle" {
		environment = append(environment, "KAGGLE_KERNEL_RUN_TYPE=Batch", "LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/local/nvidia/lib64")
		return unix.Exec("/usr/bin/python3", []string{"python3", "/kaggle/src/script.py"}, environment)
	}
	environment = append(environment, "COLAB_RELEASE_TAG=release-colab", "LD_LIBRARY_PATH=/usr/lib64-nvidia")
	if err := unix.Chdir("/content"); err != nil {
		return err
	}
	return unix.Exec("/usr/bin/python3", []string{"python3", "-c", asCell, "/content/.script.py"}, environment)
}

// asCell executes a script as a cell of a notebook does: its end is not that of the
// interpreter, and what it raises is printed.
const asCell = `
import sys, traceback
try:
    exec(compile(open(sys.argv[1]).read(), "<cell>", "exec"), {"__name__": "__main__"})
except BaseException:
    traceback.print_exc()
`
