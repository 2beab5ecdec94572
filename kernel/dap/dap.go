// Package dap debugs Go cells for a Jupyter client. A [Server] answers the
// requests of the Debug Adapter Protocol that come in debug_request messages,
// and those that Jupyter adds to it: dumpCell, debugInfo, inspectVariables,
// richInspectVariables and copyToGlobals.
//
// A cell is a file to a debugger. Its name is made of the cell's text alone, as
// the client makes it too (see [Path]), so that both can speak of a cell before
// it runs; a function keeps the file of the cell that declared it.
//
// Breakpoints may have a condition, halt at some of their hits only, or log a
// message instead (see condition); these are computed where the goroutine stands,
// with everything halted. Variables can be set, in the list of them and in the
// console: by an assignment that is checked as cells are.
//
// Requests are answered one at a time, in order. What they name by numbers,
// frames and variables, is valid until the cell goes on.
package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/link"
)

// Limits.
const (
	evaluateTime = 5 * time.Second // of one expression
	maxChildren  = 1000            // of a variable that are sent at once
	maxHandles   = 100_000         // of variables and frames, before earlier ones are forgotten
	maxKey       = 4096            // bytes of a key of a map that an expression names
	maxFiles     = 4096            // texts of cells that are kept
	maxText      = 64 << 20        // bytes of them together
)

// Options connect a server with the session.
type Options struct {
	Session *gocell.Session
	// Lines lists the lines of a cell on which it can halt.
	Lines func(code string) []int
	// Event sends a DAP event. It may be called from any goroutine.
	Event func(json.RawMessage)
	// State keeps, before each message, what Restore needs in another process; nil
	// when nobody debugs.
	State func(*link.Debugging)
}

// Server debugs the cells of one session.
type Server struct {
	opts  Options
	debug *gocell.Debugger

	mu          sync.Mutex
	started     bool   // by initialize, until disconnect
	client      string // as it calls itself
	panics      bool   // all of them halt
	uncaught    bool   // those halt that nobody is there to recover
	seq         int
	files       map[string]string // texts of cells by path
	order       []string          // of files, the oldest first
	size        int               // of files, in bytes
	breakpoints map[string][]breakpoint
	frames      map[int]frame
	handles     map[int]handle
	undecide    func()            // stops what a breakpoint computes
	numbers     int               // of frames and handles; never used twice
	halted      map[uint64]string // goroutines that halted, with the panic that halted each
}

// New returns a server whose debugger is not attached yet.
func New(opts Options) *Server {
	s := &Server{
		opts: opts, debug: opts.Session.Debugger(), files: map[string]string{}, breakpoints: map[string][]breakpoint{},
		frames: map[int]frame{}, handles: map[int]handle{}, halted: map[uint64]string{}, undecide: func() {},
	}
	s.debug.OnBreakpoint(s.stays)
	return s
}

const suffix = ".go"

// prefix begins the paths of all cells. Nothing lies there. The number is that of
// the front, which outlives its sessions, and JupyterLab calls a file "Cell [3]"
// only if its path has "ipykernel_" in it.
var prefix = filepath.Join(os.TempDir(), "forge_ipykernel_"+strconv.Itoa(os.Getppid())) + string(filepath.Separator)

// Path is the file of a cell.
func Path(code string) string {
	return prefix + strconv.FormatUint(uint64(murmur2([]byte(code), hashSeed)), 10) + suffix
}

// Ran keeps the text of a cell, whose functions may be looked into later, and puts
// breakpoints in place that waited for it.
func (s *Server) Ran(code string) {
	path := Path(code)
	s.mu.Lock()
	_, known := s.files[path]
	if !known {
		s.keep(path, code)
		s.place(path)
	}
	waited := slices.Clone(s.breakpoints[path])
	s.mu.Unlock()
	if known {
		return
	}
	for _, b := range waited {
		s.send("breakpoint", object{"reason": "changed", "breakpoint": b})
	}
}

func (s *Server) keep(path, code string) {
	s.files[path], s.order = code, append(s.order, path)
	s.size += len(code)
	for len(s.order) > 1 && (len(s.order) > maxFiles || s.size > maxText) {
		s.size -= len(s.files[s.order[0]])
		delete(s.files, s.order[0])
		s.order = s.order[1:]
	}
}

type request struct {
	Seq       int             `json:"seq"`
	Type      string          `json:"type"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`
}

type response struct {
	Seq        int    `json:"seq"`
	Type       string `json:"type"`
	RequestSeq int    `json:"request_seq"`
	Success    bool   `json:"success"`
	Command    string `json:"command"`
	Message    string `json:"message,omitempty"`
	Body       any    `json:"body,omitempty"`
}

type event struct {
	Seq   int    `json:"seq"`
	Type  string `json:"type"`
	Event string `json:"event"`
	Body  any    `json:"body,omitempty"`
}

type object = map[string]any

// Handle answers one request; bad ones get an answer that says so.
func (s *Server) Handle(ctx context.Context, raw json.RawMessage) json.RawMessage {
	var r request
	var body any
	err := json.Unmarshal(raw, &r)
	if err == nil {
		body, err = s.answer(ctx, r)
	} else {
		err = fmt.Errorf("not a DAP request: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.opts.State(s.state())
	reply := response{Seq: s.seq, Type: "response", RequestSeq: r.Seq, Command: r.Command, Success: err == nil, Body: body}
	if err != nil {
		reply.Message, reply.Body = err.Error(), object{"error": object{"id": 1, "format": err.Error()}}
	}
	out, err := json.Marshal(reply)
	if err != nil { // a value that JSON cannot represent
		reply.Success, reply.Message, reply.Body = false, err.Error(), nil
		out, _ = json.Marshal(reply)
	}
	return out
}

func (s *Server) answer(ctx context.Context, r request) (body any, err error) {
	defer func() {
		if p := recover(); p != nil { // a fault of the debugger is not to be one of the session
			body, err = nil, fmt.Errorf("the debugger failed: %v\n%s", p, debug.Stack())
		}
	}()
	h := handlers[r.Command]
	switch {
	case r.Type != "request":
		return nil, fmt.Errorf("a message of type %q is not a request", r.Type)
	case h == nil:
		return nil, fmt.Errorf("the debugger has no command %q", r.Command)
	}
	return h(s, ctx, r.Arguments)
}

type handler func(*Server, context.Context, json.RawMessage) (any, error)

var handlers = map[string]handler{
	"initialize":              on((*Server).initialize),
	"attach":                  onceStarted((*Server).attach),
	"configurationDone":       on((*Server).nothing),
	"disconnect":              on((*Server).disconnect),
	"setBreakpoints":          onceStarted((*Server).setBreakpoints),
	"setExceptionBreakpoints": onceStarted((*Server).setExceptionBreakpoints),
	"threads":                 on((*Server).threads),
	"stackTrace":              looking((*Server).stackTrace),
	"scopes":                  looking((*Server).scopes),
	"variables":               looking((*Server).variables),
	"evaluate":                on((*Server).evaluate),
	"setVariable":             on((*Server).setVariable),
	"source":                  on((*Server).source),
	"modules":                 on((*Server).modules),
	"pause":                   on((*Server).pause),
	"continue":                on((*Server).goOn),
	"next":                    step(eval.StepOver),
	"stepIn":                  step(eval.StepIn),
	"stepOut":                 step(eval.StepOut),
	"dumpCell":                on((*Server).dumpCell),
	"debugInfo":               on((*Server).debugInfo),
	"inspectVariables":        looking((*Server).inspectVariables),
	"richInspectVariables":    on((*Server).richInspectVariables),
	"copyToGlobals":           looking((*Server).copyToGlobals),
}

// on decodes the arguments of a command.
func on[A any](f func(*Server, context.Context, A) (any, error)) handler {
	return func(s *Server, ctx context.Context, raw json.RawMessage) (any, error) {
		var arguments A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &arguments); err != nil {
				return nil, fmt.Errorf("bad arguments: %w", err)
			}
		}
		return f(s, ctx, arguments)
	}
}

// onceStarted is on for a command that initialize must have come before.
func onceStarted[A any](f func(*Server, context.Context, A) (any, error)) handler {
	return on(func(s *Server, ctx context.Context, a A) (any, error) {
		s.mu.Lock()
		started := s.started
		s.mu.Unlock()
		if !started {
			return nil, errNotStarted
		}
		return f(s, ctx, a)
	})
}

// looking is on for a command that looks at halted code: everything is held and
// the server locked meanwhile.
func looking[A any](f func(*Server, eval.World, A) (any, error)) handler {
	return on(func(s *Server, ctx context.Context, a A) (body any, err error) {
		s.debug.Hold(ctx, func(w eval.World) {
			s.mu.Lock()
			defer s.mu.Unlock()
			body, err = f(s, w, a)
		})
		return body, err
	})
}

type none struct{}

func (s *Server) nothing(context.Context, none) (any, error) { return object{}, nil }

// initialize begins a client's session: JupyterLab asks for debugInfo between it
// and attach, and gives up when that says that nothing is started.
func (s *Server) initialize(_ context.Context, a struct {
	ClientID string `json:"clientID"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.client = true, a.ClientID
	return object{
		"supportsConfigurationDoneRequest":  true,
		"supportsConditionalBreakpoints":    true,
		"supportsHitConditionalBreakpoints": true,
		"supportsLogPoints":                 true,
		"supportsSetVariable":               true,
		"supportsEvaluateForHovers":         true,
		"supportsModulesRequest":            true,
		"exceptionBreakpointFilters": []object{
			{"filter": panics, "label": "Panics", "description": "Halt where a panic begins", "default": false},
			{"filter": uncaught, "label": "Uncaught panics", "description": "Halt where a panic begins that no deferred function is there to recover", "default": false},
		},
	}, nil
}

// The filters of panics.
const (
	panics   = "panic"
	uncaught = "uncaught"
)

func (s *Server) attach(context.Context, none) (any, error) {
	s.debug.Attach(s.halt)
	s.send("initialized", nil)
	return object{}, nil
}

func (s *Server) disconnect(context.Context, none) (any, error) {
	s.forget()
	s.debug.Detach()
	s.mu.Lock()
	s.undecide()
	s.started, s.panics, s.uncaught, s.breakpoints = false, false, false, map[string][]breakpoint{}
	s.mu.Unlock()
	s.send("terminated", nil)
	return object{}, nil
}

func (s *Server) send(name string, body any) {
	s.mu.Lock()
	s.seq++
	e := event{Seq: s.seq, Type: "event", Event: name, Body: body}
	s.opts.State(s.state())
	s.mu.Unlock()
	if raw, err := json.Marshal(e); err == nil {
		s.opts.Event(raw)
	}
}

// halt hears that a goroutine halted, or that it goes on because it was
// interrupted.
func (s *Server) halt(h eval.Halt) {
	if h.Reason == eval.Resumed {
		s.resumed(h.Thread)
		return
	}
	s.mu.Lock()
	s.halted = map[uint64]string{h.Thread: h.Text}
	s.mu.Unlock()
	body := object{"reason": h.Reason, "threadId": h.Thread, "allThreadsStopped": true}
	if h.Text != "" {
		body["description"], body["text"] = "panic", h.Text
	}
	s.send("stopped", body)
}

// resumed tells that everything goes on.
func (s *Server) resumed(thread uint64) {
	s.forget()
	s.send("continued", object{"threadId": thread, "allThreadsContinued": true})
}

// forget makes the numbers of frames and variables invalid.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames, s.handles, s.halted = map[int]frame{}, map[int]handle{}, map[uint64]string{}
}

type onThread struct {
	ThreadID uint64 `json:"threadId"`
}

func (s *Server) pause(context.Context, onThread) (any, error) {
	if !s.debug.Attached() {
		return nil, errNotAttached
	}
	s.debug.Pause()
	return object{}, nil
}

var (
	errNotAttached = errors.New("the debugger is not attached")
	errNotHalted   = errors.New("no cell is halted")
	errNotStarted  = errors.New("the debugger is not started: initialize comes first")
)

func (s *Server) goOn(_ context.Context, a onThread) (any, error) {
	if !s.debug.Halted() {
		return nil, errNotHalted
	}
	s.resumed(a.ThreadID)
	s.debug.Continue()
	return object{"allThreadsContinued": true}, nil
}

func step(kind eval.Step) handler {
	return on(func(s *Server, _ context.Context, a onThread) (any, error) {
		if !s.debug.Halted() {
			return nil, errNotHalted
		}
		s.resumed(a.ThreadID)
		s.debug.Step(a.ThreadID, kind)
		return object{}, nil
	})
}

func (s *Server) threads(context.Context, none) (any, error) {
	list := []object{}
	for _, t := range s.debug.Threads() {
		list = append(list, object{"id": t.ID, "name": t.Name})
	}
	return object{"threads": list}, nil
}

func (s *Server) setExceptionBreakpoints(_ context.Context, a struct {
	Filters []string `json:"filters"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panics, s.uncaught = slices.Contains(a.Filters, panics), slices.Contains(a.Filters, uncaught)
	s.debug.HaltOnPanic(s.panics)
	s.debug.HaltOnUncaught(s.uncaught)
	return object{}, nil
}

func (s *Server) debugInfo(context.Context, none) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	breakpoints := []object{}
	for path, list := range s.breakpoints {
		breakpoints = append(breakpoints, object{"source": path, "breakpoints": list})
	}
	stopped := []uint64{}
	for id := range s.halted {
		stopped = append(stopped, id)
	}
	return object{
		"isStarted": s.started, "breakpoints": breakpoints, "stoppedThreads": stopped,
		"hashMethod": "Murmur2", "hashSeed": uint32(hashSeed), "tmpFilePrefix": prefix, "tmpFileSuffix": suffix,
		"richRendering": true, "copyToGlobals": true, "exceptionPaths": []string{},
	}, nil
}
