package launch

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// TailSize is how much of what a rank last printed is kept, in bytes.
	TailSize = 64 << 10
	// LogSize bounds the log of one rank, in bytes.
	LogSize = 8 << 20

	pipeSize = 64 << 10 // bytes that a pipe holds
)

// output takes what one rank prints. It always reads, so that a rank never waits
// for its printing; what cannot be stored is dropped.
type output struct {
	pipe *os.File
	done chan struct{} // closed when the pipe has ended

	mu   sync.Mutex
	tail []byte
	log  log
}

func newOutput(pipe *os.File, log io.WriteCloser) *output {
	o := &output{pipe: pipe, done: make(chan struct{})}
	o.log.file = log
	return o
}

// drain reads until the pipe ends, or its rank has: a process that the rank started may
// hold the other end, so that then only what is in the pipe is read.
func (o *output) drain() {
	defer close(o.done)
	defer o.pipe.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := o.pipe.Read(buf)
		o.keep(buf[:n])
		if err != nil {
			break
		}
	}
	o.rest(buf)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log.close()
}

func (o *output) keep(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if over := len(o.tail) - TailSize; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	o.log.write(p)
}

// rest reads what is in the pipe, without waiting for more, and no more than it holds.
func (o *output) rest(buf []byte) {
	raw, err := o.pipe.SyscallConn()
	if err != nil || o.pipe.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := pipeSize; left > 0; {
		n := 0
		raw.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		o.keep(buf[:n])
		left -= n
	}
}

// finish returns when all that the rank printed before it ended has been read.
func (o *output) finish() {
	o.pipe.SetReadDeadline(time.Unix(1, 0))
	<-o.done
}

// text is the tail, which is cut at the start of a line.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := string(o.tail)
	if len(s) == TailSize {
		if _, rest, found := strings.Cut(s, "\n"); found {
			s = rest
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// log is a file that stops growing at LogSize, or when its disk is full.
type log struct {
	file io.WriteCloser
	size int
	lost string // why the rest is missing
}

func (l *log) write(p []byte) {
	if l.lost != "" || len(p) == 0 {
		return
	}
	room := LogSize - l.size
	n, err := l.file.Write(p[:min(len(p), room)])
	l.size += n
	switch {
	case err != nil:
		l.lost = err.Error()
	case len(p) > room:
		l.lost = fmt.Sprintf("the log has reached its limit of %d bytes", LogSize)
		fmt.Fprintf(l.file, "\n[%s]\n", l.lost)
	}
}

func (l *log) close() { l.file.Close() }
