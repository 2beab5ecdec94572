package webgpu

import (
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

// child is a process of Node with Dawn.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	said    *tail
	over    chan struct{} // closed when the process has ended
	release chan struct{} // closed when the process is to be waited for
	ended   sync.Once
}

// start starts a process, from a thread that lives as long as it does.
func start(node, folder, vulkan string) (*child, error) {
	c := &child{said: &tail{}, over: make(chan struct{}), release: make(chan struct{})}
	c.cmd = exec.Command(node, "--input-type=module", "--eval", Runner+service)
	c.cmd.Dir = folder // where Node finds node_modules
	c.cmd.Env = os.Environ()
	if vulkan != "" {
		c.cmd.Env = append(c.cmd.Env, "LD_LIBRARY_PATH="+vulkan, "VK_ICD_FILENAMES="+filepath.Join(vulkan, "vk_swiftshader_icd.json"))
	}
	c.cmd.SysProcAttr = ownGroup()
	c.cmd.WaitDelay = time.Second
	c.cmd.Stderr = c.said
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the child ends with the thread that started it
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		<-c.release
		_ = c.cmd.Wait() // what it had to say was read before
		close(c.over)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// kill ends the process and what it started, at any time.
func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// close ends the process and waits for its end.
func (c *child) close() {
	c.ended.Do(func() {
		_ = c.in.Close()
		c.kill()
		close(c.release)
		<-c.over
	})
}

// tail keeps the last lines of what a process writes to its standard error.
type tail struct{ text []byte }

const maxTail = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// or is what the process said, or else an error. The process has ended.
func (t *tail) or(err error) string {
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return strings.Join(strings.Fields(text), " ")
	}
	return err.Error()
}
