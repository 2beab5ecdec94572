package session

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"forgekernel/kernel/link"
)

func TestHello(t *testing.T) {
	f := newFront(t)
	if f.hello == nil || f.hello.Version != link.Version || f.hello.PID != f.cmd.Process.Pid {
		t.Errorf("hello %+v from process %d", f.hello, f.cmd.Process.Pid)
	}
}

func TestCommand(t *testing.T) {
	f := newFront(t)
	f.ok(t, "!echo out")
	f.ok(t, "%%bash\necho to stderr >&2")
	if got, want := f.text(), "stdout: out\n\nstderr: to stderr\n"; got != want {
		t.Errorf("transcript %q, want %q", got, want)
	}
	done := f.run(t, "!exit 3")
	if done.Error == nil || done.Error.Name != "CommandError" || !strings.Contains(done.Error.Value, "status 3") {
		t.Errorf("error %+v", done.Error)
	}
}

func TestUnreadableRequest(t *testing.T) {
	f := newFront(t)
	f.conn.Send(link.Frame{Kind: link.Execute, Cell: 77, Body: []byte(`{"code": 1}`)})
	f.conn.Send(link.Frame{Kind: "surprise"})
	done, ok := f.end(77)
	if !ok || done.Error == nil {
		t.Fatalf("outcome %+v, alive %v", done, ok)
	}
	f.ok(t, "!true")
}

func TestInterruptCommand(t *testing.T) {
	f := newFront(t)
	id := f.begin("!echo up; exec sleep 1000")
	f.awaitText("up")
	f.conn.SendBody(link.Interrupt, 0, 0, nil)
	done, ok := f.end(id)
	if !ok || done.Error == nil || done.Error.Name != "Interrupt" || !strings.Contains(done.Error.Value, "sleep 1000") {
		t.Errorf("outcome %+v, alive %v", done.Error, ok)
	}
	f.ok(t, "!true")
}

// evaluate asks the debugger for a value.
func (f *front) evaluate(expr string) (seq uint64) {
	return f.request(link.Debug, map[string]any{"type": "request", "command": "evaluate", "arguments": map[string]any{"expression": expr}})
}

// endlessValue is one that never comes.
const endlessValue = "func() int { for {} }()"

// wantInterrupted waits for the answer to what was interrupted.
func (f *front) wantInterrupted(t *testing.T, seq uint64) {
	t.Helper()
	if answer := answered[struct{ Message string }](t, f, seq); !strings.HasPrefix(answer.Message, "interrupted") {
		t.Fatalf("answer %q", answer.Message)
	}
}

// An interrupt right after requests of the debugger stops what they evaluate, the one
// that is answered and the one that waits.
func TestInterruptEvaluation(t *testing.T) {
	f := newFront(t)
	for range 100 {
		first, second := f.evaluate(endlessValue), f.evaluate(endlessValue)
		f.conn.SendBody(link.Interrupt, 0, 0, nil)
		f.wantInterrupted(t, first)
		f.wantInterrupted(t, second)
	}
}

// An interrupt of a request of the debugger stops no cell.
func TestInterruptEvaluationAlone(t *testing.T) {
	f := newFront(t)
	f.ok(t, "stop := make(chan bool)")
	id := f.begin("fmt.Println(\"up\")\n<-stop")
	f.awaitText("up")
	for !answered[struct{ Success bool }](t, f, f.evaluate("1")).Success { // until the cell waits
	}
	for range 100 {
		seq := f.evaluate(endlessValue)
		f.conn.SendBody(link.Interrupt, 0, seq, nil)
		f.wantInterrupted(t, seq)
	}
	f.ok(t, "close(stop)")
	if done, ok := f.end(id); !ok || done.Error != nil {
		t.Errorf("outcome %+v, alive %v", done.Error, ok)
	}
}

// A terminal's SIGINT reaches the session's whole process group; only frames
// of the front interrupt cells.
func TestSignalDoesNotEndSession(t *testing.T) {
	f := newFront(t)
	syscall.Kill(f.hello.PID, syscall.SIGINT)
	syscall.Kill(f.hello.PID, syscall.SIGHUP)
	f.ok(t, "!true")
}

// Requests are answered while a cell runs.
func TestRequestsDuringCell(t *testing.T) {
	f := newFront(t)
	id := f.begin("!echo up; read x; sleep 1000")
	f.awaitText("up")
	completion := ask[link.CompleteReply](t, f, link.Complete, link.CursorRequest{Code: "%tim", Cursor: 4})
	if len(completion.Matches) != 2 || completion.Matches[0].Text != "%time" || completion.Start != 0 || completion.End != 4 {
		t.Errorf("completion %+v", completion)
	}
	inspection := ask[link.InspectReply](t, f, link.Inspect, link.CursorRequest{Code: "%env", Cursor: 4})
	if text, _ := inspection.Data["text/plain"].(string); !inspection.Found || !strings.HasPrefix(text, "%env [NAME") {
		t.Errorf("inspection %+v", inspection)
	}
	complete := ask[link.IsCompleteReply](t, f, link.IsComplete, link.CodeRequest{Code: "%who"})
	if complete.Status != "complete" {
		t.Errorf("is_complete %+v", complete)
	}
	f.conn.SendBody(link.Interrupt, 0, 0, nil)
	f.end(id)
}

// Cells that run at once have their text told apart, also after one of them
// has ended.
func TestConcurrentCells(t *testing.T) {
	f := newFront(t)
	dir := t.TempDir()
	first, second := mkfifo(t, dir, "first"), mkfifo(t, dir, "second")
	a := f.begin("!echo a1; read x <" + first + "; echo a2; read x <" + second + "; echo a3")
	f.awaitText("a1")
	b := f.begin("!echo b1; echo go >" + first + "; echo b2")
	f.end(b)
	f.awaitText("a2")
	write(t, second)
	f.end(a)
	f.mu.Lock()
	defer f.mu.Unlock()
	own, streamed := "", make(map[uint64]string)
	for _, entry := range f.transcript {
		if rest, found := strings.CutPrefix(entry, "stdout: "); found {
			own += rest
		}
		for _, id := range []uint64{a, b} {
			if rest, found := strings.CutPrefix(entry, fmt.Sprintf("stdout of %d: ", id)); found {
				streamed[id] += rest
			}
		}
	}
	if own != "a1\n" || streamed[a] != "a2\na3\n" || streamed[b] != "b1\nb2\n" {
		t.Errorf("alone %q, streamed %v", own, streamed)
	}
}

// What a background job prints belongs to the cell that started it.
func TestLateOutput(t *testing.T) {
	f := newFront(t)
	fifo := mkfifo(t, t.TempDir(), "go")
	id := f.begin("!read x <" + fifo + "; echo späte Ausgabe &")
	f.end(id)
	f.ok(t, "!echo next")
	write(t, fifo)
	f.awaitText(fmt.Sprintf("stdout of %d: späte Ausgabe", id))
}

func TestStdin(t *testing.T) {
	f := newFront(t)
	f.input = func(p link.InputPrompt) *link.InputValue { return &link.InputValue{Value: "no"} }
	f.ok(t, "%reset")
	if got, want := f.text(), "ask 1: Forget everything the session holds? [y/N] \nstdout: nothing was forgotten\n"; got != want {
		t.Errorf("transcript %q, want %q", got, want)
	}
	f.input = func(p link.InputPrompt) *link.InputValue { return &link.InputValue{Error: "nobody is there"} }
	done := f.run(t, "%reset")
	if done.Error == nil || !strings.Contains(done.Error.Value, "nobody is there") {
		t.Errorf("error %+v", done.Error)
	}
	f.input = nil
	id := f.begin("%reset")
	f.awaitText(fmt.Sprintf("ask %d", id))
	f.conn.SendBody(link.Interrupt, 0, 0, nil)
	if done, _ := f.end(id); done.Error == nil || done.Error.Name != "Interrupt" {
		t.Errorf("interrupted question: %+v", done.Error)
	}
	f.conn.SendBody(link.Execute, 1000, 0, link.ExecuteRequest{Code: "%reset"})
	if done, _ := f.end(1000); done.Error == nil || !strings.Contains(done.Error.Value, "does not let cells ask") {
		t.Errorf("without allow_stdin: %+v", done.Error)
	}
}

func TestConfig(t *testing.T) {
	f := newFront(t)
	limit := int64(4 << 20)
	f.conn.SendBody(link.Config, 0, 0, link.Settings{OutputLimit: &limit})
	f.ok(t, "%config memory_limit=2GiB")
	if len(f.settings) != 1 || f.settings[0].OutputLimit != nil || *f.settings[0].MemoryLimit != 2<<30 {
		t.Errorf("settings sent: %+v", f.settings)
	}
	done := f.ok(t, "%config")
	text, _ := done.Result.Data["text/plain"].(string)
	for _, want := range []string{"output_limit", "4MiB", "memory_limit", "2GiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("%%config shows %q, which lacks %s", text, want)
		}
	}
	refusal := f.run(t, fmt.Sprintf("%%config memory_limit=%d", refused))
	if refusal.Error == nil || refusal.Error.Value != "the limit is not possible" {
		t.Errorf("a refused setting ended in %+v", refusal.Error)
	}
	if done := f.ok(t, "%config"); done.Result.Data["text/plain"] != text {
		t.Errorf("a refused setting changed %q to %q", text, done.Result.Data["text/plain"])
	}
}

func TestUnknownComm(t *testing.T) {
	f := newFront(t)
	f.conn.SendBody(link.Comm, 0, 0, link.CommMessage{Type: "comm_open", ID: "abc", Target: "none", Data: map[string]any{}})
	f.awaitText(`"type":"comm_close","comm_id":"abc"`)
}

// Deaths that Go code cannot cause as easily are caused from outside; the front
// sees the link close and the process end.
func TestDeath(t *testing.T) {
	for _, c := range []struct {
		name, code string
		signal     syscall.Signal
		report     string
	}{
		{"SIGSEGV", "!kill -SEGV $PPID; sleep 1000", 0, "SIGSEGV"},
		{"SIGABRT", "!kill -ABRT $PPID; sleep 1000", 0, "SIGABRT"},
		{"SIGKILL", "!kill -KILL $PPID; sleep 1000", syscall.SIGKILL, ""},
		{"SIGTERM", "syscall.Kill(os.Getpid(), syscall.SIGTERM); select {}", syscall.SIGTERM, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFront(t)
			if done, ok := f.end(f.begin(c.code)); ok {
				t.Fatalf("the cell ended: %+v", done)
			}
			f.cmd.Wait()
			status := f.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if c.signal != 0 && (!status.Signaled() || status.Signal() != c.signal) {
				t.Errorf("status %v, want signal %v", status, c.signal)
			}
			if c.report != "" && !strings.Contains(f.report(), c.report) {
				t.Errorf("crash report %.200q lacks %s", f.report(), c.report)
			}
		})
	}
}

func TestShutdown(t *testing.T) {
	f := newFront(t)
	f.ok(t, "!echo pid $$ end; exec sleep 1000 &")
	f.begin("!echo pid $$ end; exec sleep 1000")
	f.await(func() bool { return f.closed || strings.Count(strings.Join(f.transcript, ""), " end\n") >= 2 })
	f.conn.SendBody(link.Shutdown, 0, 0, nil)
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("the session ended with %v", err)
	}
	pids := pidsOf(f.text())
	if len(pids) != 2 {
		t.Fatalf("transcript %q names no two processes", f.text())
	}
	for _, pid := range pids {
		awaitGone(t, pid)
	}
}

// A killed front takes everything with it: the session, its children, their
// orphans and those that left its process group.
func TestFrontKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FORGE_SESSION_TEST=front")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var pids []string
	for lines.Scan() && lines.Text() != "ready" {
		pids = append(pids, lines.Text())
	}
	cmd.Process.Kill()
	cmd.Wait()
	if len(pids) != 5 {
		t.Fatalf("pids %q, want 5 of them", pids)
	}
	for _, pid := range pids {
		awaitGone(t, pid)
	}
}

// doomedFront starts a session with a family, names the members and waits to be
// killed.
func doomedFront() int {
	f, err := startFront()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	f.await(func() bool { return f.hello != nil || f.closed })
	fmt.Println(f.cmd.Process.Pid)
	f.begin("!sleep 1000 & echo pid $! end; sleep 1000 &")
	f.begin("!setsid sh -c 'echo pid $$ end; exec sleep 1000' & sleep 1000")
	f.begin("%%bash\necho pid $$ end\n(sleep 1000 & echo pid $! end)\nwhile true; do sleep 1000; done")
	f.await(func() bool {
		return f.closed || strings.Count(strings.Join(f.transcript, ""), " end\n") >= 4
	})
	for _, pid := range pidsOf(f.text()) {
		fmt.Println(pid)
	}
	fmt.Println("ready")
	select {}
}

// A session that dies of something that it cannot handle takes its commands
// with it, also what these have left behind in the background.
func TestDeathEndsCommands(t *testing.T) {
	f := newFront(t)
	f.begin("!(sleep 1000 & echo pid $! end; exec sleep 1000) & echo pid $! end")
	f.await(func() bool { return f.closed || strings.Count(strings.Join(f.transcript, ""), " end\n") >= 2 })
	pids := pidsOf(f.text())
	if len(pids) != 2 {
		t.Fatalf("transcript %q names no two processes", f.text())
	}
	f.cmd.Process.Kill()
	f.cmd.Wait()
	for _, pid := range pids {
		awaitGone(t, pid)
	}
}

// pidsOf finds the numbers that stand behind "pid".
func pidsOf(text string) []string {
	var pids []string
	fields := strings.Fields(text)
	for i, field := range fields {
		if i > 0 && fields[i-1] == "pid" && strings.Trim(field, "0123456789") == "" {
			pids = append(pids, field)
		}
	}
	return pids
}

// awaitGone returns when the process has ended.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(pid, &n); err != nil {
		t.Fatalf("pid %q: %v", pid, err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err == unix.ESRCH {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 300_000)
		if err == unix.EINTR {
			continue
		}
		if ready == 0 {
			t.Errorf("process %d is still there", n)
		}
		return
	}
}

func mkfifo(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, fifo string) {
	t.Helper()
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}
