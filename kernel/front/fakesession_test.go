package front

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forgekernel/kernel/link"
)

// TestMain lets the test binary also be the session of a front under test, and
// a front that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "fake-session" {
		fakeSession(os.Args[2:])
	}
	if len(os.Args) > 1 && os.Args[1] == "front" {
		os.Exit(doomedFront(os.Args[2]))
	}
	// Under the race detector processes linger for a second at their exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// A slow machine takes longer to fill the queue of a client that does not read.
	stallLimit = time.Hour
	os.Exit(m.Run())
}

// fake is a session whose cells are scripts of one command a line; see
// fake.command. It speaks the link as a real one does.
type fake struct {
	conn *link.Conn

	mu          sync.Mutex
	seq         uint64
	waiting     map[uint64]chan link.Frame
	stops       map[uint64]chan struct{} // of running cells
	signals     map[string]chan struct{}
	symbols     []link.Symbol
	definitions []link.Definition
	comms       map[string]bool
	debugging   *link.Debugging
}

// fakeSession never returns. Its arguments choose a session that fails at once.
func fakeSession(args []string) {
	mode := strings.Join(args, " ")
	if mode == "dies" {
		fmt.Fprintln(os.Stderr, "cannot start")
		os.Exit(7)
	}
	file := os.NewFile(3, "link")
	debug.SetCrashOutput(os.NewFile(4, "crash"), debug.CrashOptions{})
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	f := &fake{
		conn: link.NewConn(file), waiting: map[uint64]chan link.Frame{}, stops: map[uint64]chan struct{}{},
		signals: map[string]chan struct{}{}, comms: map[string]bool{},
	}
	version := link.Version
	switch mode {
	case "other version":
		version++
	case "garbage":
		os.NewFile(3, "link").WriteString("\x00\x00\x00\x04nope")
	}
	f.send(link.Hello, 0, 0, link.HelloBody{Version: version, PID: os.Getpid()})
	for {
		frame, err := f.conn.Recv()
		if err != nil {
			os.Exit(0)
		}
		f.receive(frame)
	}
}

func (f *fake) send(kind link.Kind, cell, seq uint64, body any) {
	if err := f.conn.SendBody(kind, cell, seq, body); err != nil {
		os.Exit(9)
	}
}

func decode[T any](frame link.Frame) T {
	v, err := link.Decode[T](frame)
	if err != nil {
		panic(err)
	}
	return v
}

func (f *fake) receive(frame link.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch frame.Kind {
	case link.Execute:
		stop := make(chan struct{})
		f.stops[frame.Cell] = stop
		go f.run(frame, stop)
	case link.Interrupt:
		for cell, stop := range f.stops {
			if frame.Seq != 0 && cell != loopStop {
				continue
			}
			close(stop)
			delete(f.stops, cell)
		}
	case link.Ack, link.Input:
		if c := f.waiting[frame.Seq]; c != nil {
			delete(f.waiting, frame.Seq)
			c <- frame
		}
	case link.Complete:
		r := decode[link.CursorRequest](frame)
		f.send(link.Reply, 0, frame.Seq, link.CompleteReply{
			Matches: []link.Match{{Text: r.Code + "1", Type: "function", Signature: "()"}, {Text: r.Code + "2"}}, End: r.Cursor,
		})
	case link.Inspect:
		r := decode[link.CursorRequest](frame)
		if r.Code == "never" {
			return
		}
		f.send(link.Reply, 0, frame.Seq, link.InspectReply{Found: true, Data: map[string]any{"text/plain": "doc of " + r.Code}})
	case link.IsComplete:
		status := "complete"
		if strings.HasSuffix(decode[link.CodeRequest](frame).Code, "{") {
			status = "incomplete"
		}
		f.send(link.Reply, 0, frame.Seq, link.IsCompleteReply{Status: status})
	case link.Restore:
		r := decode[link.RestoreRequest](frame)
		f.definitions, f.debugging = r.Definitions, r.Debugging
	case link.Debug:
		f.debug(frame)
	case link.Comm:
		f.comm(frame)
	case link.Shutdown:
		os.Exit(0)
	}
}

// debug answers with what it was restored with. "halt" halts, "detach" ends, "exit"
// dies without an answer, "loop" is answered after an interrupt.
func (f *fake) debug(frame link.Frame) {
	r := decode[map[string]any](frame)
	switch r["command"] {
	case "halt":
		f.send(link.DebugState, 0, 0, link.Debugging{Client: "test", Seq: 7, Halted: 3, Breakpoints: map[string][]link.Breakpoint{"x": {{Line: 2}}}})
		f.send(link.DebugEvent, 0, 0, map[string]any{"event": "stopped"})
	case "detach":
		f.send(link.DebugState, 0, 0, (*link.Debugging)(nil))
	case "exit":
		os.Exit(4)
	case "loop":
		stop := make(chan struct{})
		f.stops[loopStop] = stop
		go func() {
			<-stop
			f.send(link.Reply, 0, frame.Seq, map[string]any{"message": "interrupted"})
		}()
		return
	}
	f.send(link.Reply, 0, frame.Seq, map[string]any{"type": "response", "body": f.debugging})
}

// loopStop is where the debugger stands among the running cells.
const loopStop = math.MaxUint64

func (f *fake) comm(frame link.Frame) {
	m := decode[link.CommMessage](frame)
	switch {
	case m.Type == "comm_open" && m.Target == "echo":
		f.comms[m.ID] = true
		f.send(link.Ack, 0, frame.Seq, nil)
	case m.Type == "comm_open" && m.Target == "deaf": // never answers
	case m.Type == "comm_open":
		f.send(link.Comm, 0, 0, link.CommMessage{Type: "comm_close", ID: m.ID})
	case m.Type == "comm_msg" && f.comms[m.ID]:
		f.send(link.Comm, 0, 0, link.CommMessage{Type: "comm_msg", ID: m.ID, Data: m.Data})
	}
}

// exchange sends a frame that wants an answer and waits for it.
func (f *fake) exchange(kind link.Kind, cell uint64, body any) link.Frame {
	f.mu.Lock()
	f.seq++
	seq := f.seq
	answer := make(chan link.Frame, 1)
	f.waiting[seq] = answer
	f.mu.Unlock()
	f.send(kind, cell, seq, body)
	return <-answer
}

// run executes a cell's script; the last Result or Error is its outcome.
func (f *fake) run(frame link.Frame, stop chan struct{}) {
	r := decode[link.ExecuteRequest](frame)
	var done link.DoneBody
	for line := range strings.Lines(r.Code) {
		if line == "number" { // by which messages call the cell
			done.Result = text(strconv.Itoa(r.Number))
			continue
		}
		f.command(frame.Cell, strings.TrimRight(line, "\n"), &done, stop)
		if done.Error != nil {
			break
		}
	}
	for name, expr := range r.UserExpressions {
		if done.UserExpressions == nil {
			done.UserExpressions = map[string]link.UserExpression{}
		}
		x := link.UserExpression{Result: text(expr)}
		if expr == "bad" {
			x = link.UserExpression{Error: &link.Error{Name: "E", Value: "bad"}}
		}
		done.UserExpressions[name] = x
	}
	f.mu.Lock()
	done.Symbols, done.Definitions = f.symbols, f.definitions
	delete(f.stops, frame.Cell)
	f.mu.Unlock()
	f.send(link.Done, frame.Cell, 0, done)
}

func text(s string) *link.Bundle {
	return &link.Bundle{Data: map[string]any{"text/plain": s}, Metadata: map[string]any{}}
}

func interrupted() *link.Error {
	return &link.Error{Name: "Interrupted", Value: "interrupted", Traceback: []string{"Interrupted"}}
}

// command runs one line: a verb and its argument.
func (f *fake) command(cell uint64, line string, done *link.DoneBody, stop chan struct{}) {
	verb, arg, _ := strings.Cut(line, " ")
	switch verb {
	case "print":
		os.Stdout.WriteString(arg + "\n")
	case "eprint":
		os.Stderr.WriteString(arg + "\n")
	case "raw": // a Go string literal, written in one write
		s, err := strconv.Unquote(arg)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(s)
	case "lines": // N numbered lines, a write each
		for i := range number(arg) {
			fmt.Fprintf(os.Stdout, "line %d\n", i)
		}
	case "flood": // N bytes in lines of 100
		line := []byte(strings.Repeat("x", 99) + "\n")
		for range number(arg) / 100 {
			os.Stdout.Write(line)
		}
	case "forever":
		for {
			select {
			case <-stop:
				done.Error = interrupted()
				return
			default:
				os.Stdout.WriteString(strings.Repeat("runaway ", 500) + "\n")
			}
		}
	case "display", "update":
		id, content, _ := strings.Cut(arg, " ")
		f.exchange(link.Display, cell, link.DisplayBody{Bundle: *text(content), ID: id, Update: verb == "update"})
	case "show": // a display of N bytes
		f.exchange(link.Display, cell, link.DisplayBody{Bundle: *text(strings.Repeat("x", number(arg)))})
	case "shows": // displays of N bytes without an end
		for {
			answered := make(chan struct{})
			go func() {
				f.exchange(link.Display, cell, link.DisplayBody{Bundle: *text(strings.Repeat("x", number(arg)))})
				close(answered)
			}()
			select {
			case <-answered:
			case <-stop:
				done.Error = interrupted()
				return
			}
		}
	case "clear":
		f.exchange(link.Clear, cell, link.ClearBody{Wait: arg == "wait"})
	case "bad": // a display whose body is none
		f.exchange(link.Display, cell, []int{1})
	case "comm": // opens, and later closes, a comm from this side
		kind, id, _ := strings.Cut(arg, " ")
		f.send(link.Comm, cell, 0, link.CommMessage{Type: kind, ID: id, Target: "from the kernel", Data: map[string]any{"v": 1}})
	case "stream":
		f.exchange(link.Stream, cell, link.StreamText{Name: "stdout", Text: arg + "\n"})
	case "late": // prints a thousand lines when signalled, after its cell
		go func() {
			<-f.signal(arg)
			for i := range 1000 {
				f.send(link.Stream, cell, 0, link.StreamText{Name: "stdout", Text: fmt.Sprintln("late", arg, i)})
			}
			close(f.signal(arg + " shown"))
		}()
	case "floods": // prints without an end, after its cell
		go func() {
			for {
				f.exchange(link.Stream, cell, link.StreamText{Name: "stdout", Text: strings.Repeat("flood ", 10_000) + "\n"})
			}
		}()
	case "result":
		done.Result = text(arg)
	case "error":
		done.Error = &link.Error{Name: "TestError", Value: arg, Traceback: []string{"TestError: " + arg}}
	case "page":
		done.Payload = []link.Payload{{Source: "page", Data: map[string]any{"text/plain": arg}}}
	case "next":
		done.Payload = []link.Payload{{Source: "set_next_input", Text: arg}}
	case "var":
		f.mu.Lock()
		f.symbols = append(f.symbols, link.Symbol{Name: arg, Kind: "var", Type: "int"})
		f.mu.Unlock()
	case "def":
		f.mu.Lock()
		f.symbols = append(f.symbols, link.Symbol{Name: arg, Kind: "forgescript"})
		f.definitions = append(f.definitions, link.Definition{Name: arg, Source: "def " + arg})
		f.mu.Unlock()
	case "defined":
		f.mu.Lock()
		raw, _ := json.Marshal(f.definitions)
		f.mu.Unlock()
		done.Result = text(string(raw))
	case "pid":
		done.Result = text(strconv.Itoa(os.Getpid()))
	case "escape": // a process that leaves the group and keeps every descriptor
		cmd := exec.Command("sleep", arg)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.ExtraFiles = []*os.File{os.NewFile(3, "link"), os.NewFile(4, "crash")}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		done.Result = text(strconv.Itoa(cmd.Process.Pid))
	case "child": // a process of the session's group that outlives it
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		done.Result = text(strconv.Itoa(cmd.Process.Pid))
	case "block":
		<-stop
		done.Error = interrupted()
	case "wait":
		select {
		case <-f.signal(arg):
		case <-stop:
			done.Error = interrupted()
		}
	case "signal":
		close(f.signal(arg))
	case "input", "password":
		answer := decode[link.InputValue](f.exchange(link.InputRequest, cell, link.InputPrompt{Prompt: arg, Password: verb == "password"}))
		if answer.Error != "" {
			done.Error = &link.Error{Name: "InputError", Value: answer.Error}
			return
		}
		done.Result = text(answer.Value)
	case "limit":
		n := int64(number(arg))
		f.exchange(link.Config, 0, link.Settings{OutputLimit: &n})
	case "exit":
		os.Exit(number(arg))
	case "crash":
		crashNow(arg)
	default:
		panic("unknown command " + line)
	}
}

// signal is an event between cells, by name.
func (f *fake) signal(name string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.signals[name]
	if c == nil {
		c = make(chan struct{})
		f.signals[name] = c
	}
	return c
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// crashNow ends the process in one of the ways that no program can prevent.
func crashNow(kind string) {
	switch kind {
	case "maps":
		runtime.GOMAXPROCS(8) // a single one never interrupts a write into a map
		m := map[int]int{}
		for range 8 {
			go func() {
				for i := 0; ; i++ {
					m[i%100] = i
				}
			}()
		}
	case "stack":
		debug.SetMaxStack(1 << 20)
		var recurse func(n int) int
		recurse = func(n int) int { return recurse(n+1) + n }
		recurse(0)
	case "memory":
		var hold [][]byte
		for {
			hold = append(hold, make([]byte, 16<<20))
			for i := 0; i < 16<<20; i += 4096 {
				hold[len(hold)-1][i] = 1
			}
		}
	case "panic":
		go panic("goroutine panics")
	case "abort":
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "term":
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	case "later": // after the cell, when told
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR1)
		go func() {
			<-told
			os.Exit(5)
		}()
		return
	}
	select {} // the process is about to end
}
