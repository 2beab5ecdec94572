package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"forgekernel/kernel/link"

	"golang.org/x/sys/unix"
)

// Times that a session is given.
const (
	helloTime    = 30 * time.Second       // from its start to Hello
	linkTime     = 2 * time.Second        // from the end of its link to its own
	farewellTime = 300 * time.Millisecond // from Shutdown to its end, then it is killed
)

// errSessionEnded reports a request that the session did not live to answer.
var errSessionEnded = &failure{"SessionEnded", "the session ended before it answered"}

// session is one child process and the conversation with it.
type session struct {
	process *process
	pipes   *pipes
	file    *os.File // our end of the link
	conn    *link.Conn
	log     *slog.Logger
	unasked func(*session, link.Frame) // takes frames that belong to no running cell or request; must be quick

	ready chan struct{} // closed after Hello
	dead  chan struct{} // closed when the process has ended and everything it sent is delivered
	crash crash         // valid after dead

	mu     sync.Mutex
	seq    uint64
	calls  map[uint64]chan link.Frame
	cells  map[uint64]*mailbox
	given  int    // cells it was ever given
	reason string // why the front ended it
	over   bool   // it is dead, and takes no more cells

	outgoing *mailbox // to the session
	late     *mailbox // frames of cells that are done
}

// startSession starts a process and its conversation. It must run on a thread
// that lives as long as the front.
func startSession(argv []string, memory int64, printer printer, unasked func(*session, link.Frame), log *slog.Logger) (*session, error) {
	ours, theirs, err := link.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	pipes, ends, err := newPipes(printer)
	if err != nil {
		ours.Close()
		return nil, err
	}
	process, err := startProcess(argv, [4]*os.File{ends[0], ends[1], theirs, ends[2]}, memory, log)
	for _, end := range ends {
		end.Close()
	}
	if err != nil {
		ours.Close()
		pipes.close()
		return nil, err
	}
	s := &session{
		process: process, pipes: pipes, file: ours, conn: link.NewConn(ours), log: log, unasked: unasked,
		ready: make(chan struct{}), dead: make(chan struct{}),
		calls: map[uint64]chan link.Frame{}, cells: map[uint64]*mailbox{},
		outgoing: newMailbox(), late: newMailbox(),
	}
	pipes.start()
	go s.live()
	go s.transmit()
	return s, nil
}

// live follows the process to its end.
func (s *session) live() {
	received, exited := make(chan struct{}), make(chan struct{})
	go func() {
		s.receive()
		close(received)
		select { // the end of the link is as a rule that of the process
		case <-exited:
		case <-time.After(linkTime):
			s.end("the session closed its link to the front")
		}
	}()
	hello := time.AfterFunc(helloTime, func() {
		select {
		case <-s.ready:
		default:
			s.end(fmt.Sprintf("the session did not answer within %v of its start", helloTime))
		}
	})
	state := s.process.wait()
	close(exited)
	hello.Stop()
	s.endLink()
	<-received
	traced, fatal, said := s.pipes.finish()
	printed, report := splitFatal(string(fatal), string(traced))
	if printed != "" {
		s.pipes.printer.print(stderr, []byte(printed))
	}
	s.mu.Lock()
	s.crash = crashOf(state, report, s.process.memory.Load())
	s.crash.reason = s.reason
	select {
	case <-s.ready:
	default: // nobody has seen yet what it said on its way out
		s.crash.said = strings.TrimSpace(string(said))
	}
	s.over = true
	for _, m := range s.cells {
		m.close()
	}
	s.mu.Unlock()
	s.outgoing.close()
	s.late.close()
	s.conn.Close()
	close(s.dead)
}

// endLink lets receive end after what the session sent before it died. A process
// that escaped its group may hold the other end open, so the end of the link
// does not come by itself.
func (s *session) endLink() {
	if conn, err := s.file.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_RD) })
	}
}

// transmit sends what was posted.
func (s *session) transmit() {
	for f, ok := s.outgoing.get(); ok; f, ok = s.outgoing.get() {
		if err := s.conn.Send(f); err != nil {
			if !errors.Is(err, link.ErrTooLarge) {
				s.outgoing.close()
				return
			}
			s.log.Error("link", "kind", f.Kind, "error", err)
		}
	}
}

// post sends a frame to the session. It never waits, so that a session that
// does not read cannot stop an interrupt; what is unsent is bounded by the
// queues and requests that wait for an answer.
func (s *session) post(kind link.Kind, cell, seq uint64, body any) error {
	f := link.Frame{Kind: kind, Cell: cell, Seq: seq}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s frame: %w", kind, err)
		}
		f.Body = raw
	}
	s.outgoing.putNow(f)
	return nil
}

// receive hands on frames until the link ends.
func (s *session) receive() {
	for {
		f, err := s.conn.Recv()
		if err != nil {
			return
		}
		if err := s.accept(f); err != nil {
			s.end(err.Error())
			return
		}
	}
}

// accept hands one frame to whom it concerns. An error is a session that does
// not keep to the conversation.
func (s *session) accept(f link.Frame) error {
	select {
	case <-s.ready:
	default:
		return s.acceptHello(f)
	}
	if f.Kind == link.Reply || f.Kind == link.Ack {
		s.mu.Lock()
		waiting := s.calls[f.Seq]
		delete(s.calls, f.Seq)
		s.mu.Unlock()
		if waiting != nil {
			waiting <- f // has room for it
		}
		return nil
	}
	s.mu.Lock()
	cell := s.cells[f.Cell]
	s.mu.Unlock()
	if f.Kind == link.Comm || f.Kind == link.Config || f.Kind == link.DebugEvent || f.Kind == link.DebugState || cell == nil || !cell.put(f) {
		s.unasked(s, f)
	}
	return nil
}

func (s *session) acceptHello(f link.Frame) error {
	if f.Kind != link.Hello {
		return fmt.Errorf("the session began with %q instead of %q", f.Kind, link.Hello)
	}
	hello, err := link.Decode[link.HelloBody](f)
	if err != nil {
		return err
	}
	if hello.Version != link.Version {
		return fmt.Errorf("the session speaks version %d of the link, not %d: it comes from another build", hello.Version, link.Version)
	}
	close(s.ready)
	return nil
}

// call sends a request and waits for its reply.
func (s *session) call(ctx context.Context, kind link.Kind, body any) (link.Frame, error) {
	return s.callBy(ctx, func(seq uint64) error { return s.post(kind, 0, seq, body) })
}

// callBy is call with a function that sends the request under a number.
func (s *session) callBy(ctx context.Context, post func(seq uint64) error) (link.Frame, error) {
	answer := make(chan link.Frame, 1)
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.calls[seq] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, seq)
		s.mu.Unlock()
	}()
	if err := post(seq); err != nil {
		return link.Frame{}, err
	}
	select {
	case f := <-answer:
		return f, nil
	case <-s.dead:
		return link.Frame{}, errSessionEnded
	case <-ctx.Done():
		return link.Frame{}, ctx.Err()
	}
}

// open registers a cell; its frames then go to the mailbox. It returns nil when
// the session is dead.
func (s *session) open(cell uint64) *mailbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	m := newMailbox()
	s.cells[cell] = m
	s.given++
	return m
}

// shut forgets a cell that is done. Frames that are still in its mailbox, or
// come later, are nobody's.
func (s *session) shut(cell uint64, m *mailbox) {
	s.mu.Lock()
	delete(s.cells, cell)
	s.mu.Unlock()
	m.close()
	for f, ok := m.get(); ok; f, ok = m.get() {
		s.unasked(s, f)
	}
}

// running is the number of cells in the session.
func (s *session) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.cells)
}

// used reports whether the session was ever given a cell.
func (s *session) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given > 0
}

// end kills the session for a reason.
func (s *session) end(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	s.process.kill()
}

// farewell asks the session to end and makes sure that it does.
func (s *session) farewell(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	s.post(link.Shutdown, 0, 0, nil)
	timer := time.AfterFunc(farewellTime, s.process.kill)
	defer timer.Stop()
	<-s.dead
}
