package webgpu

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxMessage is the limit of the bytes of a message, and that of its text.
const maxMessage = 1 << 30

// hello is the first message of a child.
type hello struct {
	Adapter  string   `json:"adapter"`
	Features []string `json:"features"`
	reply
}

// reply is the answer to a plan.
type reply struct {
	Error *Error `json:"error"`
}

func (r *reply) failure() *Error { return r.Error }

func size(payload [][]byte) (n int) {
	for _, b := range payload {
		n += len(b)
	}
	return n
}

// send writes a message.
func (c *child) send(message any, payload [][]byte) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(text) > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(text))
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	head = binary.LittleEndian.AppendUint32(head, uint32(size(payload)))
	for _, part := range append([][]byte{head, text}, payload...) {
		if _, err := c.in.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// receive reads a message, see [readMessage].
func (c *child) receive(message interface{ failure() *Error }, payload [][]byte) error {
	return readMessage(c.out, message, payload)
}

// readMessage reads a message whose bytes fill the payload exactly. One that tells a
// failure has none, and is returned as its [*Error].
func readMessage(r io.Reader, message interface{ failure() *Error }, payload [][]byte) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	length, bulk := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if length > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", length)
	}
	var text bytes.Buffer // grows with what comes, not with what is announced
	if _, err := io.CopyN(&text, r, int64(length)); err != nil {
		return cut(err)
	}
	if err := json.Unmarshal(text.Bytes(), message); err != nil {
		return err
	}
	e := message.failure()
	if e != nil {
		payload = nil
	}
	if n := size(payload); int(bulk) != n {
		return fmt.Errorf("a message with %d bytes where there are %d", bulk, n)
	}
	for _, b := range payload {
		if _, err := io.ReadFull(r, b); err != nil {
			return cut(err)
		}
	}
	if e != nil {
		return e
	}
	return nil
}

// cut is the error of a message that ends early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
