package zmtp

import (
	"strings"
	"testing"
	"time"
)

func TestCloseSendsWhatIsQueued(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		ctx := testContext(t)
		opts := testOptions(t)
		opts.Linger = patience
		r := newRouter(t, endpoint, opts)
		d := newDealer(t, r.Endpoint(), "")
		if err := d.Send(ctx, []byte("request")); err != nil {
			t.Fatal(err)
		}
		peer := must[Message](t)(r.Recv(ctx)).Peer
		const messages = 200
		body := make([]byte, 50<<10)
		for range messages {
			if err := r.Send(peer, body); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 { // unread requests must not turn the close into a reset
			d.Send(ctx, []byte("unread"))
		}
		closed := make(chan struct{})
		go func() {
			r.Close()
			close(closed)
		}()
		for i := range messages {
			frames, err := d.Recv(ctx)
			if err != nil || len(frames[0]) != len(body) {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		<-closed
		for err := error(nil); err != ErrClosed; { // after what was received before
			if _, err = r.Recv(ctx); err != nil && err != ErrClosed {
				t.Fatalf("Recv after Close: %v", err)
			}
		}
		if err := r.Close(); err != ErrClosed {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestCloseGivesUpOnTheStalled(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.Linger = 50 * time.Millisecond
		r := newRouter(t, endpoint, opts)
		dialRaw(t, r.Endpoint()) // never shakes hands
		c := dialRaw(t, r.Endpoint())
		c.shake("DEALER", "")
		c.send(frameBytes(0, "x"))
		peer := must[Message](t)(r.Recv(testContext(t))).Peer
		for range 100 {
			r.Send(peer, make([]byte, 1<<20))
		}
		r.Close() // returns, and eachTransport finds no goroutine
	})
}

func TestClientsClose(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		if strings.HasPrefix(endpoint, "tcp") {
			endpoint = "tcp://127.0.0.1:1" // nobody there
		}
		ctx := testContext(t)
		d := newDealer(t, endpoint, "")
		results := make(chan error, 2)
		go func() { results <- d.Send(ctx, []byte("x")) }()
		go func() { _, err := d.Recv(ctx); results <- err }()
		d.Close()
		for range 2 {
			if err := <-results; err != ErrClosed {
				t.Errorf("got %v, want ErrClosed", err)
			}
		}
	})
}
