package front

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// A client that executes before its subscription has arrived loses nothing.
func TestHeldForFirstSubscriber(t *testing.T) {
	r := launch(t)
	m := r.execute("print early\nresult 1")
	r.recv(r.shell)
	r.subscribe()
	equal(t, "welcome", string(r.want("iopub_welcome").Content), `{"subscription":""}`)
	equal(t, "first status", r.status(), wire.Starting)
	equal(t, "outputs", describe(r.outputs(m)), `execute_input {"code":"print early\nresult 1","execution_count":1}
stream {"name":"stdout","text":"early\n"}
execute_result {"execution_count":1,"data":{"text/plain":"1"},"metadata":{},"transient":{}}
`)
}

// The welcome goes to the new subscriber alone, and starting comes once.
func TestSecondSubscriber(t *testing.T) {
	r := start(t)
	second, err := zmtp.DialSub(r.conn.Endpoint(r.conn.IOPubPort), []string{"stat"}, zmtp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	welcome := r.recv(second)
	equal(t, "welcome", welcome.Header.MsgType+string(welcome.Content)+string(welcome.Parent), `iopub_welcome{"subscription":"stat"}{}`)
	equal(t, "topic", string(welcome.Identities[0]), "stat")
	m := r.execute("print x")
	r.ran(m) // sees busy first, so nothing was sent to it since starting
	for _, want := range []string{wire.Busy, wire.Idle} {
		got := r.recv(second)
		equal(t, "second client", content[wire.Status](t, got).ExecutionState, want)
	}
}

// What is held for the first subscriber is bounded: beyond it output waits, and
// a release ends the wait. Who subscribes later is still welcomed.
func TestHoldIsBounded(t *testing.T) {
	c := &wire.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), Key: "k", SignatureScheme: wire.Scheme}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := newIOPub(ctx, wire.NewSession("x"), mustSigner(t), slogDiscard)
	socket, err := zmtp.ListenXPub(c.Endpoint(5), zmtp.Options{Welcome: p.welcome})
	if err != nil {
		t.Fatal(err)
	}
	p.socket = socket
	watching := make(chan struct{})
	go func() {
		p.watch()
		close(watching)
	}()
	text := strings.Repeat("x", 1<<20)
	const most = holdBytes / (1 << 20)
	for range most {
		p.output(ctx, p.frames("stream", nil, wire.Stream{Name: stdout, Text: text}))
	}
	waited := make(chan struct{})
	go func() {
		p.output(ctx, p.frames("stream", nil, wire.Stream{Name: stdout, Text: text}))
		close(waited)
	}()
	p.now("status", nil, wire.Status{ExecutionState: wire.Idle}) // never waits
	p.mu.Lock()
	equal(t, "held", len(p.held), most+1)
	p.mu.Unlock()
	p.release()
	<-waited
	sub, err := zmtp.DialSub(c.Endpoint(5), []string{""}, zmtp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"iopub_welcome", "status"} {
		frames, err := sub.Recv(ctx)
		if err != nil || !strings.Contains(string(frames[3]), want) {
			t.Fatalf("%q, %v; want %s", frames, err, want)
		}
	}
	sub.Close()
	socket.Close()
	<-watching
}

func TestWelcomeTopics(t *testing.T) {
	p := newIOPub(context.Background(), wire.NewSession("x"), mustSigner(t), slogDiscard)
	if p.welcome([]byte("\xff")) != nil {
		t.Error("a topic that is not UTF-8 got a welcome")
	}
	if p.welcome(nil) == nil {
		t.Error("no welcome for the empty topic")
	}
}
