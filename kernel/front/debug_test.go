package front

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"forgekernel/kernel/wire"
)

// debugEvents are the next n of them, in short.
func (r *rig) debugEvents(n int) string {
	r.t.Helper()
	var events []map[string]any
	for len(events) < n {
		if m := r.recv(r.iopub); m.Header.MsgType == "debug_event" {
			events = append(events, content[map[string]any](r.t, m))
		}
	}
	text, err := json.Marshal(events)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// debug asks the debugger.
func (r *rig) debug(command string) string {
	r.t.Helper()
	m := r.send(r.control, r.message("debug_request", map[string]any{"type": "request", "seq": 9, "command": command}))
	reply := r.recv(r.control)
	equal(r.t, "parent", r.parent(reply), m.Header.MsgID)
	equal(r.t, "type", reply.Header.MsgType, "debug_reply")
	return string(reply.Content)
}

// died runs a cell that ends its process.
func (r *rig) died(status int) {
	r.t.Helper()
	r.execute(fmt.Sprint("exit ", status))
	equal(r.t, "cell", content[wire.ErrorReply](r.t, r.recv(r.shell)).Name, "SessionExit")
}

// A client that debugs is told of the end of the session, and the next one is
// debugged like it; whom nobody debugs, nobody is told of.
func TestDebuggeeEnds(t *testing.T) {
	r := start(t)
	equal(t, "answer", r.debug("halt"), `{"body":null,"type":"response"}`)
	equal(t, "event", r.debugEvents(1), `[{"event":"stopped"}]`)
	const exited = `[{"body":{"allThreadsContinued":true,"threadId":3},"event":"continued","seq":8,"type":"event"},` +
		`{"body":{"reason":"exited","threadId":3},"event":"thread","seq":9,"type":"event"},` +
		`{"body":{"exitCode":4},"event":"exited","seq":10,"type":"event"}]`
	equal(t, "refusal", r.debug("exit"), `{"seq":0,"type":"response","command":"exit","request_seq":9,"success":false,"message":"the session ended before it answered"}`)
	equal(t, "events", r.debugEvents(3), exited)
	equal(t, "restored", r.debug("state"), `{"body":{"client":"test","seq":10,"breakpoints":{"x":[{"line":2}]}},"type":"response"}`)
	r.died(5)
	equal(t, "events", r.debugEvents(1), `[{"body":{"exitCode":5},"event":"exited","seq":11,"type":"event"}]`)
	r.debug("detach")
	r.died(6)
	equal(t, "nothing is restored", r.debug("state"), `{"body":null,"type":"response"}`)
	for _, m := range r.until(r.send(r.control, r.message("kernel_info_request", nil))) {
		if m.Header.MsgType == "debug_event" {
			t.Errorf("nobody debugs, and hears %s", m.Content)
		}
	}
}

// An interrupt right after a request of the debugger stops what that evaluates,
// whether it is in the session already or not.
func TestInterruptOfDebugger(t *testing.T) {
	r := start(t)
	for range 300 {
		asked := r.message("debug_request", map[string]any{"type": "request", "command": "loop"})
		r.send(r.control, asked)
		r.send(r.control, r.message("interrupt_request", nil))
		for range 2 {
			reply := r.recv(r.control)
			if text := string(reply.Content); r.parent(reply) == asked.Header.MsgID && !strings.Contains(text, "interrupted") {
				t.Fatalf("answer %s", text)
			}
		}
	}
}

// What the debugger is asked for while it evaluates is done when an interrupt has ended
// that.
func TestInterruptKeepsRequests(t *testing.T) {
	r := start(t)
	loop := r.message("debug_request", map[string]any{"type": "request", "command": "loop"})
	r.send(r.control, loop)
	next := r.message("debug_request", map[string]any{"type": "request", "command": "detach"})
	r.send(r.control, next)
	r.send(r.control, r.message("interrupt_request", nil))
	answers := map[string]string{}
	for range 3 {
		reply := r.recv(r.control)
		answers[r.parent(reply)] = string(reply.Content)
	}
	if text := answers[loop.Header.MsgID]; !strings.Contains(text, "interrupted") {
		t.Errorf("the loop is answered with %s", text)
	}
	if text := answers[next.Header.MsgID]; !strings.Contains(text, `"response"`) || strings.Contains(text, "interrupted") {
		t.Errorf("what comes next is answered with %s", text)
	}
}
