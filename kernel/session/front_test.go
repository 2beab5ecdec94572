package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"forgekernel/kernel/link"
)

// The test binary is also the session process, and for the orphan test the
// front that gets killed.
func TestMain(m *testing.M) {
	switch os.Getenv("FORGE_SESSION_TEST") {
	case "session":
		os.Exit(Main())
	case "front":
		os.Exit(doomedFront())
	}
	os.Exit(m.Run())
}

// front is the other end of a session, as small as it can be: it reads the
// pipes and the link, keeps everything in one transcript in the order in which
// Jupyter would get it, and acknowledges.
type front struct {
	conn  *link.Conn
	cmd   *exec.Cmd
	crash *os.File
	pipes []*os.File // stdout, stderr

	mu         sync.Mutex
	cond       *sync.Cond
	transcript []string // "stdout: text", "display 1: text", …
	done       map[uint64]link.DoneBody
	replies    map[uint64]link.Frame
	hello      *link.HelloBody
	settings   []link.Settings
	closed     bool
	cells      uint64
	// input answers an InputRequest; nil leaves it unanswered.
	input func(link.InputPrompt) *link.InputValue
}

func startFront() (*front, error) {
	ours, theirs, err := link.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	f := &front{conn: link.NewConn(ours), done: make(map[uint64]link.DoneBody), replies: make(map[uint64]link.Frame)}
	f.cond = sync.NewCond(&f.mu)
	if f.crash, err = os.CreateTemp("", "crash"); err != nil {
		return nil, err
	}
	os.Remove(f.crash.Name())
	f.cmd = exec.Command(os.Args[0])
	f.cmd.Env = append(os.Environ(), "FORGE_SESSION_TEST=session")
	f.cmd.ExtraFiles = []*os.File{theirs, f.crash}
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, end := range []*io.Writer{&f.cmd.Stdout, &f.cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer w.Close()
		*end = w
		f.pipes = append(f.pipes, r)
	}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	for i := range f.pipes {
		go f.readPipe(i)
	}
	go f.readLink()
	return f, nil
}

func newFront(t *testing.T) *front {
	t.Helper()
	f, err := startFront()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.conn.Close()
		if err := f.cmd.Wait(); err != nil && !t.Failed() && f.cmd.ProcessState.ExitCode() == 1 {
			t.Errorf("the session ended with %v; it said %q", err, f.text())
		}
	})
	f.await(func() bool { return f.hello != nil || f.closed })
	return f
}

var pipeNames = []string{"stdout", "stderr"}

func (f *front) readPipe(i int) {
	raw, err := f.pipes[i].SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Read(func(fd uintptr) bool { return !f.drainPipe(i, int(fd)) })
}

// drainPipe notes what a pipe holds. It reports whether more may come.
func (f *front) drainPipe(i, fd int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return true
		case err != nil || n == 0:
			return false
		default:
			f.note(pipeNames[i], string(buf[:n]))
		}
	}
}

func (f *front) drain() {
	for i, p := range f.pipes {
		raw, err := p.SyscallConn()
		if err != nil {
			panic(err)
		}
		raw.Control(func(fd uintptr) { f.drainPipe(i, int(fd)) })
	}
}

// note adds to the transcript; text of one stream is put together.
func (f *front) note(what, text string) {
	if last := len(f.transcript) - 1; last >= 0 && strings.HasPrefix(what, "std") && strings.HasPrefix(f.transcript[last], what+": ") {
		f.transcript[last] += text
	} else {
		f.transcript = append(f.transcript, what+": "+text)
	}
	f.cond.Broadcast()
}

func (f *front) readLink() {
	for {
		frame, err := f.conn.Recv()
		f.drain()
		f.mu.Lock()
		if err != nil {
			f.closed = true
		} else {
			f.handle(frame)
		}
		f.cond.Broadcast()
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (f *front) handle(frame link.Frame) {
	must := func(err error) {
		if err != nil {
			panic(fmt.Sprintf("%s: %v", frame.Kind, err))
		}
	}
	switch frame.Kind {
	case link.Hello:
		b, err := link.Decode[link.HelloBody](frame)
		must(err)
		f.hello = &b
	case link.Stream:
		b, err := link.Decode[link.StreamText](frame)
		must(err)
		f.note(fmt.Sprintf("%s of %d", b.Name, frame.Cell), b.Text)
	case link.Display:
		b, err := link.Decode[link.DisplayBody](frame)
		must(err)
		f.note(fmt.Sprintf("display %d", frame.Cell), fmt.Sprint(b.Bundle.Data["text/plain"]))
	case link.Clear:
		f.note(fmt.Sprintf("clear %d", frame.Cell), "")
	case link.Config:
		b, err := link.Decode[link.Settings](frame)
		must(err)
		f.settings = append(f.settings, b)
		if b.MemoryLimit != nil && *b.MemoryLimit == refused {
			f.conn.SendBody(link.Ack, 0, frame.Seq, link.Refusal{Error: "the limit is not possible"})
			return
		}
	case link.InputRequest:
		b, err := link.Decode[link.InputPrompt](frame)
		must(err)
		f.note(fmt.Sprintf("ask %d", frame.Cell), b.Prompt)
		if f.input != nil {
			if answer := f.input(b); answer != nil {
				f.conn.SendBody(link.Input, 0, frame.Seq, answer)
			}
		}
		return
	case link.Done:
		b, err := link.Decode[link.DoneBody](frame)
		must(err)
		f.done[frame.Cell] = b
	case link.Reply:
		f.replies[frame.Seq] = frame
		return
	case link.Comm:
		f.note("comm", string(frame.Body))
	}
	if frame.Seq != 0 {
		f.conn.SendBody(link.Ack, 0, frame.Seq, nil)
	}
}

// refused is a memory limit that the front cannot put into effect.
const refused = 13

// await returns when cond, which is called with f locked, holds.
func (f *front) await(cond func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !cond() {
		f.cond.Wait()
	}
}

// begin sends a cell and returns its number.
func (f *front) begin(code string) uint64 {
	f.mu.Lock()
	f.cells++
	id := f.cells
	f.mu.Unlock()
	f.conn.SendBody(link.Execute, id, 0, link.ExecuteRequest{Code: code, Number: int(id), AllowStdin: true})
	return id
}

// end waits for a cell. ok is false when the session died first.
func (f *front) end(id uint64) (body link.DoneBody, ok bool) {
	f.await(func() bool {
		body, ok = f.done[id]
		return ok || f.closed
	})
	return body, ok
}

// run runs a cell that must end in a live session.
func (f *front) run(t *testing.T, code string) link.DoneBody {
	t.Helper()
	body, ok := f.end(f.begin(code))
	if !ok {
		t.Fatalf("the session died of %q; it said %q, crash report %q", code, f.text(), f.report())
	}
	return body
}

// ok runs a cell that must succeed.
func (f *front) ok(t *testing.T, code string) link.DoneBody {
	t.Helper()
	body := f.run(t, code)
	if body.Error != nil {
		t.Fatalf("%q failed: %s", code, strings.Join(body.Error.Traceback, "\n"))
	}
	return body
}

// request sends what is answered with a Reply, and returns its number.
func (f *front) request(kind link.Kind, body any) (seq uint64) {
	f.mu.Lock()
	f.cells++
	seq = f.cells
	f.mu.Unlock()
	f.conn.SendBody(kind, 0, seq, body)
	return seq
}

// ask sends a request and waits for its Reply.
func ask[R any](t *testing.T, f *front, kind link.Kind, body any) R {
	t.Helper()
	return answered[R](t, f, f.request(kind, body))
}

// answered waits for the Reply to a request.
func answered[R any](t *testing.T, f *front, seq uint64) R {
	t.Helper()
	var reply link.Frame
	f.await(func() bool {
		var ok bool
		reply, ok = f.replies[seq]
		return ok || f.closed
	})
	r, err := link.Decode[R](reply)
	if err != nil {
		t.Fatalf("request %d: %v", seq, err)
	}
	return r
}

// text is the transcript so far.
func (f *front) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.transcript, "\n")
}

// awaitText returns when the transcript contains s.
func (f *front) awaitText(s string) {
	f.await(func() bool { return strings.Contains(strings.Join(f.transcript, "\n"), s) || f.closed })
}

// report is what the Go runtime wrote when the session died.
func (f *front) report() string {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.NewSectionReader(f.crash, 0, 1<<20)); err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	return b.String()
}
