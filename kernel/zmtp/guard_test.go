package zmtp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// pipeGuard returns a guard and the peer's end of its connection.
func pipeGuard(t testing.TB, limits Limits, command func(string, []byte)) (*guard, net.Conn) {
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	return newGuard(here, limits, &pool{max: 512 * mib}, command), there
}

func greetingAndReady() []byte { return append(greetingBytes(), readyBytes("DEALER", "")...) }

func drainHandshake(t testing.TB, g *guard) {
	t.Helper()
	if _, err := io.ReadFull(g, make([]byte, len(greetingAndReady()))); err != nil {
		t.Fatal(err)
	}
}

func TestGuardTakesCommandsOut(t *testing.T) {
	var commands []string
	g, feed := pipeGuard(t, messageLimits, func(name string, body []byte) { commands = append(commands, name+":"+string(body)) })
	long := strings.Repeat("long", 1000)
	go func() {
		feed.Write(bytes.Join([][]byte{
			greetingAndReady(),
			frameBytes(flagCommand, "\x04PING\x00\x00ctx"),
			frameBytes(flagMore, "a"),
			frameBytes(flagCommand, "\x09SUBSCRIBEtopic"), // in the middle of a message
			frameBytes(0, long),
			frameBytes(flagCommand, "\x07UNKNOWN"),
			frameBytes(0, ""),
		}, nil))
		feed.Close()
	}()
	drainHandshake(t, g)
	got, err := io.ReadAll(g)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Join([][]byte{frameBytes(flagMore, "a"), frameBytes(0, long), frameBytes(0, "")}, nil)
	if !bytes.Equal(got, want) {
		t.Errorf("Conn sees %.80q, want %.80q", got, want)
	}
	if got, want := strings.Join(commands, " "), "PING:\x00\x00ctx SUBSCRIBE:topic UNKNOWN:"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
}

func TestGuardStagesLargeFrames(t *testing.T) {
	g, feed := pipeGuard(t, messageLimits, nil)
	body := bytes.Repeat([]byte("0123456789abcdef"), 5*stageAbove/16/2)
	go func() {
		feed.Write(greetingAndReady())
		feed.Write(frameBytes(0, string(body)))
		feed.Close()
	}()
	drainHandshake(t, g)
	got, err := io.ReadAll(g)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, frameBytes(0, string(body))) {
		t.Error("a staged frame was changed")
	}
}

// countingConn counts writes.
type countingConn struct {
	net.Conn
	written []byte
	writes  int
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.writes++
	c.written = append(c.written, p...)
	return len(p), nil
}

func TestGatherWritesOnce(t *testing.T) {
	var g gather
	conn := &countingConn{}
	long := bytes.Repeat([]byte("L"), copyBelow)
	var want []byte
	for range 3 { // the memory is used again after each flush
		for _, p := range [][]byte{[]byte("small"), {}, []byte("er"), bytes.Repeat([]byte("s"), 1000)} {
			g.add(p)
			want = append(want, p...)
		}
		if err := g.flush(conn); err != nil {
			t.Fatal(err)
		}
	}
	if conn.writes != 3 {
		t.Errorf("%d writes for 3 messages of small frames", conn.writes)
	}
	for range 3 {
		for i := range 100 { // more than one block of copies, around references
			p := bytes.Repeat([]byte{byte(i)}, i*10)
			g.add(p)
			want = append(want, p...)
			if i%30 == 0 {
				g.add(long)
				want = append(want, long...)
			}
		}
		if err := g.flush(conn); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(conn.written, want) {
		t.Error("gathered bytes are not what was added")
	}
}

// lateConn accepts a piece of each write and then times out.
type lateConn struct {
	countingConn
	piece int
}

func (c *lateConn) SetWriteDeadline(time.Time) error { return nil }

func (c *lateConn) Write(p []byte) (int, error) {
	n, err := c.countingConn.Write(p[:min(len(p), c.piece)])
	if n < len(p) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// A slow peer gets everything, one that takes next to nothing is given up.
func TestGatherStalls(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	g := gather{stall: time.Second}
	slow := &lateConn{piece: minProgress}
	g.add(data)
	if err := g.flush(slow); err != nil || !bytes.Equal(slow.written, data) {
		t.Errorf("wrote %d bytes of %d: %v", len(slow.written), len(data), err)
	}
	g.add(data)
	if err := g.flush(&lateConn{piece: 10}); !errors.Is(err, ErrStalled) {
		t.Errorf("got %v, want ErrStalled", err)
	}
}

// FuzzGuard feeds arbitrary bytes to a Conn behind a guard, as a peer would.
func FuzzGuard(f *testing.F) {
	f.Add([]byte("garbage"))
	f.Add(greetingAndReady())
	f.Add(append(greetingAndReady(), frameBytes(flagMore, "a")...))
	f.Add(append(greetingAndReady(), frameBytes(flagCommand, "\x04PING\x00\x00x")...))
	f.Add(append(greetingBytes(), frameBytes(flagCommand, "\x05READY\x0bSocket-Type\x00\x00\x00\x09DEALER")...))
	f.Add(append(greetingAndReady(), 2, 0, 0, 0, 0, 0, 1, 0, 0))
	limits := Limits{Frame: 1 << 16, Message: 1 << 17, Frames: 8}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := newGuard(&streamConn{in: bytes.NewReader(data)}, limits, &pool{max: 512 * mib}, func(string, []byte) {})
		err := safely(func() error {
			conn, err := zmq4.Open(g, nullSecurity, zmq4.Router, nil, false, nil)
			if err != nil {
				return err
			}
			return drainMessages(t, conn, limits)
		})
		if err == nil {
			t.Error("the stream ended without an error")
		}
	})
}

func drainMessages(t *testing.T, conn *zmq4.Conn, limits Limits) error {
	for {
		msg, err := conn.RecvMsg()
		if err != nil {
			return err
		}
		if msg.Type != zmq4.UsrMsg {
			t.Error("a command reached Conn")
		}
		if n := byteSize(msg.Frames); n > limits.Message || len(msg.Frames) > limits.Frames {
			t.Errorf("a message of %d bytes in %d frames passed", n, len(msg.Frames))
		}
	}
}

// streamConn is a connection to a peer who said everything already.
type streamConn struct {
	net.Conn
	in io.Reader
}

func (c *streamConn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *streamConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *streamConn) Close() error                { return nil }

func TestQueueBounds(t *testing.T) {
	q := newQueue(&Options{QueueMessages: 2, QueueBytes: 10})
	huge := [][]byte{make([]byte, 100)}
	if err := q.put(huge, 1); err != nil {
		t.Fatalf("an empty queue refused a large message: %v", err)
	}
	if err := q.put(huge, 1); !errors.Is(err, ErrStalled) {
		t.Fatalf("got %v, want ErrStalled", err)
	}
	if full := q.room(1); full != nil {
		t.Fatal("a large message leaves no room behind it")
	}
	if err := q.put([][]byte{make([]byte, 10)}, 1); err != nil {
		t.Fatalf("behind a large message, the bytes that may wait were refused: %v", err)
	}
	full := q.room(1)
	if full == nil {
		t.Fatal("a full queue has room")
	}
	if messages, _, ok := q.take(nil); !ok || len(messages) != 2 {
		t.Fatalf("took %d messages", len(messages))
	}
	select {
	case <-full:
		t.Fatal("room before the message was written")
	default:
	}
	q.written(1, 100)
	<-full
	if q.room(1) == nil {
		t.Error("what waited behind the large message no longer counts")
	}
	q.written(1, 10)
	q.close(false)
	if err := q.put(nil, 1); err != ErrNoPeer {
		t.Errorf("got %v, want ErrNoPeer", err)
	}
	if _, _, ok := q.take(nil); ok {
		t.Error("a closed empty queue gave something")
	}
}
