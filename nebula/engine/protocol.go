package engine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// kind says what a message is for. Rank 0 commands and the other ranks answer.
type kind uint16

// Kinds of messages.
const (
	kindOpen    kind = iota + 1 // sizes that all ranks have in common
	kindJoin                    // make groups with the others
	kindPrepare                 // programs to compile
	kindStep                    // rows to execute
	kindRelease                 // a request to forget
	kindPing                    // answered by kindPong at once
	kindTell                    // asks for a description or a trace, as kindTold
	kindAbort                   // the engine has failed, with the cause
	kindStop                    // the end, after all steps
	kindReady                   // opened, joined, or programs compiled
	kindPong                    // the clock and the place of a rank
	kindTold
	kindFailed // a rank has failed, with the cause
	kindStopped
	kinds
)

var kindNames = [kinds]string{"", "open", "join", "prepare", "step", "release", "ping", "tell", "abort", "stop", "ready", "pong", "told", "failed", "stopped"}

// String is the name of a kind.
func (k kind) String() string {
	if k == 0 || k >= kinds {
		return fmt.Sprintf("kind %d", uint16(k))
	}
	return kindNames[k]
}

// Bounds of payloads, in bytes. That of a step follows from the engine's sizes and
// is below maxStep.
const (
	maxWords = 1 << 10
	maxText  = 16 << 10
	maxTold  = 64 << 20
	maxStep  = 64 << 20
)

// most is the largest payload of a kind.
func (k kind) most() int {
	switch k {
	case kindStep:
		return maxStep
	case kindTold:
		return maxTold
	case kindAbort, kindFailed:
		return maxText
	}
	return maxWords
}

// A header is 32 bytes, little-endian:
//
//	0  magic     "NBLA"
//	4  version   of the protocol
//	6  kind
//	8  epoch     of the job
//	12 rank      of the sender
//	16 sequence  of messages in this direction, from 1
//	24 length    of the payload
//	28 zero
const (
	headerBytes     = 32
	magic           = 'N' | 'B'<<8 | 'L'<<16 | 'A'<<24
	protocolVersion = 2
)

type header struct {
	kind     kind
	epoch    uint32
	rank     uint32
	sequence uint64
	length   uint32
}

func (h header) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, magic)
	le.PutUint16(b[4:], protocolVersion)
	le.PutUint16(b[6:], uint16(h.kind))
	le.PutUint32(b[8:], h.epoch)
	le.PutUint32(b[12:], h.rank)
	le.PutUint64(b[16:], h.sequence)
	le.PutUint32(b[24:], h.length)
	le.PutUint32(b[28:], 0)
}

// decodeHeader reads a header, which must be of this protocol.
func decodeHeader(b []byte) (header, error) {
	le := binary.LittleEndian
	if got := le.Uint32(b); got != magic {
		return header{}, fmt.Errorf("a message begins with %#08x, not with %#08x: this is not an engine, or bytes were lost", got, uint32(magic))
	}
	if v := le.Uint16(b[4:]); v != protocolVersion {
		return header{}, fmt.Errorf("a message has version %d of the protocol; this is version %d", v, protocolVersion)
	}
	h := header{
		kind: kind(le.Uint16(b[6:])), epoch: le.Uint32(b[8:]), rank: le.Uint32(b[12:]),
		sequence: le.Uint64(b[16:]), length: le.Uint32(b[24:]),
	}
	switch {
	case h.kind == 0 || h.kind >= kinds:
		return h, fmt.Errorf("a message is of %v, which there is not", h.kind)
	case int64(h.length) > int64(h.kind.most()):
		return h, fmt.Errorf("a message %q has %d bytes; it may have %d", h.kind, h.length, h.kind.most())
	case le.Uint32(b[28:]) != 0:
		return h, fmt.Errorf("a message %q has a header that is not zero at its end", h.kind)
	}
	return h, nil
}

// Link carries the commands of rank 0 to another rank and its answers back. Close
// ends reads and writes that are under way.
type Link = io.ReadWriteCloser

// conn is one end of a link.
type conn struct {
	link   Link
	epoch  uint32
	own    int // rank of this end
	peer   int // rank of the other end
	in     *bufio.Reader
	body   []byte
	got    uint64      // messages received
	heard  atomic.Bool // since the latest look
	missed int         // looks since something was heard
	pinged atomic.Bool // the other end has given a sign of life

	mu   sync.Mutex // of what follows
	out  []byte
	sent uint64
}

func newConn(link Link, epoch uint32, own, peer int) *conn {
	return &conn{link: link, epoch: epoch, own: own, peer: peer, in: bufio.NewReaderSize(link, 16<<10)}
}

// send writes a message. It is safe for concurrent use.
func (c *conn) send(k kind, payload []byte) error {
	if len(payload) > k.most() {
		return fmt.Errorf("a message %q of %d bytes is longer than the %d that it may have", k, len(payload), k.most())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	var head [headerBytes]byte
	header{kind: k, epoch: c.epoch, rank: uint32(c.own), sequence: c.sent, length: uint32(len(payload))}.encode(head[:])
	c.out = append(append(c.out[:0], head[:]...), payload...)
	if _, err := c.link.Write(c.out); err != nil {
		return lost(c.peer, err)
	}
	return nil
}

// receive reads the next message. The payload is valid until the next call.
func (c *conn) receive() (kind, []byte, error) {
	raw, err := c.in.Peek(headerBytes)
	if err != nil {
		return 0, nil, lost(c.peer, err)
	}
	h, err := decodeHeader(raw)
	if err != nil {
		return 0, nil, &nonsense{c.peer, fmt.Errorf("from rank %d: %w", c.peer, err)}
	}
	switch {
	case h.epoch != c.epoch:
		err = fmt.Errorf("a message %q from rank %d is of epoch %d; this is epoch %d", h.kind, c.peer, h.epoch, c.epoch)
	case int64(h.rank) != int64(c.peer):
		err = fmt.Errorf("a message %q came from rank %d on the link of rank %d", h.kind, h.rank, c.peer)
	case h.sequence != c.got+1:
		err = fmt.Errorf("message %d from rank %d, %q, follows message %d: one was lost or repeated", h.sequence, c.peer, h.kind, c.got)
	}
	if err != nil {
		return 0, nil, &nonsense{c.peer, err}
	}
	c.got++
	if _, err := c.in.Discard(headerBytes); err != nil {
		return 0, nil, lost(c.peer, err)
	}
	if cap(c.body) < int(h.length) {
		c.body = make([]byte, h.length)
	}
	c.body = c.body[:h.length]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return 0, nil, lost(c.peer, err)
	}
	c.heard.Store(true)
	return h.kind, c.body, nil
}

// look notes whether the other end has been heard since the look before. One goroutine
// calls it.
func (c *conn) look() {
	if c.missed++; c.heard.Swap(false) {
		c.missed = 0
	}
}

// silence is the failure of the other end when it has been silent for so many
// deadlines, or else nil. It has two before its first sign of life, for ranks come
// from their rendezvous one after another.
func (c *conn) silence(deadline time.Duration, deadlines int) *Error {
	if !c.pinged.Load() {
		deadlines = max(2, deadlines)
	}
	if c.missed < deadlines*looks {
		return nil
	}
	silent := time.Duration(c.missed) * deadline / looks
	return &Error{Rank: c.peer, Epoch: c.epoch, Op: opHeartbeat, Err: fmt.Errorf("no sign of life for %v", silent.Round(time.Millisecond))}
}

// nonsense is what no rank of the job sends; it is laid to the one it came from.
type nonsense struct {
	peer int
	err  error
}

func (e *nonsense) Error() string { return e.err.Error() }
func (e *nonsense) Unwrap() error { return e.err }

// lostError is a link that ended: most often what follows from another failure.
type lostError struct {
	peer int
	err  error
}

func lost(peer int, err error) error {
	if errors.Is(err, io.EOF) {
		return &lostError{peer, nil}
	}
	return &lostError{peer, err}
}

func (e *lostError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("rank %d closed its link: its process has ended", e.peer)
	}
	return fmt.Sprintf("the link to rank %d broke: %v", e.peer, e.err)
}

func (e *lostError) Unwrap() error { return e.err }
