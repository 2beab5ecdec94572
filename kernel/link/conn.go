package link

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"forgekernel/nebula/proc"
)

// firstRead bounds what Recv allocates before any content of a frame arrived;
// the buffer then doubles as content keeps coming. An announced length alone
// therefore costs nothing.
const firstRead = 64 << 10

// keepBuffer is the largest encoding buffer that a Conn keeps between frames.
const keepBuffer = 1 << 20

// ErrTooLarge reports a frame beyond [MaxFrame]. A sender's connection stays
// usable: nothing was written.
var ErrTooLarge = errors.New("frame is larger than 256 MiB")

// Conn is one end of the conversation. Any number of goroutines may send; one
// receives.
type Conn struct {
	rw io.ReadWriteCloser

	send   sync.Mutex
	buf    []byte
	broken error // a failed write leaves the stream out of step

	head [4]byte // of the frame being received
}

// NewConn wraps a stream, such as an end of [Pair] as *os.File or net.Conn.
func NewConn(rw io.ReadWriteCloser) *Conn { return &Conn{rw: rw} }

// Pair makes a connected pair of stream sockets. Both ends close on exec; the
// front passes one to the session through exec.Cmd's ExtraFiles.
func Pair() (front, session *os.File, err error) {
	return proc.Sockets("link")
}

// Close ends the conversation; a blocked Recv returns.
func (c *Conn) Close() error { return c.rw.Close() }

// SendBody sends a frame whose body is the JSON of body; a nil body is left
// out.
func (c *Conn) SendBody(kind Kind, cell, seq uint64, body any) error {
	f := Frame{Kind: kind, Cell: cell, Seq: seq}
	if body != nil {
		raw, err := encode(body)
		if err != nil {
			return fmt.Errorf("%s frame: %w", kind, err)
		}
		f.Body = raw
	}
	return c.Send(f)
}

// encode leaves HTML as it is: escapes would multiply the size of a page.
func encode(body any) (json.RawMessage, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Send writes one frame with one write. Frames of one goroutine arrive in
// order. After a write has failed every later Send returns its error.
func (c *Conn) Send(f Frame) error {
	c.send.Lock()
	defer c.send.Unlock()
	if c.broken != nil {
		return c.broken
	}
	buf, err := appendFrame(c.buf[:0], f)
	if err != nil {
		return err
	}
	if cap(buf) <= keepBuffer {
		c.buf = buf
	} else {
		c.buf = nil
	}
	if _, err := c.rw.Write(buf); err != nil {
		c.broken = fmt.Errorf("send %s: %w", f.Kind, err)
	}
	return c.broken
}

// appendFrame encodes f. The body is JSON already and is copied as it stands:
// encoding the whole Frame would parse a large display once more.
func appendFrame(buf []byte, f Frame) ([]byte, error) {
	if len(f.Body) > MaxFrame { // spares copying what cannot be sent
		return nil, ErrTooLarge
	}
	body := f.Body
	f.Body = nil
	envelope, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	buf = append(buf, 0, 0, 0, 0)
	if len(body) == 0 {
		buf = append(buf, envelope...)
	} else {
		buf = append(buf, envelope[:len(envelope)-1]...)
		buf = append(buf, `,"body":`...)
		buf = append(buf, body...)
		buf = append(buf, '}')
	}
	n := len(buf) - 4
	if n > MaxFrame {
		return nil, ErrTooLarge
	}
	binary.BigEndian.PutUint32(buf, uint32(n))
	return buf, nil
}

// Recv returns the next frame. It returns io.EOF when the other end closed
// between frames; after any error the stream is out of step and only Close
// remains.
func (c *Conn) Recv() (Frame, error) {
	if _, err := io.ReadFull(c.rw, c.head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(c.head[:])
	if n > MaxFrame {
		return Frame{}, fmt.Errorf("receive: %w", ErrTooLarge)
	}
	raw, err := readN(c.rw, int(n))
	if err != nil {
		return Frame{}, fmt.Errorf("receive: %w", err)
	}
	return parseFrame(raw)
}

// readN reads n bytes and never holds more than twice what has arrived plus
// firstRead.
func readN(r io.Reader, n int) ([]byte, error) {
	buf := make([]byte, min(n, firstRead))
	for got := 0; ; {
		if _, err := io.ReadFull(r, buf[got:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if got = len(buf); got == n {
			return buf, nil
		}
		grown := make([]byte, min(n, 2*got))
		copy(grown, buf)
		buf = grown
	}
}

func parseFrame(raw []byte) (Frame, error) {
	if !json.Valid(raw) {
		return Frame{}, errors.New("receive: malformed frame: not JSON")
	}
	members, err := Members(raw)
	if err != nil {
		return Frame{}, fmt.Errorf("receive: malformed frame: %w", err)
	}
	f := Frame{Body: members["body"]}
	for name, field := range map[string]any{"kind": &f.Kind, "cell": &f.Cell, "seq": &f.Seq} {
		if value := members[name]; value != nil {
			if err := json.Unmarshal(value, field); err != nil {
				return Frame{}, fmt.Errorf("receive: malformed frame: %s: %w", name, err)
			}
		}
	}
	if f.Kind == "" {
		return Frame{}, errors.New("receive: malformed frame: no kind")
	}
	return f, nil
}

// Decode returns the body of f as a T, such as ExecuteRequest for an Execute
// frame.
func Decode[T any](f Frame) (T, error) {
	var v T
	if len(f.Body) == 0 {
		return v, fmt.Errorf("%s frame has no body", f.Kind)
	}
	if err := json.Unmarshal(f.Body, &v); err != nil {
		return v, fmt.Errorf("%s frame: %w", f.Kind, err)
	}
	return v, nil
}
