package zmtp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// A peer must not be able to hurt another one, whatever it does.

func TestSilentPeers(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		echo(t, r)
		dialRaw(t, r.Endpoint())                         // says nothing
		dialRaw(t, r.Endpoint()).send(greetingBytes())   // half a handshake
		dialRaw(t, r.Endpoint()).send([]byte{0xff, 0x0}) // a byte of it
		roundTrip(t, newDealer(t, r.Endpoint(), ""), "still", "here")
	})
}

func TestHandshakeTimeout(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		patiently(t, 200*time.Millisecond, func(limit time.Duration) (kept bool) {
			opts := testOptions(t)
			opts.HandshakeTimeout = limit
			r := newRouter(t, endpoint, opts)
			defer r.Close()
			c := dialRaw(t, r.Endpoint())
			if !c.answered("DEALER") {
				return false
			}
			silent := dialRaw(t, r.Endpoint())
			silent.wantClosed()
			// The deadline is for the handshake alone: it has passed for this peer, too.
			c.send(frameBytes(0, "late"))
			wantFrames(t, must[Message](t)(r.Recv(testContext(t))).Frames, "late")
			return true
		})
	})
}

func TestHostileBytes(t *testing.T) {
	shaken := func(parts ...[]byte) []byte {
		return bytes.Join(append([][]byte{greetingBytes(), readyBytes("DEALER", "")}, parts...), nil)
	}
	truncated := readyBytes("DEALER", "x")
	truncated = truncated[:len(truncated)-12]
	truncated[1] = byte(len(truncated) - 2)
	old := greetingBytes()
	old[10] = 1
	plain := greetingBytes()
	copy(plain[12:], "PLAIN")
	cases := map[string][]byte{
		"garbage":           bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 100),
		"zeros":             make([]byte, 1000),
		"old version":       old,
		"other mechanism":   plain,
		"truncated READY":   append(greetingBytes(), truncated...),
		"READY, bare name":  append(greetingBytes(), frameBytes(flagCommand, "\x05READY\x0bSocket-Type")...),
		"READY, no types":   append(greetingBytes(), frameBytes(flagCommand, "\x05READY")...),
		"READY too long":    append(greetingBytes(), frameBytes(flagCommand, "\x05READY"+strings.Repeat("x", maxReady))...),
		"READY as message":  append(greetingBytes(), frameBytes(0, "\x05READY")...),
		"unknown type":      append(greetingBytes(), readyBytes("NONSENSE", "")...),
		"wrong type":        append(greetingBytes(), readyBytes("SUB", "")...),
		"huge READY":        append(greetingBytes(), 6, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"empty command":     append(greetingBytes(), frameBytes(flagCommand, "")...),
		"huge frame":        shaken([]byte{2, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"negative frame":    shaken([]byte{2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"frame over limit":  shaken([]byte{2, 0, 0, 0, 0, 0, 1, 0, 1}),
		"many frames":       shaken(bytes.Repeat(frameBytes(flagMore, "x"), 20)),
		"big message":       shaken(bytes.Repeat(frameBytes(flagMore, strings.Repeat("x", 30000)), 4)),
		"reserved flags":    shaken(frameBytes(0x40, "x")),
		"command with more": shaken(frameBytes(flagCommand|flagMore, "\x04PING")),
		"long command name": shaken(frameBytes(flagCommand, "\xffPING")),
		"huge command":      shaken([]byte{6, 0, 0, 0, 0, 0, 1, 0, 1}),
		"nothing command":   shaken(frameBytes(flagCommand, "")),
	}
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.Limits = Limits{Frame: 64 << 10, Message: 100_000, Frames: 16}
		r := newRouter(t, endpoint, opts)
		echo(t, r)
		healthy := newDealer(t, r.Endpoint(), "healthy")
		for name, data := range cases {
			c := dialRaw(t, r.Endpoint())
			// It may hang up before we have said everything.
			if _, err := c.Write(data); err != nil && !isReset(err) {
				t.Fatalf("%s: %v", name, err)
			}
			t.Logf("%s", name)
			c.wantClosed()
			roundTrip(t, healthy, name)
		}
	})
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "write"
}

// A peer that claims a large frame must not make us allocate it.
func TestClaimedFrameIsNotAllocated(t *testing.T) {
	g, feed := pipeGuard(t, messageLimits, nil)
	go feed.Write(append(greetingAndReady(), 2, 0, 0, 0, 0, 0x10, 0, 0, 0, 'x')) // 256 MiB
	drainHandshake(t, g)
	go feed.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := g.Read(make([]byte, 2)); err == nil {
		t.Error("read the header of a frame that never came")
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 2*stageAbove {
		t.Errorf("allocated %d bytes for a frame of which one byte came", allocated)
	}
}

// Large messages share a bounded memory; small ones pass beside them.
func TestLargeMessagesShareMemory(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.LargeBytes = 5 * mib
		r := newRouter(t, endpoint, opts)
		ctx := testContext(t)
		first := dialRaw(t, r.Endpoint())
		first.shake("DEALER", "first")
		three := strings.Repeat("x", 3*mib)
		first.send(frameBytes(flagMore, "small"), frameBytes(flagMore, three))
		for r.large.used.Load() < 3*mib {
			time.Sleep(time.Millisecond)
		}
		second := dialRaw(t, r.Endpoint())
		second.shake("DEALER", "second")
		second.send(frameBytes(0, "small"))
		wantFrames(t, must[Message](t)(r.Recv(ctx)).Frames, "small")
		if _, err := second.Write(frameBytes(0, three)); err != nil && !isReset(err) {
			t.Fatal(err)
		}
		second.wantClosed()

		first.send(frameBytes(0, "end"))
		wantFrames(t, must[Message](t)(r.Recv(ctx)).Frames, "small", three, "end")
		third := dialRaw(t, r.Endpoint()) // there is room again
		third.shake("DEALER", "third")
		third.send(frameBytes(flagMore, three), []byte{0})
		for r.large.used.Load() < 3*mib {
			time.Sleep(time.Millisecond)
		}
		third.Close()
		for r.large.used.Load() != 0 { // and after a peer that left in the middle
			time.Sleep(time.Millisecond)
		}
	})
}

func TestStalledDealer(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.QueueMessages = 100
		opts.Linger = 50 * time.Millisecond
		r := newRouter(t, endpoint, opts)
		ctx := testContext(t)
		stalled := dialRaw(t, r.Endpoint())
		stalled.shake("DEALER", "stalled")
		stalled.send(frameBytes(0, "hello"))
		victim := must[Message](t)(r.Recv(ctx)).Peer
		healthy := newDealer(t, r.Endpoint(), "healthy")
		large := bytes.Repeat([]byte("x"), 64<<10)
		var err error
		for n := 0; err == nil; n++ { // ends when the buffers of the system and the queue are full
			err = r.Send(victim, large)
			if n%20 == 0 {
				if err := healthy.Send(ctx, []byte("ping")); err != nil {
					t.Fatal(err)
				}
				m := must[Message](t)(r.Recv(ctx))
				if err := r.Send(m.Peer, m.Frames...); err != nil {
					t.Fatal(err)
				}
				wantFrames(t, must[[][]byte](t)(healthy.Recv(ctx)), "ping")
			}
		}
		if err != ErrStalled {
			t.Fatalf("got %v, want ErrStalled", err)
		}
		for { // the connection ends soon
			if _, connected := r.PeerByIdentity([]byte("stalled")); !connected {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := r.Send(victim, large); err != ErrNoPeer {
			t.Fatalf("got %v, want ErrNoPeer", err)
		}
		echo(t, r)
		roundTrip(t, healthy, "after")
	})
}

func TestStalledSubscriber(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		patiently(t, 500*time.Millisecond, func(limit time.Duration) (kept bool) {
			opts := testOptions(t)
			opts.QueueMessages = 10
			opts.StallLimit = limit
			x := newXPub(t, endpoint, opts)
			defer x.Close()
			ctx, stop := context.WithCancel(testContext(t))
			defer stop()
			stalled := dialRaw(t, x.Endpoint())
			stalled.shake("SUB", "")
			stalled.send(frameBytes(0, "\x01"))
			victim := wantEvent(t, x, "", false).Peer
			healthy := newSub(t, x.Endpoint(), "")
			wantEvent(t, x, "", false)

			// lost are those that were disconnected.
			lost := make(chan Peer, 16)
			next := func() Peer {
				select {
				case p := <-lost:
					return p
				case <-ctx.Done():
					t.Fatal("nobody is disconnected, and the healthy one has not received everything")
					return 0
				}
			}
			go func() {
				for s := range x.Events() {
					if s.Cancel {
						lost <- s.Peer
					}
				}
			}()
			const messages = 200
			received := make(chan int, 1) // how many came in their order
			go func() {
				n := 0
				for ; n < messages; n++ {
					if frames, err := healthy.Recv(ctx); err != nil || string(frames[0]) != fmt.Sprint("topic", n) {
						break
					}
				}
				received <- n
			}()
			large := bytes.Repeat([]byte("x"), 256<<10)
			for i := range messages {
				if err := x.Publish(ctx, fmt.Append(nil, "topic", i), large); err != nil {
					t.Fatal(err)
				}
			}
			// The healthy one may be too slow, too: then it misses messages, and only then.
			if next() != victim {
				return false
			}
			select {
			case n := <-received:
				if kept = n == messages; !kept {
					next()
				}
			case <-lost:
			}
			if n := x.Subscribers(); kept && n != 1 {
				t.Errorf("%d subscribers, want 1", n)
			}
			return kept
		})
	})
}

func TestKilledInMidMessage(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		ctx := testContext(t)
		for _, part := range [][]byte{
			frameBytes(flagMore, "first of two"),
			frameBytes(0, "whole")[:4],
			{2, 0, 0},
			append([]byte{2, 0, 0, 0, 0, 0, 0x40, 0, 0}, make([]byte, 2<<20)...), // staged
		} {
			c := dialRaw(t, r.Endpoint())
			c.shake("DEALER", "")
			c.send(frameBytes(0, "whole"), part)
			c.Close()
			wantFrames(t, must[Message](t)(r.Recv(ctx)).Frames, "whole")
		}
		echo(t, r)
		roundTrip(t, newDealer(t, r.Endpoint(), ""), "nothing of the halves")
	})
}

func TestHalfClosed(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		c := dialRaw(t, r.Endpoint())
		c.shake("DEALER", "half")
		c.send(frameBytes(0, "bye"))
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		wantFrames(t, must[Message](t)(r.Recv(testContext(t))).Frames, "bye")
		c.wantClosed()
	})
}

func TestTooManyPeers(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		opts := testOptions(t)
		opts.MaxPeers = 2
		r := newRouter(t, endpoint, opts)
		echo(t, r)
		first := newDealer(t, r.Endpoint(), "")
		roundTrip(t, first, "1")
		second := dialRaw(t, r.Endpoint())
		second.shake("DEALER", "")
		dialRaw(t, r.Endpoint()).wantClosed()
		roundTrip(t, first, "2")
		second.Close()
		roundTrip(t, newDealer(t, r.Endpoint(), ""), "there is room again")
	})
}

func TestFiftyClients(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := newRouter(t, endpoint, testOptions(t))
		echo(t, r)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				d, err := DialDealer(r.Endpoint(), fmt.Append(nil, "client", i), testOptions(t))
				if err != nil {
					t.Error(err)
					return
				}
				defer d.Close()
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				for n := range 20 {
					want := fmt.Sprint(i, "/", n)
					if err := d.Send(ctx, []byte(want)); err != nil {
						t.Error(err)
						return
					}
					got, err := d.Recv(ctx)
					if err != nil || string(got[0]) != want {
						t.Errorf("got %q, %v; want %q", got, err, want)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// flakyListener cannot accept for a while, like a process with too many files.
type flakyListener struct {
	net.Listener
	failures int
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptErrors(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		var logged atomic.Int32
		opts := Options{Logger: func(string, ...any) { logged.Add(1) }}
		s := must[*server](t)(listen(zmq4.Rep, endpoint, opts.withDefaults(signalLimits), echoing{}))
		s.listener = &flakyListener{s.listener, 5}
		s.start()
		defer s.Close()
		roundTrip(t, newDealer(t, s.Endpoint(), ""), "after all")
		if n := logged.Load(); n != 5 {
			t.Errorf("%d lines for 5 failures", n)
		}
	})
}

// A panic of the library must end one connection only.
func TestSafely(t *testing.T) {
	if err := safely(func() error { panic("boom") }); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
}
