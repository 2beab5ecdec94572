package zmtp

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestPingIsAnsweredNotDelivered(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		c := dialRaw(t, r.Endpoint())
		c.shake("DEALER", "")
		c.send(
			frameBytes(flagCommand, "\x04PING\x00\x64context"),
			frameBytes(flagMore, "one"),
			frameBytes(flagCommand, "\x04PING\x00\x64"), // libzmq may interrupt a message
			frameBytes(0, "two"),
		)
		for _, want := range []string{"\x04PONGcontext", "\x04PONG"} {
			if flags, body := c.recvFrame(); flags != flagCommand || string(body) != want {
				t.Errorf("got flags %#x body %q, want command %q", flags, body, want)
			}
		}
		wantFrames(t, must[Message](t)(r.Recv(testContext(t))).Frames, "one", "two")
	})
}

func TestIdentity(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		ctx := testContext(t)
		first := dialRaw(t, r.Endpoint())
		first.shake("DEALER", "me")
		first.send(frameBytes(0, "request"))
		me := must[Message](t)(r.Recv(ctx)).Peer
		if p, ok := r.PeerByIdentity([]byte("me")); !ok || p != me {
			t.Errorf("PeerByIdentity: %d, %v; want %d", p, ok, me)
		}
		if id := r.Identity(me); string(id) != "me" {
			t.Errorf("Identity: %q", id)
		}
		if _, ok := r.PeerByIdentity(nil); ok {
			t.Error("found a peer with the empty identity")
		}

		// The newest connection wins, and gets the answer to the older one's request.
		second := dialRaw(t, r.Endpoint())
		second.shake("DEALER", "me")
		first.wantClosed()
		if err := r.Send(me, []byte("answer")); err != nil {
			t.Fatal(err)
		}
		if _, body := second.recvFrame(); string(body) != "answer" {
			t.Errorf("got %q", body)
		}

		// It keeps its Peer when it comes back later, too; others get their own.
		second.Close()
		for r.Identity(me) != nil {
			time.Sleep(time.Millisecond)
		}
		if err := r.Send(me, nil); err != ErrNoPeer {
			t.Errorf("got %v, want ErrNoPeer", err)
		}
		third := dialRaw(t, r.Endpoint())
		third.shake("DEALER", "me")
		third.send(frameBytes(0, "again"))
		if m := must[Message](t)(r.Recv(ctx)); m.Peer != me {
			t.Errorf("came back as %d, was %d", m.Peer, me)
		}
		nobody := dialRaw(t, r.Endpoint())
		nobody.shake("DEALER", "")
		nobody.send(frameBytes(0, "x"))
		if m := must[Message](t)(r.Recv(ctx)); m.Peer == me || r.Identity(m.Peer) != nil {
			t.Errorf("an anonymous peer is %d, %q", m.Peer, r.Identity(m.Peer))
		}
	})
}

func TestAwaitIdentity(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		ctx, cancel := context.WithCancel(testContext(t))
		found := make(chan error, 2)
		await := func(ctx context.Context, id string) {
			_, err := r.AwaitIdentity(ctx, []byte(id))
			found <- err
		}
		go await(ctx, "late")
		newDealer(t, r.Endpoint(), "other")
		d := newDealer(t, r.Endpoint(), "late")
		if err := d.Connected(ctx); err != nil {
			t.Error(err)
		}
		if err := <-found; err != nil {
			t.Error(err)
		}
		go await(ctx, "never")
		cancel()
		if err := <-found; err != context.Canceled {
			t.Errorf("got %v", err)
		}
		go await(context.Background(), "never")
		r.Close()
		if err := <-found; err != ErrClosed {
			t.Errorf("got %v", err)
		}
	})
}

func TestManyIdentitiesAreForgotten(t *testing.T) {
	r := newRouter(t, "tcp://127.0.0.1:0", testOptions(t))
	for i := range 3 * maxKnown {
		p := &peer{identity: fmt.Sprint(i)}
		routing{r}.opened(p)
		if i != 0 {
			routing{r}.gone(p)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) > maxKnown {
		t.Errorf("%d identities are remembered", len(r.known))
	}
	if r.known["0"] == 0 {
		t.Error("a connected one was forgotten")
	}
}

func TestWelcomeIsFirst(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.QueueMessages = 16
		opts.Welcome = func(topic []byte) [][]byte { return [][]byte{topic, []byte("welcome")} }
		x := newXPub(t, endpoint, opts)
		ctx, stop := context.WithCancel(testContext(t))
		defer stop()
		published := make(chan struct{})
		go func() { // somebody publishes all the time
			defer close(published)
			for x.Publish(ctx, []byte("topic"), []byte("news")) == nil {
				runtime.Gosched()
			}
		}()
		go func() {
			for range x.Events() {
			}
		}()
		for range 20 {
			s := newSub(t, x.Endpoint(), "")
			wantFrames(t, must[[][]byte](t)(s.Recv(ctx)), "", "welcome")
			wantFrames(t, must[[][]byte](t)(s.Recv(ctx)), "topic", "news")
			s.Close()
		}
		stop()
		<-published
	})
}

func TestSubscriptions(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		x := newXPub(t, endpoint, testOptions(t))
		ctx := testContext(t)
		c := dialRaw(t, x.Endpoint())
		c.shake("SUB", "")
		publish := func(topics ...string) {
			for _, topic := range topics {
				if err := x.Publish(ctx, []byte(topic)); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := func(topic string) {
			t.Helper()
			if _, body := c.recvFrame(); string(body) != topic {
				t.Fatalf("got %q, want %q", body, topic)
			}
		}
		publish("nobody listens")
		c.send(frameBytes(flagCommand, "\x09SUBSCRIBEa")) // as ZMTP 3.1 does
		a := wantEvent(t, x, "a", false)
		c.send(frameBytes(0, "\x01b"), frameBytes(0, "\x01b"), frameBytes(0, ""), frameBytes(0, "\x02c"), frameBytes(0, "\x00never"), frameBytes(0, "\x01c"))
		if b := wantEvent(t, x, "b", false); b.Peer != a.Peer {
			t.Errorf("one peer has the numbers %d and %d", a.Peer, b.Peer)
		}
		wantEvent(t, x, "c", false)
		publish("x", "abc", "bcd", "", "cde")
		want("abc")
		want("bcd")
		want("cde")
		if n := x.Subscribers(); n != 1 {
			t.Errorf("%d subscribers", n)
		}
		c.send(frameBytes(flagCommand, "\x06CANCELa"))
		wantEvent(t, x, "a", true)
		c.send(frameBytes(0, "\x00b"), frameBytes(0, "\x00c")) // b was subscribed twice
		wantEvent(t, x, "c", true)
		publish("abc", "cde", "bcd")
		want("bcd")
		c.send(frameBytes(0, "\x00b"))
		wantEvent(t, x, "b", true)
		if n := x.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
		for i := range maxTopics {
			c.send(frameBytes(0, fmt.Sprint("\x01", i)))
			wantEvent(t, x, fmt.Sprint(i), false)
		}
		c.send(frameBytes(0, "\x01one too many"))
		c.wantClosed()
	})
}

// A slow reader slows the publisher and loses nothing.
func TestBackPressure(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.QueueMessages = 4
		x := newXPub(t, endpoint, opts)
		ctx := testContext(t)
		s := newSub(t, x.Endpoint(), "")
		wantEvent(t, x, "", false)
		const messages = 300
		body := make([]byte, 100<<10) // altogether more than the system buffers
		failed := make(chan error, 1)
		go func() {
			for i := range messages {
				if err := x.Publish(ctx, fmt.Append(nil, i), body); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
		for i := range messages {
			frames := must[[][]byte](t)(s.Recv(ctx))
			if string(frames[0]) != fmt.Sprint(i) || len(frames[1]) != len(body) {
				t.Fatalf("message %d is %q with %d bytes", i, frames[0], len(frames[1]))
			}
		}
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	})
}

// A message beyond the bounds of a queue is delivered, and so is what cannot
// wait and follows it, although the subscriber has read nothing yet.
func TestLargeMessageIsFollowed(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.QueueBytes = 64 << 10
		x := newXPub(t, endpoint, opts)
		ctx := testContext(t)
		s := newSub(t, x.Endpoint(), "")
		wantEvent(t, x, "", false)
		large := make([]byte, 8<<20) // more than the system buffers
		if err := x.Publish(ctx, []byte("large"), large); err != nil {
			t.Fatal(err)
		}
		const more = 10
		for range more {
			if err := x.PublishNow([]byte("small")); err != nil {
				t.Fatal(err)
			}
		}
		if frames := must[[][]byte](t)(s.Recv(ctx)); len(frames) != 2 || len(frames[1]) != len(large) {
			t.Fatalf("got %q with %d frames", frames[0], len(frames))
		}
		for range more {
			if frames := must[[][]byte](t)(s.Recv(ctx)); string(frames[0]) != "small" {
				t.Fatalf("got %q", frames[0])
			}
		}
	})
}

func TestPublishCancelled(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.QueueMessages = 2
		opts.Linger = 20 * time.Millisecond
		x := newXPub(t, endpoint, opts)
		c := dialRaw(t, x.Endpoint())
		c.shake("SUB", "")
		c.send(frameBytes(0, "\x01"))
		wantEvent(t, x, "", false)
		body := make([]byte, 1<<20)
		sent := 0
		var err error
		for err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			if err = x.Publish(ctx, []byte("data"), body); err == nil {
				sent++
			}
			cancel()
		}
		if err != context.DeadlineExceeded {
			t.Fatal(err)
		}
		if err := x.PublishNow([]byte("status")); err != nil { // has a reserve
			t.Fatal(err)
		}
		for range sent { // and the cancelled message is not among them
			if _, topic := c.recvFrame(); string(topic) != "data" {
				t.Fatalf("got %q", topic)
			}
			c.recvFrame()
		}
		if _, topic := c.recvFrame(); string(topic) != "status" {
			t.Fatalf("got %q", topic)
		}
	})
}

func TestEcho(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		e := must[*Echo](t)(ListenEcho(endpoint, testOptions(t)))
		defer e.Close()
		ctx := testContext(t)
		for range 3 {
			r := must[*Req](t)(DialReq(e.Endpoint(), testOptions(t)))
			defer r.Close()
			for _, beat := range []string{"ping", "", "pong"} {
				wantFrames(t, must[[][]byte](t)(r.Request(ctx, []byte(beat))), beat)
			}
		}
		d := newDealer(t, e.Endpoint(), "") // old clients
		roundTrip(t, d, "", "beat")
	})
}

func TestRequestCancelled(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		router := newRouter(t, endpoint, testOptions(t)) // stands in for a slow REP
		r := must[*Req](t)(DialReq(router.Endpoint(), testOptions(t)))
		defer r.Close()
		ctx, cancel := context.WithCancel(testContext(t))
		asked := make(chan error, 1)
		go func() {
			_, err := r.Request(ctx, []byte("first"))
			asked <- err
		}()
		late := must[Message](t)(router.Recv(testContext(t)))
		cancel()
		if err := <-asked; err != context.Canceled {
			t.Fatalf("got %v", err)
		}
		router.Send(late.Peer, late.Frames...) // reaches nobody
		echo(t, router)
		wantFrames(t, must[[][]byte](t)(r.Request(testContext(t), []byte("second"))), "second")
	})
}

func TestReconnect(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := must[*Router](t)(ListenRouter(endpoint, testOptions(t)))
		endpoint = r.Endpoint()
		echo(t, r)
		d := newDealer(t, endpoint, "me")
		roundTrip(t, d, "one")
		r.Close()
		r = newRouter(t, endpoint, testOptions(t))
		echo(t, r)
		roundTrip(t, d, "two")

		// A server may come later than its clients.
		other := newEndpoint(t, strings.SplitN(endpoint, ":", 2)[0])
		x := must[*XPub](t)(ListenXPub(other, testOptions(t)))
		other = x.Endpoint()
		x.Close()
		s := newSub(t, other, "")
		x = newXPub(t, other, testOptions(t))
		wantEvent(t, x, "", false)
		x.Publish(testContext(t), []byte("news"))
		wantFrames(t, must[[][]byte](t)(s.Recv(testContext(t))), "news")
	})
}

func TestEndpoints(t *testing.T) {
	long := "ipc:///" + strings.Repeat("x", maxPath)
	for endpoint, want := range map[string]string{
		"":                      "is not tcp://host:port or ipc://path",
		"127.0.0.1:5":           "is not tcp://host:port or ipc://path",
		"tcp://":                "is not tcp://host:port or ipc://path",
		"tcp://127.0.0.1":       "missing port",
		"udp://127.0.0.1:1":     `unknown transport "udp"`,
		"inproc://x":            `unknown transport "inproc"`,
		long:                    "socket path of 108 bytes, at most 107",
		"tcp://127.0.0.1:99999": "invalid port",
	} {
		r, err := ListenRouter(endpoint, testOptions(t))
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ListenRouter(%.40q): %v, want %q", endpoint, err, want)
		}
	}
	if _, err := DialDealer("nonsense", nil, testOptions(t)); err == nil {
		t.Error("DialDealer took nonsense")
	}
	if network, address, err := splitEndpoint("tcp://*:80"); network != "tcp" || address != ":80" || err != nil {
		t.Error(network, address, err)
	}
}

func TestSocketFiles(t *testing.T) {
	endpoint := newEndpoint(t, "ipc")
	path := strings.TrimPrefix(endpoint, "ipc://")
	l := must[*net.UnixListener](t)(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))
	if _, err := ListenRouter(endpoint, testOptions(t)); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("bound a socket in use: %v", err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as if its process was killed
	r := must[*Router](t)(ListenRouter(endpoint, testOptions(t)))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	r.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenRouter(endpoint, testOptions(t)); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("bound over a file: %v", err)
	}
}
