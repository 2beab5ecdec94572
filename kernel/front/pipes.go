package front

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readSize = 64 << 10 // also the capacity of a pipe

	// smallRead is followed by a short pause in which more text can gather in
	// the pipe: a wake-up for every line would cost the cell more than its
	// printing. Nothing waits for the pause, since drain reads past it.
	smallRead  = 16 << 10
	readPause  = time.Millisecond
	maxReports = 64 << 10 // of a fatal trace, kept
	maxFatal   = 1 << 20  // of stderr after a crash began, kept
)

// pipes reads what the session prints. Two pumps follow stdout and stderr;
// drain reads what is in them now, so that text precedes the frame that was
// sent after it. All of it belongs to the cell that started last.
//
// A third pipe carries the Go runtime's fatal trace (debug.SetCrashOutput),
// which also goes to stderr: once it begins, stderr is set aside, together with
// what was not published yet, and what is not the trace is printed at the end.
type pipes struct {
	printer printer

	out, err, report *os.File // read ends, non-blocking
	pumps            sync.WaitGroup

	mu     sync.Mutex // held while reading and handing on, which keeps the order
	buf    []byte
	fatal  []byte // stderr since the crash began
	traced []byte // head of the fatal trace
}

// printer takes what was read.
type printer interface {
	// print returns how long to wait before reading on.
	print(stream string, text []byte) time.Duration
	// unprint takes back what was not published yet.
	unprint(stream string) []byte
}

// newPipe makes a pipe with a non-blocking read end for us and an ordinary,
// blocking write end for the session.
func newPipe(name string) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("pipe: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

// newPipes returns the pipes and the write ends for the session: stdout,
// stderr, crash report.
func newPipes(printer printer) (*pipes, [3]*os.File, error) {
	p := &pipes{printer: printer, buf: make([]byte, readSize)}
	var ends [3]*os.File
	for i, read := range []**os.File{&p.out, &p.err, &p.report} {
		r, w, err := newPipe([]string{stdout, stderr, "crash"}[i])
		if err != nil {
			for j := range i {
				ends[j].Close()
			}
			p.close()
			return nil, ends, err
		}
		*read, ends[i] = r, w
	}
	return p, ends, nil
}

// start runs the pumps.
func (p *pipes) start() {
	p.pumps.Go(func() { p.pump(stdout, p.out) })
	p.pumps.Go(func() { p.pump(stderr, p.err) })
	p.pumps.Go(func() { p.pump("", p.report) })
}

// pump reads until the end of the stream.
func (p *pipes) pump(stream string, f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	for {
		var n int
		var pause time.Duration
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			n, pause, readErr = p.readOnce(stream, int(fd))
			return readErr != unix.EAGAIN
		})
		if err != nil || readErr != nil || n == 0 {
			return
		}
		if n < smallRead && stream != "" {
			pause = max(pause, readPause)
		}
		time.Sleep(pause)
	}
}

// readOnce reads and hands on one piece; p.mu is held.
func (p *pipes) readOnce(stream string, fd int) (n int, pause time.Duration, err error) {
	for {
		n, err = unix.Read(fd, p.buf)
		if err != unix.EINTR {
			break
		}
	}
	if n <= 0 {
		return 0, 0, err
	}
	text := p.buf[:n]
	switch {
	case stream == "":
		if len(p.traced) == 0 {
			p.fatal = append(p.fatal, p.printer.unprint(stderr)...)
		}
		p.traced = append(p.traced, text[:min(n, maxReports-len(p.traced))]...)
	case stream == stderr && len(p.traced) > 0:
		p.fatal = append(p.fatal, text[:min(n, maxFatal-len(p.fatal))]...)
	default:
		pause = p.printer.print(stream, text)
	}
	return n, pause, nil
}

// drain reads everything that was printed before it was called. A pipe holds
// no more than readSize, so a cell that goes on printing cannot keep it here.
func (p *pipes) drain() {
	p.drainOne("", p.report)
	p.drainOne(stdout, p.out)
	p.drainOne(stderr, p.err)
}

func (p *pipes) drainOne(stream string, f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for total := 0; total < readSize; {
			n, _, err := p.readOnce(stream, int(fd))
			if err != nil || n == 0 {
				return
			}
			total += n
		}
	})
}

// finish reads the rest after the session has died and closes the pipes. It
// returns the head of the fatal trace and stderr's text since it began. A
// process that escaped the session's group may still hold a write end; the
// pumps then stop at the deadline.
func (p *pipes) finish() (traced, fatal []byte) {
	p.drain()
	deadline := time.Now().Add(200 * time.Millisecond)
	for _, f := range []*os.File{p.out, p.err, p.report} {
		f.SetReadDeadline(deadline)
	}
	p.pumps.Wait()
	p.close()
	return p.traced, p.fatal
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.out, p.err, p.report} {
		if f != nil {
			f.Close()
		}
	}
}
