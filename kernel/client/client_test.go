package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forgekernel/kernel/wire"
)

// patience bounds every wait; it only decides when a hanging test fails.
const patience = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func fakeCommand(t testing.TB, mode string) Command {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{
		Argv: []string{"/bin/sh", "-c", `FAKE_KERNEL="$1" exec "$2"`, "sh", "{connection_file}", self},
		Env:  []string{"FAKE_MODE=" + mode},
	}
}

func start(t testing.TB, cmd Command, opts Options) *Client {
	t.Helper()
	c, err := Start(testContext(t), cmd, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// run executes a cell and renders what came of it.
func run(t testing.TB, c *Client, code string) (outputs string, reply *wire.ExecuteResponse) {
	t.Helper()
	ctx := testContext(t)
	e, err := c.Execute(ctx, code, ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	messages, reply, err := e.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return render(messages), reply
}

func render(messages []*wire.Message) string {
	var b strings.Builder
	for _, m := range messages {
		var content struct {
			Text string      `json:"text"`
			Name string      `json:"ename"`
			Data wire.Object `json:"data"`
		}
		if m.Header.MsgType == "execute_input" {
			continue
		}
		m.Decode(&content)
		fmt.Fprintf(&b, "%s(%s%s)", m.Header.MsgType, content.Text, content.Name)
	}
	return b.String()
}

func TestExecute(t *testing.T) {
	for _, opts := range []Options{{}, {IPC: true}} {
		c := start(t, fakeCommand(t, ""), opts)
		if c.Info().Implementation != "fake" {
			t.Errorf("info %+v", c.Info())
		}
		outputs, reply := run(t, c, "print hello")
		if outputs != "stream(hello)" || reply.Status != wire.StatusOK || reply.ExecutionCount != 1 {
			t.Errorf("got %s, %+v", outputs, reply)
		}
		outputs, reply = run(t, c, "fail badly")
		if outputs != "error(Failure)" || reply.Status != wire.StatusError || reply.Value != "badly" || reply.ExecutionCount != 2 {
			t.Errorf("got %s, %+v", outputs, reply)
		}
		if outputs, _ := run(t, c, "ask name?"); outputs != "error(NoStdin)" {
			t.Errorf("got %s", outputs)
		}
		if outputs, _ := run(t, c, "flood 3"); outputs != "stream(0)stream(1)stream(2)" {
			t.Errorf("got %s", outputs)
		}
	}
}

// Cells that are sent at once each get their own outputs.
func TestExecuteAtOnce(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			ctx := testContext(t)
			e, err := c.Execute(ctx, fmt.Sprint("print ", i), ExecuteOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			messages, _, err := e.Wait(ctx)
			if got := render(messages); err != nil || got != fmt.Sprintf("stream(%d)", i) {
				t.Errorf("cell %d: %s, %v", i, got, err)
			}
		})
	}
	all.Wait()
}

func TestNoWelcome(t *testing.T) {
	c := start(t, fakeCommand(t, "mute"), Options{})
	if outputs, _ := run(t, c, "print first"); outputs != "stream(first)" {
		t.Errorf("got %s", outputs)
	}
}

func TestRequests(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{})
	ctx := testContext(t)
	if r, err := c.Complete(ctx, "pri", 3); err != nil || r.Matches[0] != "pri!" || r.CursorEnd != 3 {
		t.Errorf("Complete: %+v, %v", r, err)
	}
	if r, err := c.Inspect(ctx, "x", 1, 0); err != nil || !r.Found {
		t.Errorf("Inspect: %+v, %v", r, err)
	}
	if r, err := c.IsComplete(ctx, "x"); err != nil || r.Status != "incomplete" || r.Indent != "  " {
		t.Errorf("IsComplete: %+v, %v", r, err)
	}
	if r, err := c.History(ctx, wire.HistoryRequest{HistAccessType: "tail", N: 1}); err != nil || r.History[0].Input != "x" {
		t.Errorf("History: %+v, %v", r, err)
	}
	var failed *RequestError
	if _, err := c.CommInfo(ctx, ""); !errors.As(err, &failed) || failed.Name != "NoComms" {
		t.Errorf("CommInfo: %v", err)
	}
	if err := c.Send(ctx, "shell", "comm_msg", wire.CommMessage{CommID: "x"}); err != nil {
		t.Errorf("Send: %v", err)
	}
	if err := c.Send(ctx, "nowhere", "comm_msg", nil); err == nil {
		t.Error("sent to an unknown channel")
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := c.Request(short, "shell", "unknown_request", nil, nil); err != context.DeadlineExceeded {
		t.Errorf("unanswered request: %v", err)
	}
	if len(c.calls) != 0 {
		t.Errorf("%d calls are left", len(c.calls))
	}
}

func TestInput(t *testing.T) {
	var fail atomic.Bool
	c := start(t, fakeCommand(t, ""), Options{Input: func(_ context.Context, prompt string, password bool) (string, error) {
		if fail.Load() {
			return "", errors.New("nobody there")
		}
		return fmt.Sprintf("%q %v", prompt, password), nil
	}})
	if outputs, _ := run(t, c, "ask name?"); outputs != `stream(ok "name?" true)` {
		t.Errorf("got %s", outputs)
	}
	fail.Store(true)
	if outputs, _ := run(t, c, "ask again?"); outputs != `stream(error )` {
		t.Errorf("got %s", outputs)
	}
}

func TestInterrupt(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{})
	ctx := testContext(t)
	e, err := c.Execute(ctx, "hang", ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Interrupt(ctx); err != nil {
		t.Fatal(err)
	}
	if messages, reply, err := e.Wait(ctx); err != nil || reply.Name != "Interrupted" || render(messages) != "error(Interrupted)" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestShutdown(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{})
	if err := c.Shutdown(testContext(t), false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.process.dir); !os.IsNotExist(err) {
		t.Errorf("the connection file is left: %v", err)
	}
	c.Close()
	if _, err := c.KernelInfo(testContext(t)); err == nil {
		t.Error("a closed client answers")
	}
}

func TestDeath(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{})
	ctx := testContext(t)
	e, err := c.Execute(ctx, "die", ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	messages, _, err := e.Wait(ctx)
	var dead *DeadError
	if !errors.As(err, &dead) || !errors.Is(err, ErrDead) || dead.Reason != "exit status 7" || dead.Output != "fatal: last words" {
		t.Fatalf("got %v", err)
	}
	if got := render(messages); got != "stream(before)" {
		t.Errorf("outputs before the end: %s", got)
	}
	if _, err := c.Execute(ctx, "print", ExecuteOptions{}); !errors.Is(err, ErrDead) {
		t.Errorf("Execute after the end: %v", err)
	}
}

func TestHeartbeatLost(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{HeartbeatLimit: time.Second})
	ctx := testContext(t)
	// On a busy machine a heartbeat may be late, and then any of these fails.
	err := c.Request(ctx, "control", "silence_request", nil, new(wire.StatusReply))
	var e *Execution
	if err == nil {
		e, err = c.Execute(ctx, "hang", ExecuteOptions{})
	}
	if err == nil {
		_, _, err = e.Wait(ctx)
	}
	if !errors.Is(err, ErrDead) || !strings.Contains(err.Error(), "no heartbeat for 1s") {
		t.Errorf("got %v", err)
	}
}

func TestCannotStart(t *testing.T) {
	ctx := testContext(t)
	_, err := Start(ctx, fakeCommand(t, "broken"), Options{})
	if !errors.Is(err, ErrDead) || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "this kernel cannot start") {
		t.Errorf("got %v", err)
	}
	if _, err := Start(ctx, Command{Argv: []string{"/nonexistent"}}, Options{}); err == nil {
		t.Error("started a file that is not there")
	}
	if _, err := Start(ctx, Command{}, Options{}); err == nil {
		t.Error("started nothing")
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := Start(short, Command{Argv: []string{"sleep", "60"}}, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAttach(t *testing.T) {
	var traced sync.Map
	owner := start(t, fakeCommand(t, ""), Options{})
	ctx := testContext(t)
	file := filepath.Join(owner.process.dir, "connection.json")
	guest, err := Attach(ctx, file, Options{Trace: func(channel string, sent bool, m *wire.Message) {
		traced.Store(fmt.Sprint(channel, " ", sent, " ", m.Header.MsgType), true)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if outputs, _ := run(t, guest, "print hello"); outputs != "stream(hello)" {
		t.Errorf("got %s", outputs)
	}
	for _, want := range []string{"shell true execute_request", "shell false execute_reply", "iopub false stream", "iopub false status"} {
		if _, ok := traced.Load(want); !ok {
			t.Errorf("not traced: %s", want)
		}
	}
	if _, err := Attach(ctx, file+"x", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A consumer that gives up must not hold up other cells.
func TestAbandonedOutputs(t *testing.T) {
	c := start(t, fakeCommand(t, ""), Options{})
	ctx, cancel := context.WithCancel(testContext(t))
	if _, err := c.Execute(ctx, "flood 5000", ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if outputs, _ := run(t, c, "print next"); outputs != "stream(next)" {
		t.Errorf("got %s", outputs)
	}
}

func TestReadKernelspec(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kernel.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"argv": ["{resource_dir}/run", "{connection_file}"], "env": {"A": "b"}, "interrupt_mode": "message"}`)
	cmd, err := ReadKernelspec(path)
	if err != nil || cmd.Argv[0] != filepath.Dir(path)+"/run" || cmd.Argv[1] != "{connection_file}" || cmd.Env[0] != "A=b" || cmd.SignalInterrupt {
		t.Errorf("got %+v, %v", cmd, err)
	}
	write(`{"argv": ["x"]}`)
	if cmd, err := ReadKernelspec(path); err != nil || !cmd.SignalInterrupt {
		t.Errorf("got %+v, %v", cmd, err)
	}
	for _, bad := range []string{`{}`, `{"argv": []}`, `[`} {
		write(bad)
		if _, err := ReadKernelspec(path); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, err := ReadKernelspec(path + "x"); err == nil {
		t.Error("read a file that is not there")
	}
}
