package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

func TestExecute(t *testing.T) {
	r := start(t)
	code := "print hello\ndisplay d1 pic\neprint <oops> é\nupdate d1 pic2\nclear wait\nprint more\nresult 42"
	m := r.execute(code)
	reply, outputs := r.asked(r.shell, m)
	equal(t, "reply", string(reply.Content), `{"status":"ok","execution_count":1,"user_expressions":{},"payload":[]}`)
	equal(t, "outputs", describe(outputs), `execute_input {"code":"print hello\ndisplay d1 pic\neprint <oops> é\nupdate d1 pic2\nclear wait\nprint more\nresult 42","execution_count":1}
stream {"name":"stdout","text":"hello\n"}
display_data {"data":{"text/plain":"pic"},"metadata":{},"transient":{"display_id":"d1"}}
stream {"name":"stderr","text":"<oops> é\n"}
update_display_data {"data":{"text/plain":"pic2"},"metadata":{},"transient":{"display_id":"d1"}}
clear_output {"wait":true}
stream {"name":"stdout","text":"more\n"}
execute_result {"execution_count":1,"data":{"text/plain":"42"},"metadata":{},"transient":{}}
`)
	if got := content[wire.ExecuteInput](t, outputs[0]).Code; got != code {
		t.Errorf("execute_input %q", got)
	}
	if reply.Header.Version != wire.Version || string(reply.Metadata) != "{}" || reply.Header.Session == r.session.ID {
		t.Errorf("reply header %s, metadata %s", reply.RawHeader, reply.Metadata)
	}
}

func TestExecuteError(t *testing.T) {
	r := start(t)
	m := r.execute("error boom")
	reply, outputs := r.asked(r.shell, m)
	equal(t, "reply", string(reply.Content), `{"status":"error","execution_count":1,"ename":"TestError","evalue":"boom","traceback":["TestError: boom"],"user_expressions":{},"payload":[]}`)
	equal(t, "outputs", describe(outputs[1:]), `error {"ename":"TestError","evalue":"boom","traceback":["TestError: boom"]}`+"\n")
}

// Silent and unstored cells do not count, and silent ones show neither input
// nor result.
func TestExecuteFlags(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		request map[string]any
		count   int
		outputs string
	}{
		{map[string]any{"code": "result 1", "silent": true}, 0, ""},
		{map[string]any{"code": "result 1", "store_history": false}, 0, "execute_input execute_result"},
		{map[string]any{"code": "result 1"}, 1, "execute_input execute_result"},
		{map[string]any{"code": "error e"}, 2, "execute_input error"},
		{map[string]any{"code": "print x", "silent": true, "store_history": true}, 2, "stream"},
		{map[string]any{"code": ""}, 3, "execute_input"},
	} {
		reply, outputs := r.ask(r.shell, "execute_request", c.request)
		var types []string
		for _, m := range outputs {
			types = append(types, m.Header.MsgType)
		}
		if got := content[wire.ExecuteResponse](t, reply).ExecutionCount; got != c.count {
			t.Errorf("%v: count %d, want %d", c.request, got, c.count)
		}
		if got := strings.Join(types, " "); got != c.outputs {
			t.Errorf("%v: outputs %q, want %q", c.request, got, c.outputs)
		}
	}
}

// Messages call a cell by its execution count, unless the client counts otherwise.
func TestNumberOfTheClient(t *testing.T) {
	r := start(t)
	r.run("result 1")
	for _, c := range []struct{ metadata, want string }{
		{`{}`, "2"}, {`{"forge_cell": 7}`, "7"}, {`{"forge_cell": 0}`, "4"}, {`{"forge_cell": -1}`, "5"}, {`{"forge_cell": "x"}`, "6"}, {`{"other": 9}`, "7"},
	} {
		m := r.message("execute_request", map[string]any{"code": "number"})
		m.Metadata = json.RawMessage(c.metadata)
		_, outputs := r.asked(r.shell, r.send(r.shell, m))
		if got := describe(outputs[1:]); !strings.Contains(got, `"text/plain":"`+c.want+`"`) {
			t.Errorf("with %s: %s, want %s", c.metadata, got, c.want)
		}
	}
}

func TestUserExpressionsAndPayload(t *testing.T) {
	r := start(t)
	reply, _ := r.ask(r.shell, "execute_request", map[string]any{
		"code": "page help text", "user_expressions": map[string]string{"a": "x", "b": "bad"},
	})
	equal(t, "reply", string(reply.Content), `{"status":"ok","execution_count":1,"user_expressions":{`+
		`"a":{"status":"ok","data":{"text/plain":"x"},"metadata":{}},"b":{"status":"error","ename":"E","evalue":"bad","traceback":[]}},`+
		`"payload":[{"data":{"text/plain":"help text"},"source":"page","start":0}]}`)
	reply, _ = r.ask(r.shell, "execute_request", map[string]any{"code": "next x := 1"})
	equal(t, "payload", content[struct{ Payload json.RawMessage }](t, reply).Payload,
		json.RawMessage(`[{"replace":false,"source":"set_next_input","text":"x := 1"}]`))
}

// Every request is answered on the socket that asked, between busy and idle.
func TestRequests(t *testing.T) {
	r := start(t)
	r.run("result 1")
	for _, c := range []struct{ msgType, content, reply string }{
		{"complete_request", `{"code":"é","cursor_pos":1}`, `{"status":"ok","matches":["é1","é2"],"cursor_start":0,"cursor_end":1,"metadata":{"_jupyter_types_experimental":[{"start":0,"end":1,"text":"é1","type":"function","signature":"()"},{"start":0,"end":1,"text":"é2","type":""}]}}`},
		{"inspect_request", `{"code":"x","cursor_pos":1}`, `{"status":"ok","found":true,"data":{"text/plain":"doc of x"},"metadata":{}}`},
		{"is_complete_request", `{"code":"f {"}`, `{"status":"incomplete"}`},
		{"is_complete_request", `{"code":"1"}`, `{"status":"complete"}`},
		{"comm_info_request", `{}`, `{"status":"ok","comms":{}}`},
		{"history_request", `{"hist_access_type":"tail","n":10,"output":true}`, `{"status":"ok","history":[[1,1,["result 1","1"]]]}`},
		{"history_request", `{"hist_access_type":"nonsense"}`, `{"status":"error","ename":"KernelError","evalue":"hist_access_type \"nonsense\": want tail, range or search","traceback":["\u001b[1;31mKernelError\u001b[0m: hist_access_type \"nonsense\": want tail, range or search"]}`},
	} {
		for _, socket := range []*zmtp.Dealer{r.shell, r.control} {
			reply, outputs := r.ask(socket, c.msgType, json.RawMessage(c.content))
			equal(t, c.msgType, string(reply.Content), c.reply)
			equal(t, c.msgType, describe(outputs), "")
		}
	}
}

func TestKernelInfo(t *testing.T) {
	r := start(t)
	for _, socket := range []*zmtp.Dealer{r.shell, r.control} {
		reply, _ := r.ask(socket, "kernel_info_request", nil)
		info := content[wire.KernelInfoReply](t, reply)
		if info.Status != "ok" || info.ProtocolVersion != "5.5" || info.LanguageInfo.Name != "go" ||
			info.LanguageInfo.FileExtension != ".go" || info.LanguageInfo.CodeMirrorMode != "go" || info.Banner == "" ||
			info.ImplementationVersion != "1.2.3" || len(info.SupportedFeatures) != 2 || !info.Debugger {
			t.Errorf("%s", reply.Content)
		}
	}
}

// kernel_info does not wait for the session.
func TestKernelInfoWithoutSession(t *testing.T) {
	r := start(t, func(c *Config) { c.SessionArgv = []string{"sleep", "1000"} })
	reply, _ := r.ask(r.shell, "kernel_info_request", nil)
	equal(t, "status", content[wire.StatusReply](t, reply).Status, "ok")
}

func TestUsage(t *testing.T) {
	r := start(t)
	r.run("print x")
	for range 2 {
		reply, _ := r.ask(r.control, "usage_request", nil)
		u := content[wire.UsageReply](t, reply)
		if u.Hostname == "" || u.KernelMemory < 1<<20 || u.HostVirtual.Total < u.HostVirtual.Available || u.HostVirtual.Available == 0 ||
			u.PID == os.Getpid() || u.CPUCount < 1 || u.KernelCPU < 0 {
			t.Errorf("%s", reply.Content)
		}
	}
}

// Bad input is dropped; what comes after it is served.
func TestBadInput(t *testing.T) {
	r := start(t)
	ctx := context.Background()
	for _, d := range []*zmtp.Dealer{r.shell, r.control, r.stdin} {
		good := r.signer.Serialize(r.message("kernel_info_request", nil))
		for _, frames := range [][][]byte{
			{{}},
			{[]byte("garbage")},
			{[]byte("<IDS|MSG>")},
			{[]byte("<IDS|MSG>"), []byte("0000"), good[2], good[3], good[4], good[5]},
			{[]byte("<IDS|MSG>"), good[1], good[2], good[3], good[4], []byte(`{"x":1}`)},
			good, good, // the second is a replay
		} {
			if err := d.Send(ctx, frames...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range []*zmtp.Dealer{r.shell, r.control} {
		equal(t, "the good one", r.recv(d).Header.MsgType, "kernel_info_reply")
	}
	for range 4 { // busy and idle of the good one on both sockets
		r.want("status")
	}
	// Types that nobody serves get busy and idle, and no reply.
	for _, msgType := range []string{"debug_request", "no_such_request", "input_reply"} {
		equal(t, msgType, describe(r.outputs(r.send(r.control, r.message(msgType, nil)))), "")
	}
	equal(t, "usage on shell", describe(r.outputs(r.send(r.shell, r.message("usage_request", nil)))), "")
	// Content of the wrong shape gets an error.
	for msgType, body := range map[string]string{
		"execute_request": `{"code":7}`, "complete_request": `{"cursor_pos":"x"}`, "inspect_request": `{"code":[]}`,
		"is_complete_request": `{"code":{}}`, "history_request": `{"n":"x"}`, "comm_info_request": `{"target_name":1}`,
	} {
		reply, _ := r.ask(r.shell, msgType, json.RawMessage(body))
		if f := content[wire.ErrorReply](t, reply); f.Status != "error" || f.Name != "BadRequest" || len(f.Traceback) != 1 {
			t.Errorf("%s: %s", msgType, reply.Content)
		}
	}
	equal(t, "bad comm", describe(r.outputs(r.send(r.shell, r.message("comm_open", json.RawMessage(`{"comm_id":{}}`))))), "")
	equal(t, "result", r.run("result 1").text(t), "1")
}

func TestShutdown(t *testing.T) {
	for _, channel := range []string{"shell", "control"} {
		for _, restart := range []bool{true, false} {
			r := start(t)
			pid := r.run("pid").text(t)
			child := r.run("child").text(t)
			socket := r.shell
			if channel == "control" {
				socket = r.control
			}
			reply, _ := r.ask(socket, "shutdown_request", wire.ShutdownRequest{Restart: restart})
			equal(t, "reply", content[wire.ShutdownReply](t, reply), wire.ShutdownReply{Status: "ok", Restart: restart})
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
			r.ended <- nil
			for _, p := range []string{pid, child} {
				gone(t, p)
			}
		}
	}
}

// A cell that runs at shutdown gets its reply, and so does one that waits.
func TestShutdownDuringCell(t *testing.T) {
	r := start(t)
	first := r.execute("print in\nblock")
	second := r.execute("result 2")
	for r.recv(r.iopub).Header.MsgType != "stream" {
	}
	r.send(r.control, r.message("shutdown_request", wire.ShutdownRequest{}))
	for _, m := range []*wire.Message{first, second} {
		reply := r.recv(r.shell)
		e := content[wire.ExecuteResponse](t, reply)
		if r.parent(reply) != m.Header.MsgID || e.Status != "error" {
			t.Errorf("%s", reply.Content)
		}
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.ended <- nil
}

func TestSIGTERM(t *testing.T) {
	r := start(t)
	pid := r.run("pid").text(t)
	syscall.Kill(os.Getpid(), syscall.SIGTERM)
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.ended <- nil
	gone(t, pid)
}

// Ports that are 0 are chosen and written back.
func TestChosenPorts(t *testing.T) {
	for _, transport := range []string{"tcp", "ipc"} {
		c := &wire.Connection{Transport: transport, IP: "127.0.0.1", Key: "k", SignatureScheme: wire.Scheme}
		if transport == "ipc" {
			c.IP = filepath.Join(t.TempDir(), "k")
		}
		s, err := listen(c, nil, slogDiscard)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if err := c.Validate(); err != nil || c.ShellPort == 0 || c.ControlPort == 0 || c.HBPort == 0 || c.IOPubPort == 0 || c.StdinPort == 0 {
			t.Errorf("%+v: %v", c, err)
		}
		req, err := zmtp.DialReq(c.Endpoint(c.HBPort), zmtp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer req.Close()
		answer, err := req.Request(context.Background(), []byte("ping"))
		if err != nil || string(answer[0]) != "ping" {
			t.Errorf("heartbeat: %q, %v", answer, err)
		}
	}
}

func TestStartErrors(t *testing.T) {
	if err := Run(context.Background(), Config{ConnectionFile: "/does/not/exist"}); err == nil {
		t.Error("no error without a connection file")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "c.json")
	for _, c := range []*wire.Connection{
		{Transport: "tcp", IP: "192.0.2.1", ShellPort: 1, Key: "k", SignatureScheme: wire.Scheme}, // not ours
		{Transport: "ipc", IP: "/does/not/exist/k", Key: "k", SignatureScheme: wire.Scheme},
	} {
		if err := c.Write(file); err != nil {
			t.Fatal(err)
		}
		if err := Run(context.Background(), Config{ConnectionFile: file}); err == nil || !strings.Contains(err.Error(), "shell socket") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for name, c := range map[string]wire.Connection{
		"shell": {ShellPort: port}, "control": {ControlPort: port}, "stdin": {StdinPort: port}, "iopub": {IOPubPort: port}, "heartbeat": {HBPort: port},
	} {
		c.Transport, c.IP, c.Key, c.SignatureScheme = "tcp", "127.0.0.1", "k", wire.Scheme
		if err := c.Write(file); err != nil {
			t.Fatal(err)
		}
		err := Run(context.Background(), Config{ConnectionFile: file})
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), name+" socket") {
			t.Errorf("%s port is taken: %v", name, err)
		}
	}
}

// Without a shell for the guard the kernel works, and its log says what is lost.
func TestNoGuard(t *testing.T) {
	usual := guardShell
	guardShell = "/does/not/exist"
	defer func() { guardShell = usual }()
	log := &lockedBuffer{}
	r := start(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	first := r.run("pid").text(t)
	r.run("crash kill")
	if second := r.run("pid").text(t); second == first || second == "" {
		t.Errorf("after the session %s came %q", first, second)
	}
	r.close()
	if !strings.Contains(log.String(), "outlive a kernel that is killed") {
		t.Errorf("the log says %s", log)
	}
}

// lockedBuffer takes the log of a front that runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
