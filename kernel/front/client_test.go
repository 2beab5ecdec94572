package front

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// patience bounds every wait of a test: it ends a hung test, and no test
// measures it.
const patience = 2 * time.Minute

// rig is a running front with one client, whose channels it shows separately.
type rig struct {
	t       testing.TB
	config  Config
	conn    *wire.Connection
	signer  *wire.Signer
	session *wire.Session
	log     *bytes.Buffer

	shell, control, stdin *zmtp.Dealer
	iopub                 *zmtp.Sub
	busy                  map[string]bool // requests whose idle has not come yet

	ended   chan error
	stopRun context.CancelFunc
	once    sync.Once
}

// start runs a front and connects a client that has seen its welcome.
func start(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	r := launch(t, change...)
	r.subscribe()
	r.want("iopub_welcome")
	if s := r.status(); s != wire.Starting {
		t.Fatalf("after the welcome: status %s", s)
	}
	return r
}

// launch runs a front and connects everything but IOPub.
func launch(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	return launchAs(t, Run, change...)
}

func launchAs(t testing.TB, run func(context.Context, Config) error, change ...func(*Config)) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{
		t: t, session: wire.NewSession("test"), ended: make(chan error, 1), log: &bytes.Buffer{}, busy: map[string]bool{},
		conn: &wire.Connection{Transport: "ipc", IP: filepath.Join(dir, "k"), Key: "secret", SignatureScheme: wire.Scheme},
	}
	file := filepath.Join(dir, "connection.json")
	if err := r.conn.Write(file); err != nil {
		t.Fatal(err)
	}
	r.config = Config{
		ConnectionFile: file, SessionArgv: []string{os.Args[0], "fake-session"}, Version: "1.2.3",
		Logger: slog.New(slog.NewTextHandler(&testLog{t: t}, nil)),
	}
	for _, c := range change {
		c(&r.config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stopRun = cancel
	go func() { r.ended <- run(ctx, r.config) }()
	t.Cleanup(r.close)
	r.conn.ShellPort, r.conn.ControlPort, r.conn.StdinPort, r.conn.HBPort, r.conn.IOPubPort = 1, 2, 3, 4, 5
	var err error
	if r.signer, err = r.conn.Signer(); err != nil {
		t.Fatal(err)
	}
	dial := func(port int, identity string) *zmtp.Dealer {
		d, err := zmtp.DialDealer(r.conn.Endpoint(port), []byte(identity), zmtp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	r.shell, r.stdin = dial(r.conn.ShellPort, "client"), dial(r.conn.StdinPort, "client")
	r.control = dial(r.conn.ControlPort, "client-control")
	return r
}

func (r *rig) subscribe() {
	r.t.Helper()
	var err error
	if r.iopub, err = zmtp.DialSub(r.conn.Endpoint(r.conn.IOPubPort), []string{""}, zmtp.Options{}); err != nil {
		r.t.Fatal(err)
	}
}

// close ends the front and checks that it ends well.
func (r *rig) close() {
	r.once.Do(func() {
		r.stopRun()
		select {
		case err := <-r.ended:
			if err != nil {
				r.t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			r.t.Error("Run did not end")
		}
		for _, d := range []*zmtp.Dealer{r.shell, r.control, r.stdin} {
			d.Close()
		}
		if r.iopub != nil {
			r.iopub.Close()
		}
	})
}

// testLog writes to the test's log.
type testLog struct {
	t testing.TB
}

func (l *testLog) Write(p []byte) (int, error) {
	if testing.Verbose() {
		fmt.Fprintf(os.Stderr, "    %s: %s", l.t.Name(), p)
	}
	return len(p), nil
}

func (r *rig) message(msgType string, content any) *wire.Message {
	m, err := r.session.New(msgType, nil, content)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func (r *rig) send(d *zmtp.Dealer, m *wire.Message) *wire.Message {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.Send(ctx, r.signer.Serialize(m)...); err != nil {
		r.t.Fatal(err)
	}
	r.busy[m.Header.MsgID] = true
	return m
}

type receiver interface {
	Recv(ctx context.Context) ([][]byte, error)
}

func (r *rig) recv(from receiver) *wire.Message {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	frames, err := from.Recv(ctx)
	if err != nil {
		r.t.Fatalf("receive: %v", err)
	}
	m, err := r.signer.Parse(frames)
	if err != nil {
		r.t.Fatalf("parse: %v", err)
	}
	if r.idle(m) {
		delete(r.busy, r.parent(m))
	}
	return m
}

// idle reports whether m tells that its request is over.
func (r *rig) idle(m *wire.Message) bool {
	return m.Header.MsgType == "status" && content[wire.Status](r.t, m).ExecutionState == wire.Idle
}

// want receives one IOPub message of a type.
func (r *rig) want(msgType string) *wire.Message {
	r.t.Helper()
	m := r.recv(r.iopub)
	if m.Header.MsgType != msgType {
		r.t.Fatalf("IOPub: %s %s; want %s", m.Header.MsgType, m.Content, msgType)
	}
	return m
}

func (r *rig) status() string {
	r.t.Helper()
	return content[wire.Status](r.t, r.want("status")).ExecutionState
}

func content[T any](t testing.TB, m *wire.Message) T {
	t.Helper()
	var v T
	if err := m.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// outputs receives what IOPub says about request, from busy to idle, both left
// out. Messages of other requests fail the test, but for the status of those that
// are not over: a reply may come before it.
func (r *rig) outputs(request *wire.Message) []*wire.Message {
	r.t.Helper()
	beside := maps.Clone(r.busy)
	var own []*wire.Message
	for _, m := range r.until(request) {
		switch parent := r.parent(m); {
		case parent == request.Header.MsgID:
			own = append(own, m)
		case m.Header.MsgType != "status" || !beside[parent]:
			r.t.Errorf("%s %s belongs to %q", m.Header.MsgType, m.Content, parent)
		}
	}
	if len(own) < 2 || !bytes.Contains(own[0].Content, []byte(wire.Busy)) {
		r.t.Fatalf("IOPub does not begin with busy: %v", describe(own))
	}
	return own[1 : len(own)-1]
}

// until receives IOPub messages up to the last idle of requests.
func (r *rig) until(requests ...*wire.Message) []*wire.Message {
	r.t.Helper()
	waiting := map[string]bool{}
	for _, m := range requests {
		waiting[m.Header.MsgID] = true
	}
	var all []*wire.Message
	for len(waiting) > 0 {
		m := r.recv(r.iopub)
		all = append(all, m)
		if r.idle(m) {
			delete(waiting, r.parent(m))
		}
	}
	return all
}

func (r *rig) parent(m *wire.Message) string {
	r.t.Helper()
	h, err := m.ParentHeader()
	if err != nil {
		r.t.Fatal(err)
	}
	return h.MsgID
}

// ask sends a request and returns its reply and IOPub messages.
func (r *rig) ask(d *zmtp.Dealer, msgType string, body any) (*wire.Message, []*wire.Message) {
	r.t.Helper()
	return r.asked(d, r.send(d, r.message(msgType, body)))
}

// asked receives the reply to a request that was sent.
func (r *rig) asked(d *zmtp.Dealer, m *wire.Message) (*wire.Message, []*wire.Message) {
	r.t.Helper()
	reply := r.recv(d)
	if r.parent(reply) != m.Header.MsgID {
		r.t.Fatalf("a reply to another request: %s %s", reply.Header.MsgType, reply.Content)
	}
	if want := strings.Replace(m.Header.MsgType, "_request", "_reply", 1); reply.Header.MsgType != want {
		r.t.Fatalf("reply of type %s, want %s", reply.Header.MsgType, want)
	}
	return reply, r.outputs(m)
}

// execution is what became of a cell.
type result struct {
	wire.ExecuteResponse
	outputs []*wire.Message // execute_input left out
}

// run executes a cell.
func (r *rig) run(code string) result {
	r.t.Helper()
	return r.ran(r.execute(code))
}

func (r *rig) execute(code string) *wire.Message {
	r.t.Helper()
	return r.send(r.shell, r.message("execute_request", map[string]any{"code": code}))
}

func (r *rig) ran(m *wire.Message) result {
	r.t.Helper()
	reply, outputs := r.asked(r.shell, m)
	res := result{ExecuteResponse: content[wire.ExecuteResponse](r.t, reply)}
	for _, o := range outputs {
		if o.Header.MsgType != "execute_input" {
			res.outputs = append(res.outputs, o)
		}
	}
	return res
}

// describe writes messages as "type content" lines, for comparison.
func describe(messages []*wire.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %s\n", m.Header.MsgType, m.Content)
	}
	return b.String()
}

// streams concatenates the text of one stream.
func (res result) stream(t testing.TB, name string) string {
	var b strings.Builder
	for _, m := range res.outputs {
		if m.Header.MsgType == "stream" {
			if s := content[wire.Stream](t, m); s.Name == name {
				b.WriteString(s.Text)
			}
		}
	}
	return b.String()
}

// text is the text/plain of the cell's value.
func (res result) text(t testing.TB) string {
	for _, m := range res.outputs {
		if m.Header.MsgType == "execute_result" {
			s, _ := content[wire.ExecuteResult](t, m).Data["text/plain"].(string)
			return s
		}
	}
	return ""
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
