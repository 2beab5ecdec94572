package link

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func pair(t testing.TB) (*Conn, *Conn) {
	t.Helper()
	a, b, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	front, session := NewConn(a), NewConn(b)
	t.Cleanup(func() { front.Close(); session.Close() })
	return front, session
}

func TestRoundTrip(t *testing.T) {
	front, session := pair(t)
	want := ExecuteRequest{Code: "fmt.Println(\"<é>\x00\u2028\")\n", Number: 7, AllowStdin: true, UserExpressions: map[string]string{"a": "b"}}
	if err := front.SendBody(Execute, 3, 0, want); err != nil {
		t.Fatal(err)
	}
	if err := front.SendBody(Interrupt, 0, 0, nil); err != nil {
		t.Fatal(err)
	}
	f, err := session.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if f.Kind != Execute || f.Cell != 3 || f.Seq != 0 {
		t.Errorf("envelope: %+v", f)
	}
	got, err := Decode[ExecuteRequest](f)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("body: %+v, %v; want %+v", got, err, want)
	}
	f, err = session.Recv()
	if err != nil || f.Kind != Interrupt || f.Body != nil {
		t.Errorf("second frame: %+v, %v", f, err)
	}
	if _, err := Decode[CodeRequest](f); err == nil {
		t.Error("decoding an absent body succeeded")
	}
}

// Frames of concurrent senders arrive whole, and in order for each sender,
// also when one frame exceeds the socket's buffer.
func TestConcurrentSenders(t *testing.T) {
	front, session := pair(t)
	const senders, each = 4, 40
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				text := strings.Repeat("x", (i%5)*100_000)
				if err := session.SendBody(Stream, uint64(s), uint64(i+1), StreamText{Name: "stdout", Text: text}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	next := make([]uint64, senders)
	for range senders * each {
		f, err := front.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if next[f.Cell]++; f.Seq != next[f.Cell] {
			t.Fatalf("sender %d: frame %d arrived as number %d", f.Cell, f.Seq, next[f.Cell])
		}
		body, err := Decode[StreamText](f)
		if err != nil || len(body.Text) != int((f.Seq-1)%5)*100_000 {
			t.Fatalf("sender %d frame %d: %d bytes of text, %v", f.Cell, f.Seq, len(body.Text), err)
		}
	}
	wg.Wait()
}

func TestReceiveErrors(t *testing.T) {
	frame := func(n uint32, content string) string {
		return string(binary.BigEndian.AppendUint32(nil, n)) + content
	}
	for _, c := range []struct{ name, in, want string }{
		{"end", "", "EOF"},
		{"half a length", "\x00\x00", "unexpected EOF"},
		{"no content", frame(5, ""), "unexpected EOF"},
		{"half the content", frame(100, `{"kind":`), "unexpected EOF"},
		{"too large", frame(MaxFrame+1, "{}"), "larger than 256 MiB"},
		{"huge but absent", frame(MaxFrame, "{}"), "unexpected EOF"},
		{"not JSON", frame(3, "abc"), "malformed frame"},
		{"no kind", frame(2, "{}"), "no kind"},
		{"wrong type", frame(10, `{"kind":1}`), "malformed frame"},
		{"empty", frame(0, ""), "malformed frame"},
	} {
		_, err := NewConn(stream{strings.NewReader(c.in), io.Discard}).Recv()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestSendTooLarge(t *testing.T) {
	var out bytes.Buffer
	c := NewConn(stream{nil, &out})
	body := make(json.RawMessage, MaxFrame)
	if err := c.Send(Frame{Kind: Display, Body: body}); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	if out.Len() != 0 {
		t.Fatalf("%d bytes written of a refused frame", out.Len())
	}
	if err := c.SendBody(Ack, 0, 1, nil); err != nil {
		t.Fatalf("after a refused frame: %v", err)
	}
}

func TestBrokenStreamStaysBroken(t *testing.T) {
	w := &failing{}
	c := NewConn(stream{nil, w})
	first := c.SendBody(Ack, 0, 1, nil)
	if first == nil {
		t.Fatal("a failed write was not reported")
	}
	if second := c.SendBody(Ack, 0, 2, nil); second != first {
		t.Errorf("second send: %v, want %v", second, first)
	}
	if w.calls != 1 {
		t.Errorf("%d writes after a failure", w.calls-1)
	}
}

func TestOneWritePerFrame(t *testing.T) {
	w := &counting{}
	c := NewConn(stream{nil, w})
	for i := range 10 {
		if err := c.SendBody(Stream, 1, uint64(i), StreamText{Text: strings.Repeat("y", i*10_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if w.calls != 10 {
		t.Errorf("%d writes for 10 frames", w.calls)
	}
}

type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }

type failing struct{ calls int }

func (w *failing) Write([]byte) (int, error) { w.calls++; return 0, errors.New("gone") }

type counting struct{ calls int }

func (w *counting) Write(p []byte) (int, error) { w.calls++; return len(p), nil }

// FuzzRecv feeds the decoder arbitrary streams; a frame that it accepts must
// survive being sent again.
func FuzzRecv(f *testing.F) {
	add := func(s string) {
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...))
	}
	add(`{"kind":"execute","cell":1,"body":{"code":"x := 1","count":1}}`)
	add(`{"kind":"done","cell":18446744073709551615,"seq":2}`)
	add(`{"kind":"ack","body":null}`)
	add(`{"kind":"\ud800","body": [1 , 2]}`)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 2, '{'})
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := NewConn(stream{bytes.NewReader(in), io.Discard}).Recv()
		if err != nil {
			return
		}
		var wire bytes.Buffer
		if err := NewConn(stream{nil, &wire}).Send(got); err != nil {
			t.Fatalf("cannot send %+v: %v", got, err)
		}
		again, err := NewConn(stream{&wire, io.Discard}).Recv()
		if err != nil {
			t.Fatalf("cannot receive what was sent for %+v: %v", got, err)
		}
		if again.Kind != got.Kind || again.Cell != got.Cell || again.Seq != got.Seq || !bytes.Equal(again.Body, got.Body) {
			t.Fatalf("%+v became %+v", got, again)
		}
	})
}

// BenchmarkHop is a round trip of a small cell and its outcome: two hops.
func BenchmarkHop(b *testing.B) {
	front, session := pair(b)
	go func() {
		for {
			f, err := session.Recv()
			if err != nil {
				return
			}
			if _, err := Decode[ExecuteRequest](f); err != nil {
				panic(err)
			}
			session.SendBody(Done, f.Cell, 0, DoneBody{Result: &Bundle{Data: map[string]any{"text/plain": "2"}, Metadata: map[string]any{}}})
		}
	}()
	for i := range b.N {
		if err := front.SendBody(Execute, uint64(i), 0, ExecuteRequest{Code: "1 + 1", Number: i}); err != nil {
			b.Fatal(err)
		}
		f, err := front.Recv()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Decode[DoneBody](f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargeDisplay moves a display as large as a picture.
func BenchmarkLargeDisplay(b *testing.B) {
	for _, size := range []int{1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			front, session := pair(b)
			text := strings.Repeat("iVBORw0K", size/8)
			b.SetBytes(int64(size))
			errs := make(chan error, 1)
			go func() {
				for range b.N {
					if err := session.SendBody(Display, 1, 1, DisplayBody{Bundle: Bundle{Data: map[string]any{"image/png": text}}}); err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
			for range b.N {
				if _, err := front.Recv(); err != nil {
					b.Fatal(err)
				}
			}
			if err := <-errs; err != nil {
				b.Fatal(err)
			}
		})
	}
}
