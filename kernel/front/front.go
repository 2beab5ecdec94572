// Package front is the process that Jupyter talks to. It runs no user code: it
// owns the sockets, the execution queues, the history and the output, and
// supervises the session, its child process in which cells run (package link
// describes their conversation). Whatever a cell does to its process, the front
// answers: the cell ends in an error that says what happened and what was lost,
// a new session starts and the next cell runs.
//
// The goroutines, and what each may wait for:
//
//   - One per socket receives. It answers what is quick itself and hands the
//     rest on, so control is never behind a cell.
//   - One per shell or subshell runs cells, one after another. It waits for the
//     session, and for clients that are behind with reading output, that of
//     earlier cells' goroutines too; after an interrupt no longer than a moment.
//   - Requests that ask the session something, such as completion, each have
//     one; comm messages share one, which keeps their order.
//   - The supervisor starts sessions. Each session has goroutines that receive,
//     send and read its pipes.
package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// DefaultOutputLimit bounds the text of one cell in bytes: more than a person
// reads, less than a browser chokes on.
const DefaultOutputLimit = 16 << 20

// stopTime bounds how long running cells may take to answer once the session is
// being ended.
const stopTime = 2 * time.Second

// Config says what a front serves and under which limits.
type Config struct {
	ConnectionFile string   // Jupyter's connection file; ports that are 0 are chosen and written back
	SessionArgv    []string // command of the session: fd 3 is the link, fd 4 takes the runtime's crash report
	OutputLimit    int64    // bytes of text per cell; 0 means none
	MemoryLimit    int64    // bytes of data of the session; 0 means none
	HistoryPath    string   // append-only JSON lines; empty keeps history in memory
	Version        string   // of this kernel, for kernel_info
	Logger         *slog.Logger
	// SessionEnded is called when a session and its process group have ended,
	// before another starts: a process that adopted orphans ends them there. It
	// may be nil.
	SessionEnded func()
}

// front is the state of one Run.
type front struct {
	cfg     Config
	log     *slog.Logger
	session *wire.Session
	signer  *wire.Signer
	sockets *sockets
	iopub   *iopub
	outputs *outputs
	history struct { // use after opened
		*history
		opened chan struct{}
	}

	supervisor *supervisor
	memory     atomic.Int64 // limit of the session
	subshells  subshells
	interrupts interrupts
	inputs     inputs
	comms      *comms
	commJobs   worker
	debugger   debugger
	meter      meter
	nextCell   atomic.Uint64
	badInput   rateLimit

	aside   chan struct{} // a place for each request that waits for the session
	workers sync.WaitGroup

	stop func() // ends Run
	done <-chan struct{}
}

// Run serves until a client asks for shutdown, the process receives SIGTERM or
// ctx ends. It returns nil in those cases, and an error when the kernel cannot
// start. SIGINT interrupts the running cells.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	connection, err := wire.ReadConnection(cfg.ConnectionFile)
	if err != nil {
		return err
	}
	signer, err := connection.Signer()
	if err != nil {
		return err
	}
	signer.RefuseReplays()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := newFront(ctx, cfg, signer, stop)
	ports := *connection
	if f.sockets, err = listen(connection, f.iopub.welcome, f.log); err != nil {
		return err
	}
	f.iopub.socket = f.sockets.iopub
	if ports != *connection {
		if err := connection.Write(cfg.ConnectionFile); err != nil {
			return errors.Join(err, f.sockets.close())
		}
	}
	return f.serve(ctx)
}

func newFront(ctx context.Context, cfg Config, signer *wire.Signer, stop func()) *front {
	f := &front{
		cfg: cfg, log: cfg.Logger, signer: signer, session: wire.NewSession("kernel"),
		comms: newComms(), commJobs: newWorker(), debugger: debugger{jobs: newWorker()}, aside: make(chan struct{}, maxAside),
		stop: stop, done: ctx.Done(),
	}
	publishing, end := context.WithCancel(context.Background())
	// Publishers may finish what they say after the stop, but not for ever.
	context.AfterFunc(ctx, func() { time.AfterFunc(stopTime, end) })
	f.iopub = newIOPub(publishing, f.session, signer, f.log)
	f.outputs = newOutputs(f.iopub, cfg.OutputLimit)
	context.AfterFunc(ctx, f.outputs.hurry)
	f.memory.Store(cfg.MemoryLimit)
	f.interrupts.stopped = make(chan struct{})
	f.history.opened = make(chan struct{})
	f.inputs.front = f
	f.subshells.main, f.subshells.other = newQueue(f, ""), map[string]*queue{}
	f.supervisor = newSupervisor(f.startSession, f.greet, f.sessionEnded, f.log)
	return f
}

// serve runs the goroutines until ctx ends, then ends them in order: the
// session and its cells, the clients' last messages, the sockets.
func (f *front) serve(ctx context.Context) error {
	var supervising, receiving sync.WaitGroup
	supervising.Go(func() { f.supervisor.run(ctx) })
	f.workers.Go(func() {
		f.openHistory()
		f.subshells.main.loop(ctx)
	})
	f.workers.Go(func() { f.commJobs.work(ctx) })
	f.workers.Go(func() { f.debugger.jobs.work(ctx) })
	receiving.Go(f.iopub.watch)
	receiving.Go(func() { f.receive(ctx, "shell", f.sockets.shell) })
	receiving.Go(func() { f.receive(ctx, "control", f.sockets.control) })
	receiving.Go(func() { f.inputs.receive(ctx) })
	f.signals(ctx)
	f.stop()
	supervising.Wait()
	finished := make(chan struct{})
	go func() {
		f.workers.Wait()
		close(finished)
	}()
	var err error
	select {
	case <-finished:
	case <-time.After(stopTime + time.Second):
		err = fmt.Errorf("front: requests were still being answered %v after the stop", stopTime)
	}
	err = errors.Join(err, f.sockets.close())
	receiving.Wait()
	return err
}

// openHistory opens the history while the first clients connect: a long file
// takes a moment to read. A kernel works without the file, as in a read-only
// home, and then remembers its own run only.
func (f *front) openHistory() {
	defer close(f.history.opened)
	h, err := openHistory(f.cfg.HistoryPath)
	if err != nil {
		f.log.Warn("history is kept in memory only", "error", err)
		h, _ = openHistory("")
	}
	f.history.history = h
	f.subshells.main.session = h.sessions[0]
}

// signals serves SIGINT until ctx or a signal ends the front. A kernel that is
// idle must survive SIGINT: clients send it whatever the kernelspec says.
func (f *front) signals(ctx context.Context) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGINT {
				return
			}
			f.interrupt()
		case <-ctx.Done():
			return
		}
	}
}

// stopping reports whether Run is about to end.
func (f *front) stopping() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// answerShutdown replies before it stops the session, which may take a moment.
func (f *front) answerShutdown(_ context.Context, r *request) (any, error) {
	var content wire.ShutdownRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	for _, q := range f.subshells.all() {
		q.abort("the kernel is shutting down")
	}
	r.after = f.stop
	return wire.ShutdownReply{Status: wire.StatusOK, Restart: content.Restart}, nil
}

// startSession starts a session on the supervisor's thread.
func (f *front) startSession() (*session, error) {
	s, err := startSession(f.cfg.SessionArgv, f.memory.Load(), f.outputs, f.unasked, f.log)
	if err == nil {
		go f.serveLate(s)
	}
	return s, err
}

// greet tells a new session the limits and gives it back what can be restored.
func (f *front) greet(s *session) {
	output, memory := f.outputs.limit.Load(), f.memory.Load()
	err := s.post(link.Config, 0, 0, link.Settings{OutputLimit: &output, MemoryLimit: &memory})
	back := link.RestoreRequest{Definitions: f.supervisor.restorable(), Debugging: f.debugger.state.Load()}
	if len(back.Definitions) > 0 || back.Debugging != nil {
		err = errors.Join(err, s.post(link.Restore, 0, 0, back))
	}
	if err != nil {
		f.log.Error("greet the session", "error", err)
	}
}

// sessionEnded runs before the next session starts.
func (f *front) sessionEnded(s *session) {
	if f.cfg.SessionEnded != nil {
		f.cfg.SessionEnded()
	}
	f.debuggeeEnded(s.crash)
}
