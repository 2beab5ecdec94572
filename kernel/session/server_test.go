package session

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"forgekernel/kernel/link"
)

// A fault of the kernel's own code fails the frame that met it.
func TestFaultFailsOneFrame(t *testing.T) {
	s := &server{} // without an interpreter every use of it panics
	done := s.execute(&execution{ctx: context.Background()}, link.ExecuteRequest{Code: "1"})
	if done.Error == nil || done.Error.Name != "InternalError" || len(done.Error.Traceback) < 3 {
		t.Errorf("cell: %+v", done.Error)
	}
	ours, theirs, err := link.Pair()
	if err != nil {
		t.Fatal(err)
	}
	front := link.NewConn(ours)
	defer front.Close()
	s.conn = link.NewConn(theirs)
	defer s.conn.Close()
	stderr := os.Stderr
	os.Stderr, err = os.Open(os.DevNull) // the report of the fault is not this test's output
	if err != nil {
		t.Fatal(err)
	}
	defer func() { os.Stderr = stderr }()
	answer(s, link.Frame{Kind: link.Complete, Seq: 9, Body: []byte(`{}`)}, func(r link.CursorRequest) link.CompleteReply {
		return s.interp.Complete(r.Code, r.Cursor)
	})
	reply, err := front.Recv()
	if err != nil || reply.Kind != link.Reply || reply.Seq != 9 {
		t.Errorf("reply %+v, %v", reply, err)
	}
}

// What a goroutine starts belongs to its cell, and a cell is forgotten with its
// last goroutine.
func TestOrigins(t *testing.T) {
	var o origins
	first, second := &execution{id: 1}, &execution{id: 2}
	if o.current() != nil {
		t.Error("a goroutine of no cell belongs to one")
	}
	got := make(chan *execution)
	for _, e := range []*execution{first, second} {
		go func() {
			o.enter(e)
			go func() {
				go func() { got <- o.current() }()
			}()
		}()
		if now := <-got; now != e {
			t.Errorf("a grandchild belongs to %v, want cell %d", now, e.id)
		}
	}
	known := func() int {
		o.mu.RLock()
		defer o.mu.RUnlock()
		return len(o.byMark)
	}
	for known() > 0 { // the test's time limit is the only one
		runtime.GC()
	}
}

func TestCompleteUTF8(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{
		{"", 0}, {"abc", 3}, {"é", 2}, {"é\xc3", 2}, {"a\xe2\x82", 1}, {"a\xf0\x9f\x98", 1}, {"a😀", 5},
		{"a\xff", 2}, {"\x80\x80\x80\x80", 4}, {"\xf0\x9f", 0}, {"é\xe2é", 5},
	} {
		if got := completeUTF8([]byte(c.in)); got != c.want {
			t.Errorf("completeUTF8(%q) = %d, want %d", c.in, got, c.want)
		}
	}
}

// Much text of cells that run at once arrives whole and in order, under flow
// control, whatever pieces it was written in.
func TestLargeStreams(t *testing.T) {
	f := newFront(t)
	a := f.begin("!echo a up; read x <" + mkfifo(t, t.TempDir(), "never"))
	f.awaitText("a up")
	const lines = 60_000
	b := f.begin(fmt.Sprintf("%%%%bash\nfor ((i = 0; i < %d; i++)); do printf 'größer %%d\\n' $i; done", lines))
	done, ok := f.end(b)
	if !ok || done.Error != nil {
		t.Fatalf("alive %v, %+v", ok, done.Error)
	}
	f.conn.SendBody(link.Interrupt, 0, 0, nil)
	f.end(a)
	var got, want strings.Builder
	f.mu.Lock()
	for _, entry := range f.transcript {
		text, _ := strings.CutPrefix(entry, fmt.Sprintf("stdout of %d: ", b))
		if text != entry {
			got.WriteString(text)
		}
	}
	f.mu.Unlock()
	for i := range lines {
		fmt.Fprintf(&want, "größer %d\n", i)
	}
	if got.String() != want.String() {
		t.Errorf("%d bytes arrived of %d, or in another order", got.Len(), want.Len())
	}
}
