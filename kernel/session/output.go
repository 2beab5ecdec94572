package session

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/kernel/cell"
	"forgekernel/kernel/link"
)

// cellWriter is where a cell prints. Where that leads is decided for every
// write: to the session's own stdout or stderr while the cell runs alone, so
// that prints keep their order with those of libraries and commands; else to
// the front as text that names its cell.
type cellWriter struct {
	s      *server
	cell   uint64
	stream string
}

// The streams of the process, which cells may replace in the variables.
var stdout, stderr = os.Stdout, os.Stderr

func (s *server) writer(cell uint64, stream string) io.Writer { return cellWriter{s, cell, stream} }

func (w cellWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	e := w.s.running[w.cell]
	alone := e != nil && !e.viaLink
	w.s.mu.Unlock()
	switch {
	case !alone:
		return w.s.streams.write(w.cell, w.stream, p)
	case w.stream == "stderr":
		return stderr.Write(p)
	}
	return stdout.Write(p)
}

// Flow control of Stream frames.
const (
	streamChunk  = 256 << 10 // bytes of text in one frame
	streamWindow = 64 << 10  // bytes after which a frame waits to be acknowledged
)

// streams sends text as frames. Since a frame is UTF-8, the bytes of a
// character that is not yet complete wait for the rest of it.
type streams struct {
	s       *server
	mu      sync.Mutex // held while sending: text keeps its order
	partial map[stream][]byte
	sent    int // bytes since the last acknowledgement
}

type stream struct {
	cell uint64
	name string
}

func (st *streams) write(cell uint64, name string, p []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	key := stream{cell, name}
	text := append(st.partial[key], p...)
	delete(st.partial, key)
	for len(text) > 0 {
		n := completeUTF8(text[:min(len(text), streamChunk)])
		if n == 0 {
			if st.partial == nil {
				st.partial = make(map[stream][]byte)
			}
			st.partial[key] = text
			break
		}
		if err := st.send(key, string(text[:n])); err != nil {
			return 0, err
		}
		text = text[n:]
	}
	return len(p), nil
}

func (st *streams) send(key stream, text string) error {
	body := link.StreamText{Name: key.name, Text: text}
	if st.sent += len(text); st.sent < streamWindow {
		return st.s.conn.SendBody(link.Stream, key.cell, 0, body)
	}
	st.sent = 0
	_, err := st.s.calls.call(st.s.cellContext(key.cell), link.Stream, key.cell, body)
	return err
}

// flush sends what a cell has left incomplete at its end.
func (st *streams) flush(cell uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, name := range []string{"stdout", "stderr"} {
		key := stream{cell, name}
		if rest := st.partial[key]; len(rest) > 0 {
			delete(st.partial, key)
			st.send(key, string(rest))
		}
	}
}

// completeUTF8 is how much of p does not end within a character.
func completeUTF8(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		at := len(p) - back
		if !utf8.RuneStart(p[at]) {
			continue
		}
		if !utf8.FullRune(p[at:]) {
			return at
		}
		break
	}
	return len(p)
}

// cellContext is the context of a running cell; what an ended one does cannot
// be interrupted.
func (s *server) cellContext(cell uint64) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.running[cell]; e != nil {
		return e.ctx
	}
	return context.Background()
}

// sink sends the displays of one cell. It returns when the front has put the
// display behind all that was printed before.
type sink struct {
	s    *server
	cell uint64
}

func (k sink) Show(o display.Output) error {
	body := link.DisplayBody{Bundle: *wire(&o.Bundle), ID: o.ID, Update: o.Update}
	return k.call(link.Display, body)
}

func (k sink) Clear(wait bool) error { return k.call(link.Clear, link.ClearBody{Wait: wait}) }

func (k sink) call(kind link.Kind, body any) error {
	_, err := k.s.calls.call(k.s.cellContext(k.cell), kind, k.cell, body)
	return err
}

// ownSink sends displays of code that does not say for which cell.
type ownSink struct{ s *server }

func (k ownSink) Show(o display.Output) error { return sink{k.s, k.s.currentCell()}.Show(o) }

func (k ownSink) Clear(wait bool) error { return sink{k.s, k.s.currentCell()}.Clear(wait) }

// wire puts a bundle into the form of the link.
func wire(b *display.Bundle) *link.Bundle {
	if b == nil {
		return nil
	}
	data, metadata := b.Wire()
	return &link.Bundle{Data: data, Metadata: metadata}
}

// async reports an error of a goroutine whose cell has ended.
func (s *server) async(id uint64, err error) {
	lines := cell.Describe(err).Traceback
	io.WriteString(s.writer(id, "stderr"), strings.Join(lines, "\n")+"\n")
}
