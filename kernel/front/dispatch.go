package front

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// lane says which goroutine answers a request.
type lane int

const (
	inline    lane = iota // the socket's own: quick, and needs nothing of the session
	aside                 // one of its own: waits for the session, never for a cell
	inOrder               // the comm worker: one after another, never for a cell
	debugging             // the debug worker: likewise
)

// handler answers one type of request. A nil content without error sends no
// reply, as for comm messages.
type handler struct {
	lane        lane
	controlOnly bool
	run         func(*front, context.Context, *request) (content any, err error)
}

// handlers holds every request but execute_request, which is queued. All that
// are not control's alone are answered on both sockets.
var handlers = map[string]handler{
	"kernel_info_request":     {lane: inline, run: (*front).kernelInfo},
	"comm_info_request":       {lane: inline, run: (*front).commInfo},
	"history_request":         {lane: inline, run: (*front).answerHistory},
	"shutdown_request":        {lane: inline, run: (*front).answerShutdown},
	"interrupt_request":       {lane: inline, run: (*front).answerInterrupt}, // VS Code sends it by the shell
	"create_subshell_request": {lane: inline, run: (*front).createSubshell, controlOnly: true},
	"delete_subshell_request": {lane: inline, run: (*front).deleteSubshell, controlOnly: true},
	"list_subshell_request":   {lane: inline, run: (*front).listSubshells, controlOnly: true},
	"usage_request":           {lane: aside, run: (*front).usage, controlOnly: true},
	"debug_request":           {lane: debugging, run: (*front).debug, controlOnly: true},
	"complete_request":        {lane: aside, run: (*front).complete},
	"inspect_request":         {lane: aside, run: (*front).inspect},
	"is_complete_request":     {lane: aside, run: (*front).isComplete},
	"comm_open":               {lane: inOrder, run: (*front).commOpen},
	"comm_msg":                {lane: inOrder, run: (*front).commMsg},
	"comm_close":              {lane: inOrder, run: (*front).commClose},
}

// maxAside bounds requests that wait for the session at one time.
const maxAside = 64

// receive serves one socket until ctx ends or the socket closes.
func (f *front) receive(ctx context.Context, channel string, router *zmtp.Router) {
	for {
		m, err := router.Recv(ctx)
		if err != nil {
			return
		}
		parsed, err := f.signer.Parse(m.Frames)
		if err != nil {
			f.dropped(channel, err)
			continue
		}
		f.route(ctx, channel, &request{Message: parsed, router: router, peer: m.Peer})
	}
}

// route hands a request to the goroutine that answers it.
func (f *front) route(ctx context.Context, channel string, r *request) {
	if r.Header.MsgType == "execute_request" && channel == "shell" {
		f.routeExecute(r)
		return
	}
	h, ok := handlers[r.Header.MsgType]
	if !ok || h.controlOnly && channel != "control" {
		f.dropped(channel, fmt.Errorf("%s is not served here", validPrefix(r.Header.MsgType, 64)))
		f.handle(r, func() (any, error) { return nil, nil })
		return
	}
	answer := func() (any, error) {
		if _, err := f.subshells.find(r.Header.SubshellID); err != nil && channel == "shell" {
			return nil, err
		}
		return h.run(f, ctx, r)
	}
	switch h.lane {
	case inline:
		f.handle(r, answer)
	case aside:
		select {
		case f.aside <- struct{}{}:
			f.workers.Go(func() {
				defer func() { <-f.aside }()
				f.handle(r, answer)
			})
		default:
			f.handle(r, func() (any, error) {
				return nil, &failure{"Busy", fmt.Sprintf("%d requests wait for the session already", maxAside)}
			})
		}
	case inOrder:
		f.commJobs.queue(ctx, func() { f.handle(r, answer) })
	case debugging:
		// From here on an interrupt concerns it.
		r.interrupts = f.interrupts.count()
		f.debugger.asking.Add(1)
		f.debugger.jobs.queue(ctx, func() {
			defer f.debugger.asking.Add(-1)
			f.handle(r, answer)
		})
	}
}

// handle answers a request: busy, the work, the reply on its own socket, idle.
// Reply and idle come whatever the work does, a panic of ours included.
func (f *front) handle(r *request, work func() (any, error)) {
	f.iopub.now("status", r.Message, wire.Status{ExecutionState: wire.Busy})
	content, err := f.guarded(work)
	replyType := strings.Replace(r.Header.MsgType, "_request", "_reply", 1)
	switch {
	case err != nil && replyType != r.Header.MsgType:
		f.reply(r, replyType, wire.ErrorReply{Status: wire.StatusError, Failure: failureOf(err)})
	case err != nil:
		f.dropped("shell", fmt.Errorf("%s: %w", r.Header.MsgType, err))
	case content != nil:
		f.reply(r, replyType, content)
	}
	f.iopub.now("status", r.Message, wire.Status{ExecutionState: wire.Idle})
	if r.after != nil {
		r.after()
	}
}

// guarded turns a panic into an error.
func (f *front) guarded(work func() (any, error)) (content any, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("panic in a request", "panic", p, "stack", string(debug.Stack()))
			content, err = nil, &failure{"InternalError", fmt.Sprintf("the kernel failed: %v", p)}
		}
	}()
	return work()
}
