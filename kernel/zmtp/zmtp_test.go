package zmtp

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait of a test; it is long since it only decides when
// a hanging test fails.
const patience = 2 * time.Minute

// patiently tries a test of a short limit, which some peer must keep, with longer
// ones until it does: a machine may stall for any time.
func patiently(t *testing.T, limit time.Duration, attempt func(limit time.Duration) (kept bool)) {
	t.Helper()
	for ; !attempt(limit); limit *= 2 {
		if limit > patience {
			t.Fatalf("the limit was not kept, whatever it was, up to %v", limit)
		}
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eachTransport runs a test over tcp and ipc. Afterwards no goroutine of the
// package may be left.
func eachTransport(t *testing.T, test func(t *testing.T, endpoint string)) {
	t.Helper()
	for _, transport := range []string{"tcp", "ipc"} {
		t.Run(transport, func(t *testing.T) {
			t.Cleanup(func() { checkGoroutines(t) })
			test(t, newEndpoint(t, transport))
		})
	}
}

func newEndpoint(t testing.TB, transport string) string {
	if transport == "tcp" {
		// A port that a test binds again is not taken meanwhile by a connection that
		// somebody makes: these come from 127.0.0.1.
		return "tcp://127.0.0.2:0"
	}
	dir, err := os.MkdirTemp("", "z") // t.TempDir may exceed the path limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return "ipc://" + filepath.Join(dir, "s-1")
}

// checkGoroutines fails if goroutines of the sockets are still running.
func checkGoroutines(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	deadline := time.Now().Add(patience)
	for {
		left := 0
		var last string
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "zmtp.(*socket)") || strings.Contains(g, "zmtp.(*peer)") || strings.Contains(g, "zmtp.(*client)") {
				left++
				last = g
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines left, for example\n%s", left, last)
		}
		runtime.Gosched()
	}
}

func testOptions(t testing.TB) Options {
	return Options{Logger: func(format string, args ...any) {
		if testing.Verbose() {
			t.Logf(format, args...)
		}
	}}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newRouter(t testing.TB, endpoint string, opts Options) *Router {
	t.Helper()
	r := must[*Router](t)(ListenRouter(endpoint, opts))
	t.Cleanup(func() { r.Close() })
	return r
}

func newXPub(t testing.TB, endpoint string, opts Options) *XPub {
	t.Helper()
	x := must[*XPub](t)(ListenXPub(endpoint, opts))
	t.Cleanup(func() { x.Close() })
	return x
}

func newDealer(t testing.TB, endpoint, identity string) *Dealer {
	t.Helper()
	d := must[*Dealer](t)(DialDealer(endpoint, []byte(identity), testOptions(t)))
	t.Cleanup(func() { d.Close() })
	return d
}

func newSub(t testing.TB, endpoint string, topics ...string) *Sub {
	t.Helper()
	s := must[*Sub](t)(DialSub(endpoint, topics, testOptions(t)))
	t.Cleanup(func() { s.Close() })
	return s
}

// echo answers everything that r receives until r is closed.
func echo(t testing.TB, r *Router) {
	go func() {
		for {
			m, err := r.Recv(context.Background())
			if err != nil {
				return
			}
			if err := r.Send(m.Peer, m.Frames...); err != nil && err != ErrNoPeer && err != ErrStalled {
				t.Errorf("send: %v", err)
			}
		}
	}()
}

// roundTrip sends through d and wants the same back.
func roundTrip(t testing.TB, d *Dealer, frames ...string) {
	t.Helper()
	ctx := testContext(t)
	if err := d.Send(ctx, byteFrames(frames)...); err != nil {
		t.Fatal(err)
	}
	wantFrames(t, must[[][]byte](t)(d.Recv(ctx)), frames...)
}

func byteFrames(frames []string) (out [][]byte) {
	for _, f := range frames {
		out = append(out, []byte(f))
	}
	return out
}

func wantFrames(t testing.TB, got [][]byte, want ...string) {
	t.Helper()
	if g, w := string(bytes.Join(got, []byte{'|'})), strings.Join(want, "|"); g != w || len(got) != len(want) {
		t.Fatalf("got %d frames %.200q, want %d frames %.200q", len(got), g, len(want), w)
	}
}

// wantEvent receives subscriptions until one matches.
func wantEvent(t testing.TB, x *XPub, topic string, cancel bool) Subscription {
	t.Helper()
	ctx := testContext(t)
	for {
		select {
		case s := <-x.Events():
			if string(s.Topic) == topic && s.Cancel == cancel {
				return s
			}
		case <-ctx.Done():
			t.Fatalf("no event for topic %q, cancel %v", topic, cancel)
		}
	}
}

// raw is a peer that says exactly what a test wants.
type raw struct {
	net.Conn
	t testing.TB
}

func dialRaw(t testing.TB, endpoint string) *raw {
	t.Helper()
	conn := must[net.Conn](t)(dial(testContext(t), endpoint))
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &raw{conn, t}
}

func (r *raw) send(parts ...[]byte) {
	r.t.Helper()
	if _, err := r.Write(bytes.Join(parts, nil)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) recv(n int) []byte {
	r.t.Helper()
	buf := make([]byte, n)
	if _, err := io.ReadFull(r, buf); err != nil {
		r.t.Fatal(err)
	}
	return buf
}

// recvFrame reads a frame header and body.
func (r *raw) recvFrame() (flags byte, body []byte) {
	r.t.Helper()
	h := r.recv(2)
	size := uint64(h[1])
	if h[0]&flagLong != 0 {
		size = binary.BigEndian.Uint64(append(h[1:2:2], r.recv(7)...))
	}
	return h[0], r.recv(int(size))
}

// wantClosed reads until the other side hangs up.
func (r *raw) wantClosed() {
	r.t.Helper()
	if _, err := io.Copy(io.Discard, r); os.IsTimeout(err) {
		r.t.Fatal("the connection was not closed")
	}
}

// shake performs the handshake as the given socket type.
func (r *raw) shake(kind, identity string) {
	r.t.Helper()
	r.send(greetingBytes(), readyBytes(kind, identity))
	r.recv(greetingSize)
	if flags, body := r.recvFrame(); flags != flagCommand || !bytes.HasPrefix(body, []byte("\x05READY")) {
		r.t.Fatalf("want READY, got flags %#x body %q", flags, body)
	}
}

// answered reports whether the other side, to which nothing has been said, takes a
// whole handshake and then answers.
func (r *raw) answered(kind string) bool {
	r.send(greetingBytes(), readyBytes(kind, ""), frameBytes(flagCommand, "\x04PING\x00\x64"))
	var got []byte
	for buf := make([]byte, 256); !bytes.HasSuffix(got, []byte("\x04PONG")); {
		n, err := r.Read(buf)
		if err != nil {
			return false
		}
		got = append(got, buf[:n]...)
	}
	return true
}

func greetingBytes() []byte {
	g := make([]byte, greetingSize)
	g[0], g[9], g[10], g[11] = 0xff, 0x7f, 3, 1
	copy(g[12:], "NULL")
	return g
}

func readyBytes(kind, identity string) []byte {
	body := []byte("\x05READY")
	for _, kv := range [][2]string{{"Socket-Type", kind}, {"Identity", identity}} {
		body = append(body, byte(len(kv[0])))
		body = append(body, kv[0]...)
		body = binary.BigEndian.AppendUint32(body, uint32(len(kv[1])))
		body = append(body, kv[1]...)
	}
	return frameBytes(flagCommand, string(body))
}

// frameBytes is a frame on the wire.
func frameBytes(flags byte, body string) []byte {
	if len(body) > 255 {
		h := binary.BigEndian.AppendUint64([]byte{flags | flagLong}, uint64(len(body)))
		return append(h, body...)
	}
	return append([]byte{flags, byte(len(body))}, body...)
}
