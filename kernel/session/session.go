// Package session is the child process in which cells run. [Main] speaks with
// the front over the link (package link) and runs what it is sent through
// package cell.
//
// One goroutine receives frames and never waits for anything else; every cell
// and every request runs on a goroutine of its own, so that an interrupt, a
// completion or the answer to a question reaches the session whatever its cells
// do. A panic while a frame is handled fails that frame alone.
//
// User code may end the process in ways that Go cannot recover from. Then the
// front sees the link close, reads the runtime's report from the crash file and
// starts another session. In the other direction, the end of the link ends the
// session and everything that it started, see [guard].
package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/kernel/cell"
	"forgekernel/kernel/dap"
	"forgekernel/kernel/gocell/prompt"
	"forgekernel/kernel/link"
)

// Descriptors that the front leaves open for the session, beside a null stdin
// and its pipes as stdout and stderr.
const (
	LinkFD  = 3 // one end of link.Pair
	CrashFD = 4 // where the Go runtime writes why it died
)

// Main is the whole life of a session process. It returns the exit status: 0
// when the front asked for the end or went away, 1 when the session could not
// start.
func Main() int {
	conn, err := guard()
	if err == nil {
		err = serve(conn)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "forge session:", err)
		return 1
	}
	return 0
}

// server is a running session.
type server struct {
	conn   *link.Conn
	interp *cell.Interp
	calls  calls

	debugger *dap.Server
	debugs   chan debugging // requests for it, which keep their order

	mu      sync.Mutex
	running map[uint64]*execution
	latest  uint64 // the cell that was started last
	// evaluating ends at an interrupt, which begins the next one: it is of all that the
	// debugger is asked for in between.
	evaluating     context.Context
	stopEvaluating func()
	origins        origins
	settings       atomic.Pointer[link.Settings]
	streams        streams
}

// execution is one running cell.
type execution struct {
	id         uint64
	ctx        context.Context
	interrupt  context.CancelCauseFunc
	allowStdin bool
	// viaLink says that the cell does not run alone, or has not always done so:
	// what it prints travels as Stream frames. It stays so to the cell's end,
	// for pipe and link have no common order in that direction.
	viaLink bool
	input   []string // lines that were asked for and are not yet read
}

var errInterrupted = errors.New("interrupted by the user")

func serve(conn *link.Conn) error {
	s := &server{conn: conn, running: make(map[uint64]*execution)}
	s.calls.conn = conn
	s.streams.s = s
	s.settings.Store(&link.Settings{})
	interp, err := cell.New(cell.Options{
		Writer:   s.writer,
		Sink:     func(id uint64) display.Sink { return sink{s, id} },
		Stdin:    s.stdin,
		Async:    s.async,
		Settings: limits{s},
	})
	if err != nil {
		return err
	}
	s.interp = interp
	s.startDebugger()
	display.SetSink(ownSink{s})
	forge.SetContext(s.currentContext)
	prompt.Install(s.askAhead)
	if err := conn.SendBody(link.Hello, 0, 0, link.HelloBody{Version: link.Version, PID: os.Getpid()}); err != nil {
		return err
	}
	for {
		f, err := conn.Recv()
		if err != nil || f.Kind == link.Shutdown {
			return s.end(err)
		}
		s.handle(f)
	}
}

// handle starts the work that a frame asks for. It does not wait for it.
func (s *server) handle(f link.Frame) {
	switch f.Kind {
	case link.Execute:
		s.begin(f)
	case link.Interrupt:
		s.stopDebugger()
		if f.Seq == 0 {
			s.interrupt()
		}
	case link.Complete:
		go answer(s, f, func(r link.CursorRequest) link.CompleteReply { return s.interp.Complete(r.Code, r.Cursor) })
	case link.Inspect:
		go answer(s, f, func(r link.CursorRequest) link.InspectReply { return s.interp.Inspect(r.Code, r.Cursor, r.DetailLevel) })
	case link.IsComplete:
		go answer(s, f, func(r link.CodeRequest) link.IsCompleteReply { return s.interp.IsComplete(r.Code) })
	case link.Debug:
		s.debugs <- s.debugging(f)
	case link.Input, link.Ack:
		s.calls.answer(f)
	case link.Restore:
		s.restore(f)
	case link.Config:
		if settings, err := link.Decode[link.Settings](f); err == nil {
			s.adopt(settings)
		}
	case link.Comm:
		s.refuseComm(f)
	default:
		fmt.Fprintf(os.Stderr, "forge session: unknown frame %q\n", f.Kind)
	}
}

// begin registers an execution and starts it.
func (s *server) begin(f link.Frame) {
	ctx, cancel := context.WithCancelCause(context.Background())
	request, err := link.Decode[link.ExecuteRequest](f)
	e := &execution{id: f.Cell, ctx: ctx, interrupt: cancel, allowStdin: request.AllowStdin}
	s.mu.Lock()
	if len(s.running) > 0 {
		e.viaLink = true
		for _, other := range s.running {
			other.viaLink = true
		}
	}
	s.running[e.id] = e
	s.latest = e.id
	s.mu.Unlock()
	go func() {
		s.origins.enter(e)
		if err != nil {
			s.finish(e, link.DoneBody{Error: cell.Describe(err)})
			return
		}
		s.finish(e, s.execute(e, request))
	}()
}

// execute runs a cell and, when it succeeds, its user expressions.
func (s *server) execute(e *execution, request link.ExecuteRequest) (done link.DoneBody) {
	defer func() {
		if r := recover(); r != nil {
			done = link.DoneBody{Error: cell.Describe(cell.Recovered(r))}
		}
	}()
	name := fmt.Sprintf("cell %d", request.Number)
	s.debugger.Ran(request.Code)
	out := s.interp.Run(e.ctx, cell.Cell{ID: e.id, Name: name, File: dap.Path(request.Code), Code: request.Code})
	done = link.DoneBody{Result: wire(out.Result), Payload: out.Payload}
	if out.Err != nil {
		done.Error = cell.Describe(out.Err)
	} else {
		done.UserExpressions = s.expressions(e, request.UserExpressions)
	}
	done.Symbols = s.interp.Symbols()
	done.Definitions = s.interp.Definitions()
	return done
}

func (s *server) expressions(e *execution, exprs map[string]string) map[string]link.UserExpression {
	if len(exprs) == 0 {
		return nil
	}
	values := make(map[string]link.UserExpression)
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		out := s.interp.Run(e.ctx, cell.Cell{ID: e.id, Name: "user expression " + name, Code: exprs[name]})
		var v link.UserExpression
		if out.Err != nil {
			v.Error = cell.Describe(out.Err)
		} else if v.Result = wire(out.Result); v.Result == nil {
			v.Error = cell.Describe(errors.New("the expression has no value"))
		}
		values[name] = v
	}
	return values
}

// finish sends the last frame of a cell. A result that is too large for the
// link is the cell's error.
func (s *server) finish(e *execution, done link.DoneBody) {
	s.streams.flush(e.id)
	s.mu.Lock()
	delete(s.running, e.id)
	s.mu.Unlock()
	if err := s.conn.SendBody(link.Done, e.id, 0, done); err != nil {
		done.Result, done.Payload, done.UserExpressions = nil, nil, nil
		done.Error = cell.Describe(fmt.Errorf("the result cannot be shown: %w", err))
		s.conn.SendBody(link.Done, e.id, 0, done) // a broken link ends the session in serve
	}
}

// interrupt stops every running cell.
func (s *server) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.running {
		e.interrupt(errInterrupted)
	}
}

// restore defines ForgeScript functions of an earlier session. It finishes
// before the first cell starts.
func (s *server) restore(f link.Frame) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintln(os.Stderr, cell.Recovered(r))
		}
	}()
	request, err := link.Decode[link.RestoreRequest](f)
	if err == nil {
		s.debugger.Restore(request.Debugging)
		err = s.interp.Restore(request.Definitions)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ForgeScript functions could not be restored:", err)
	}
}

// answer replies to a request that does not run code. The front waits for each
// reply, so that even a panic has one.
func answer[Q, R any](s *server, f link.Frame, reply func(Q) R) {
	var body R
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintln(os.Stderr, cell.Recovered(r))
		}
		s.conn.SendBody(link.Reply, 0, f.Seq, body)
	}()
	if request, err := link.Decode[Q](f); err == nil {
		body = reply(request)
	}
}

// refuseComm closes a comm that a client opens: no cell can register a target.
func (s *server) refuseComm(f link.Frame) {
	m, err := link.Decode[link.CommMessage](f)
	if err == nil && m.Type == "comm_open" {
		s.conn.SendBody(link.Comm, f.Cell, 0, link.CommMessage{Type: "comm_close", ID: m.ID, Data: map[string]any{}})
	}
}
