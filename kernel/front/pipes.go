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
	smallRead = 16 << 10
	readPause = time.Millisecond
	// A cell that is being slowed down is read in small pieces, so that its
	// writes, and with them an interrupt, never wait long.
	slowedRead = 16 << 10
	longPause  = 100 * time.Millisecond

	maxReport = 64 << 10 // of a fatal trace, kept
	maxFatal  = 1 << 20  // of stderr after a crash began, kept
	maxSaid   = 1 << 10  // of the end of stderr, kept
	// suspicion is how long stderr is held after a line that may be the
	// runtime's last.
	suspicion = 500 * time.Millisecond
)

// pipes reads what the session prints. Two pumps follow stdout and stderr;
// drain reads what is in them now, so that text precedes the frame that was
// sent after it. All of it belongs to the cell that started last.
//
// A third pipe carries the Go runtime's fatal trace (debug.SetCrashOutput),
// which also goes to stderr. Once it begins, or stderr looks as if it will, stderr
// is set aside, together with what was not published yet; what is not the trace
// is printed at the end, or when the session turns out to live.
type pipes struct {
	printer printer
	waits   time.Duration // suspicion

	out, err, report *os.File // read ends, non-blocking
	pumps            sync.WaitGroup

	mu     sync.Mutex // held while reading and handing on, which keeps the order
	buf    []byte
	fatal  []byte      // stderr since the crash began
	traced []byte      // head of the fatal trace
	doubt  *time.Timer // ends a suspicion; nil when there is none
	said   []byte      // the end of stderr
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
	if err := closedPipe(fds[:]); err != nil {
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
	p := &pipes{printer: printer, waits: suspicion, buf: make([]byte, readSize)}
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
	var pause time.Duration
	for {
		size := readSize
		if pause > readPause {
			size = slowedRead
		}
		var n int
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			n, pause, readErr = p.readOnce(stream, int(fd), size)
			return readErr != unix.EAGAIN
		})
		if err != nil || readErr != nil || n == 0 {
			return
		}
		if n < smallRead && stream != "" {
			pause = max(pause, readPause)
		}
		time.Sleep(min(pause, longPause))
	}
}

// readOnce reads and hands on one piece of at most size bytes; p.mu is held.
func (p *pipes) readOnce(stream string, fd, size int) (n int, pause time.Duration, err error) {
	for {
		n, err = unix.Read(fd, p.buf[:size])
		if err != unix.EINTR {
			break
		}
	}
	if n <= 0 {
		return 0, 0, err
	}
	text := p.buf[:n]
	if stream == stderr {
		p.said = append(p.said, text...)
		p.said = p.said[max(0, len(p.said)-maxSaid):]
	}
	switch {
	case stream == "":
		p.setAside()
		p.traced = append(p.traced, text[:min(n, maxReport-len(p.traced))]...)
	case stream == stderr && (p.setApart() || suspect.Match(text)):
		p.setAside()
		p.fatal = append(p.fatal, text[:min(n, maxFatal-len(p.fatal))]...)
	default:
		pause = p.printer.print(stream, text)
	}
	return n, pause, nil
}

// setApart reports whether stderr is held; p.mu is held.
func (p *pipes) setApart() bool { return p.doubt != nil || len(p.traced) > 0 }

// setAside begins to hold stderr; p.mu is held.
func (p *pipes) setAside() {
	if p.setApart() {
		return
	}
	p.fatal = append(p.fatal, p.printer.unprint(stderr)...)
	p.doubt = time.AfterFunc(p.waits, p.trust)
}

// trust prints what was held if no trace followed it.
func (p *pipes) trust() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doubt == nil || len(p.traced) > 0 {
		return
	}
	p.doubt.Stop()
	p.doubt = nil
	p.printer.print(stderr, p.fatal)
	p.fatal = nil
}

// drain reads everything that was printed before it was called. A pipe holds
// no more than readSize, so a cell that goes on printing cannot keep it here.
func (p *pipes) drain() {
	p.read()
	p.trust() // whoever asks has heard from the session
}

func (p *pipes) read() {
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
			n, _, err := p.readOnce(stream, int(fd), readSize)
			if err != nil || n == 0 {
				return
			}
			total += n
		}
	})
}

// finish reads the rest after the session has died and closes the pipes. A
// process that escaped the session's group may still hold a write end; what it
// prints from now on is not read. It returns the head of the fatal trace,
// stderr's text since it began, and the end of stderr.
func (p *pipes) finish() (traced, fatal, said []byte) {
	p.read()
	p.close()
	p.pumps.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	traced, fatal = p.traced, p.fatal
	if p.doubt != nil {
		p.doubt.Stop()
	}
	p.doubt, p.fatal = nil, nil
	return traced, fatal, p.said
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.out, p.err, p.report} {
		if f != nil {
			f.Close()
		}
	}
}
