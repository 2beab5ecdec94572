package shell

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// terminalSettle is how long a drain waits for more output of a terminal. The
// host's kernel hands terminal output over from a work queue, so that it may
// become readable a moment after it was written; that of a pipe is there at
// once. Nobody waits when the last holder of the terminal is gone.
const terminalSettle = 50 * time.Millisecond

// copier moves a command's output to its cell. It ends when every process that
// holds the other end is gone, which may be long after the command itself:
// drain therefore asks for what has been written so far, not for the end.
type copier struct {
	src    *os.File
	to     func() io.Writer
	settle time.Duration
	wants  chan chan struct{} // requests of drain
	ended  chan struct{}
}

func newCopier(src *os.File, to func() io.Writer, settle time.Duration) *copier {
	return &copier{src: src, to: to, settle: settle, wants: make(chan chan struct{}, 1), ended: make(chan struct{})}
}

func (c *copier) run() {
	defer close(c.ended)
	defer c.src.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := c.src.Read(buf)
		c.write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) { // drain is waiting
			done := <-c.wants
			alive := c.readAvailable(buf)
			c.src.SetReadDeadline(time.Time{})
			close(done)
			if !alive {
				return
			}
			continue
		}
		if err != nil { // io.EOF of a pipe, EIO of a terminal
			return
		}
	}
}

// drain returns when what was written before the call has been copied.
func (c *copier) drain() {
	done := make(chan struct{})
	select {
	case c.wants <- done:
	case <-c.ended:
		return
	}
	c.src.SetReadDeadline(time.Unix(1, 0)) // wakes Read
	select {
	case <-done:
	case <-c.ended:
	}
}

// readAvailable copies until nothing is left to read. It reports whether more
// may come.
func (c *copier) readAvailable(buf []byte) bool {
	conn, err := c.src.SyscallConn()
	if err != nil {
		return false
	}
	for {
		var n int
		var readErr error
		err := conn.Control(func(fd uintptr) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if ready, _ := unix.Poll(poll, int(c.settle/time.Millisecond)); ready == 0 {
				readErr = unix.EAGAIN
				return
			}
			n, readErr = unix.Read(int(fd), buf)
		})
		switch {
		case err != nil:
			return false
		case readErr == unix.EINTR:
		case readErr == unix.EAGAIN:
			return true
		case readErr != nil || n == 0:
			return false
		default:
			c.write(buf[:n])
		}
	}
}

// write passes output on. A cell's writer fails only when the session is
// ending; the command must not stop on that account.
func (c *copier) write(p []byte) {
	if len(p) > 0 {
		c.to().Write(p)
	}
}
