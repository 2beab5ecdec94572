package front

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/kernel/wire"
	"forgekernel/nebula/proc"
)

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	// A zombie that its new parent has not reaped yet is dead.
	stat, err := proc.Read(n)
	return err == nil && !stat.Dead()
}

// gone waits for a process that was killed to end.
func gone(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(patience); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s outlives the kernel", pid)
		}
	}
}

// After a failed cell those sent with it are answered as not run, unless its
// stop_on_error was false.
func TestStopOnError(t *testing.T) {
	for _, stop := range []bool{true, false} {
		r := start(t)
		first := r.send(r.shell, r.message("execute_request", map[string]any{"code": "wait go\nerror e", "stop_on_error": stop}))
		second := r.execute("result 2")
		third := r.execute("result 3")
		r.send(r.shell, r.in(r.subshell(), "execute_request", map[string]any{"code": "signal go"}))
		replies := r.replies(4)
		equal(t, "first", replies[first.Header.MsgID].Name, "TestError")
		for _, m := range []*wire.Message{second, third} {
			got := replies[m.Header.MsgID]
			want := "ok "
			if stop {
				want = "error Aborted"
			}
			equal(t, "other", got.Status+" "+got.Name, want)
			var own []*wire.Message
			for _, o := range r.until(m) {
				if r.parent(o) == m.Header.MsgID {
					own = append(own, o)
				}
			}
			outputs := describe(own)
			if strings.Contains(outputs, "execute_input") == stop || strings.Contains(outputs, `"error"`) {
				t.Errorf("stop %v: outputs of another cell:\n%s", stop, outputs)
			}
		}
		equal(t, "later", r.run("result 4").text(t), "4")
	}
}

// received returns when the front has received all that was sent on shell: only
// what it has can be aborted. What it returns is the request that tells.
func (r *rig) received() *wire.Message {
	r.t.Helper()
	info := r.send(r.shell, r.message("kernel_info_request", nil))
	if reply := r.recv(r.shell); r.parent(reply) != info.Header.MsgID {
		r.t.Fatalf("a reply to another request: %s", reply.Content)
	}
	return info
}

// prints returns when a cell that runs has printed: what came before is lost.
func (r *rig) prints(m *wire.Message) {
	r.t.Helper()
	for o := r.recv(r.iopub); o.Header.MsgType != "stream" || r.parent(o) != m.Header.MsgID; o = r.recv(r.iopub) {
	}
}

// replied receives the next reply on shell and checks whose it is.
func (r *rig) replied(m *wire.Message) wire.ExecuteResponse {
	r.t.Helper()
	reply := r.recv(r.shell)
	if r.parent(reply) != m.Header.MsgID {
		r.t.Fatalf("a reply to another request: %s", reply.Content)
	}
	return content[wire.ExecuteResponse](r.t, reply)
}

func (r *rig) subshell() string {
	r.t.Helper()
	r.send(r.control, r.message("create_subshell_request", nil))
	return content[wire.CreateSubshellReply](r.t, r.recv(r.control)).SubshellID
}

// replies receives n replies on shell, in any order, by request.
func (r *rig) replies(n int) map[string]wire.ExecuteResponse {
	r.t.Helper()
	all := map[string]wire.ExecuteResponse{}
	for range n {
		reply := r.recv(r.shell)
		all[r.parent(reply)] = content[wire.ExecuteResponse](r.t, reply)
	}
	return all
}

// in makes a message for a subshell.
func (r *rig) in(subshell, msgType string, body any) *wire.Message {
	m := r.message(msgType, body)
	if err := m.SetSubshell(subshell); err != nil {
		r.t.Fatal(err)
	}
	return m
}

func TestSubshells(t *testing.T) {
	r := start(t)
	reply, _ := r.ask(r.control, "create_subshell_request", nil)
	a := content[wire.CreateSubshellReply](t, reply).SubshellID
	reply, _ = r.ask(r.control, "create_subshell_request", nil)
	b := content[wire.CreateSubshellReply](t, reply).SubshellID
	reply, _ = r.ask(r.control, "list_subshell_request", nil)
	equal(t, "list", content[wire.ListSubshellReply](t, reply).SubshellIDs, []string{a, b})

	// While the main shell runs a cell, subshells run theirs, with counts and
	// output of their own.
	main := r.execute("stream main begins\nwait go\nstream main ends")
	for i := range 2 {
		m := r.send(r.shell, r.in(a, "execute_request", map[string]any{"code": "stream sub"}))
		equal(t, "count", r.replied(m).ExecutionCount, i+1)
	}
	m := r.send(r.shell, r.in(b, "execute_request", map[string]any{"code": "error e"}))
	equal(t, "count", r.replied(m).ExecutionCount, 1)
	free := r.send(r.shell, r.in(a, "execute_request", map[string]any{"code": "signal go"}))
	got := r.replies(2)[main.Header.MsgID]
	equal(t, "main", got.Status, "ok") // the subshell's error aborted nothing here
	equal(t, "main count", got.ExecutionCount, 1)
	streams := map[string]string{}
	for _, o := range r.until(main, free) {
		if o.Header.MsgType == "stream" {
			streams[r.parent(o)] += content[wire.Stream](t, o).Text
		}
	}
	equal(t, "main's text", streams[main.Header.MsgID], "main begins\nmain ends\n")

	// History is numbered apart.
	reply, _ = r.ask(r.shell, "history_request", map[string]any{"hist_access_type": "range"})
	equal(t, "history of main", len(content[wire.HistoryReply](t, reply).History), 1)
	history := r.send(r.shell, r.in(a, "history_request", map[string]any{"hist_access_type": "range"}))
	reply, _ = r.asked(r.shell, history)
	equal(t, "history of a", len(content[wire.HistoryReply](t, reply).History), 3)

	reply, _ = r.ask(r.control, "delete_subshell_request", wire.DeleteSubshellRequest{SubshellID: a})
	equal(t, "delete", content[wire.StatusReply](t, reply).Status, "ok")
	reply, _ = r.ask(r.control, "list_subshell_request", nil)
	equal(t, "list", content[wire.ListSubshellReply](t, reply).SubshellIDs, []string{b})
	for _, id := range []string{a, "nonsense", ""} {
		reply, _ = r.ask(r.control, "delete_subshell_request", wire.DeleteSubshellRequest{SubshellID: id})
		equal(t, "delete "+id, content[wire.ErrorReply](t, reply).Name, "SubshellNotFound")
	}
	for _, msgType := range []string{"execute_request", "complete_request", "kernel_info_request"} {
		m := r.in(a, msgType, map[string]any{"code": ""})
		reply, _ := r.asked(r.shell, r.send(r.shell, m))
		equal(t, msgType, content[wire.ErrorReply](t, reply).Name, "SubshellNotFound")
	}
}

// Deleting a subshell lets its running cell end and aborts those that wait.
func TestDeleteBusySubshell(t *testing.T) {
	r := start(t)
	sub := r.subshell()
	running := r.send(r.shell, r.in(sub, "execute_request", map[string]any{"code": "print in\nwait go\nresult 1"}))
	waiting := r.send(r.shell, r.in(sub, "execute_request", map[string]any{"code": "result 2"}))
	r.received()
	r.prints(running)
	r.send(r.control, r.message("delete_subshell_request", wire.DeleteSubshellRequest{SubshellID: sub}))
	equal(t, "delete", content[wire.StatusReply](t, r.recv(r.control)).Status, "ok")
	free := r.execute("signal go")
	replies := r.replies(3)
	equal(t, "running", replies[running.Header.MsgID].Status, "ok")
	equal(t, "waiting", replies[waiting.Header.MsgID].Name, "Aborted")
	equal(t, "free", replies[free.Header.MsgID].Status, "ok")
}

func TestInterrupt(t *testing.T) {
	for name, send := range map[string]func(r *rig){
		"message": func(r *rig) {
			r.send(r.control, r.message("interrupt_request", nil))
			equal(r.t, "reply", content[wire.StatusReply](r.t, r.recv(r.control)).Status, "ok")
		},
		"SIGINT": func(r *rig) {
			// One that is handled when the front has gone would end the tests.
			came := make(chan os.Signal, 1)
			signal.Notify(came, syscall.SIGINT)
			defer signal.Stop(came)
			syscall.Kill(os.Getpid(), syscall.SIGINT)
			<-came
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			pid := r.run("pid").text(t)
			first := r.execute("print in\nblock")
			second := r.execute("result 2")
			r.prints(first)
			r.until(r.received())
			send(r)
			equal(t, "first", r.replied(first).Name, "Interrupted")
			equal(t, "second", r.replied(second).Name, "Aborted")
			r.until(second)
			send(r) // idle: nothing happens
			after := r.run("pid")
			if name == "SIGINT" && after.Status == "error" { // it came late and met this cell
				after = r.run("pid")
			}
			equal(t, "the session lives on", after.text(t), pid)
		})
	}
}

// An interrupt also ends the wait for a session that does not come.
func TestInterruptBeforeSession(t *testing.T) {
	r := start(t, func(c *Config) { c.SessionArgv = []string{"sleep", "1000"} })
	m := r.execute("result 1")
	r.want("status")
	r.want("execute_input")
	r.send(r.control, r.message("interrupt_request", nil))
	equal(t, "interrupt", content[wire.StatusReply](t, r.recv(r.control)).Status, "ok")
	equal(t, "cell", r.replied(m).Name, "Interrupt")
}

// Everything but cells is answered while a cell runs.
func TestAnsweredDuringCell(t *testing.T) {
	r := start(t)
	cell := r.execute("wait go")
	for _, msgType := range []string{
		"kernel_info_request", "complete_request", "inspect_request", "is_complete_request", "history_request", "comm_info_request",
	} {
		m := r.send(r.shell, r.message(msgType, map[string]any{"code": "x", "hist_access_type": "tail"}))
		reply := r.recv(r.shell)
		if status := content[wire.StatusReply](t, reply).Status; r.parent(reply) != m.Header.MsgID || status != "ok" && status != "complete" {
			t.Errorf("%s during a cell: %s", msgType, reply.Content)
		}
	}
	r.send(r.shell, r.in(r.subshell(), "execute_request", map[string]any{"code": "signal go"}))
	equal(t, "cell", r.replies(2)[cell.Header.MsgID].Status, "ok")
}

func TestStdin(t *testing.T) {
	r := start(t)
	for verb, password := range map[string]bool{"input": false, "password": true} {
		m := r.execute("print before\n" + verb + " Name? ")
		ask := r.recv(r.stdin)
		equal(t, "input_request", ask.Header.MsgType+string(ask.Content), `input_request{"prompt":"Name? ","password":`+strconv.FormatBool(password)+`}`)
		equal(t, "parent", r.parent(ask), m.Header.MsgID)
		// An answer to something else is ignored; quotes are kept.
		other, _ := r.session.New("input_reply", m, wire.InputReply{Status: "ok", Value: "wrong"})
		r.send(r.stdin, other)
		answer, _ := r.session.New("input_reply", ask, wire.InputReply{Status: "ok", Value: `"Ann" é`})
		r.send(r.stdin, answer)
		equal(t, "answer", r.ran(m).text(t), `"Ann" é`)
	}
	// A client that names no parent is understood too.
	m := r.execute("input ?")
	r.recv(r.stdin)
	r.send(r.stdin, r.message("input_reply", wire.InputReply{Value: "plain"}))
	equal(t, "answer", r.ran(m).text(t), "plain")
	// Not allowed: an error in the cell.
	reply, _ := r.ask(r.shell, "execute_request", map[string]any{"code": "input ?", "allow_stdin": false})
	e := content[wire.ExecuteResponse](t, reply)
	if e.Name != "InputError" || !strings.Contains(e.Value, "allow_stdin") {
		t.Errorf("%s", reply.Content)
	}
	// An interrupt withdraws the question.
	m = r.execute("input ?")
	r.recv(r.stdin)
	r.send(r.control, r.message("interrupt_request", nil))
	r.recv(r.control)
	equal(t, "interrupted", r.replied(m).Name, "InputError")
	r.until(m)
	r.send(r.stdin, r.message("input_reply", wire.InputReply{Value: "too late"}))
	equal(t, "next", r.run("result 1").text(t), "1")
}

func TestComms(t *testing.T) {
	r := start(t)
	open := func(target, id string) string {
		m := r.send(r.shell, r.message("comm_open", wire.CommOpen{CommID: id, TargetName: target}))
		return describe(r.outputs(m))
	}
	equal(t, "unknown target", open("nobody", "c1"), `comm_close {"comm_id":"c1","data":{}}`+"\n")
	equal(t, "no answer", open("deaf", "c2"), `comm_close {"comm_id":"c2","data":{}}`+"\n")
	equal(t, "known target", open("echo", "c3"), "")
	reply, _ := r.ask(r.shell, "comm_info_request", nil)
	equal(t, "info", string(reply.Content), `{"status":"ok","comms":{"c3":{"target_name":"echo"}}}`)
	reply, _ = r.ask(r.shell, "comm_info_request", wire.CommInfoRequest{TargetName: "other"})
	equal(t, "info of other", string(reply.Content), `{"status":"ok","comms":{}}`)
	m := r.send(r.shell, r.message("comm_msg", wire.CommMessage{CommID: "c3", Data: wire.Object{"x": 1}}))
	var echoed string
	for echoed == "" { // before or after idle
		if got := r.recv(r.iopub); got.Header.MsgType == "comm_msg" {
			echoed = string(got.Content)
			equal(t, "parent", r.parent(got), m.Header.MsgID)
		}
	}
	equal(t, "echo", echoed, `{"comm_id":"c3","data":{"x":1}}`)
	r.send(r.shell, r.message("comm_msg", wire.CommMessage{CommID: "none"}))
	closing := r.send(r.shell, r.message("comm_close", wire.CommMessage{CommID: "c3"}))
	r.until(closing)
	reply, _ = r.ask(r.shell, "comm_info_request", nil)
	equal(t, "info", string(reply.Content), `{"status":"ok","comms":{}}`)
	// A target lost with its session is closed.
	equal(t, "known target", open("echo", "c4"), "")
	m = r.execute("exit 1")
	closed := false
	for _, o := range r.until(m) {
		closed = closed || o.Header.MsgType == "comm_close"
	}
	for !closed {
		closed = r.recv(r.iopub).Header.MsgType == "comm_close"
	}
}

// Comms that a cell opens are announced and listed.
func TestCommFromSession(t *testing.T) {
	r := start(t)
	res := r.run("comm comm_open k1\ncomm comm_msg k1\ncomm comm_nonsense k1\ndisplay d end")
	equal(t, "opened", describe(res.outputs[:2]), `comm_open {"comm_id":"k1","target_name":"from the kernel","data":{"v":1}}
comm_msg {"comm_id":"k1","data":{"v":1}}
`)
	reply, _ := r.ask(r.shell, "comm_info_request", nil)
	equal(t, "info", string(reply.Content), `{"status":"ok","comms":{"k1":{"target_name":"from the kernel"}}}`)
	res = r.run("comm comm_close k1\ndisplay d end")
	equal(t, "closed", describe(res.outputs[:1]), `comm_close {"comm_id":"k1","data":{"v":1}}`+"\n")
	reply, _ = r.ask(r.shell, "comm_info_request", nil)
	equal(t, "info", string(reply.Content), `{"status":"ok","comms":{}}`)
}

// A request that has found its subshell just before that was deleted is answered,
// although the subshell may have ended.
func TestPutIntoDeletedSubshell(t *testing.T) {
	q := newQueue(nil, "x")
	q.close("its subshell was deleted")
	if q.take(t.Context()) != nil {
		t.Fatal("a closed queue has a request")
	}
	if q.put(&request{}) {
		t.Error("a request is put where nobody takes it")
	}
}

// A frame that the front cannot read does not leave its cell waiting.
func TestBadFrame(t *testing.T) {
	r := start(t)
	equal(t, "cell", r.run("bad\nresult 1").text(t), "1")
}

// Output of a goroutine that outlives its cell goes to that cell, and comes before the
// end of a cell that waits for it.
func TestLateOutput(t *testing.T) {
	r := start(t)
	early := r.execute("late sun")
	r.ran(early)
	var got, want strings.Builder
	for _, o := range r.until(r.execute("signal sun\nwait sun shown")) {
		if o.Header.MsgType == "stream" {
			equal(t, "parent", r.parent(o), early.Header.MsgID)
			got.WriteString(content[wire.Stream](t, o).Text)
		}
	}
	for i := range 1000 {
		fmt.Fprintln(&want, "late sun", i)
	}
	equal(t, "text", got.String(), want.String())
}

// The front answers even when it fails itself.
func TestPanicInRequest(t *testing.T) {
	handlers["panic_request"] = handler{run: func(*front, context.Context, *request) (any, error) { panic("bug") }}
	defer delete(handlers, "panic_request")
	r := start(t)
	defer r.close()
	reply, outputs := r.ask(r.shell, "panic_request", nil)
	equal(t, "reply", content[wire.ErrorReply](t, reply).Name, "InternalError")
	equal(t, "outputs", describe(outputs), "")
	equal(t, "next", r.run("result 1").text(t), "1")
}
