package collective

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"forgekernel/nebula/mesh"
)

// Messages of a control stream: a byte that says which, the length of what
// follows in two, and that.
const (
	sayGroup = 1 + iota // first: what group this is
	sayAbort
	sayLate
	sayLeave // last
)

// maxText bounds a message.
const maxText = 8 << 10

// control is the stream beside a link, for what happens outside of calls. Nothing
// in it waits for a ring, so that an abort and the end of a rank are seen at once.
type control struct {
	*mesh.Stream
	rank int // of the group, at the other end
	mu   sync.Mutex
}

func (c *control) finish(time.Time) {}
func (c *control) close()           { c.Stream.Close() }

// say writes a message.
func (c *control) say(kind byte, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = b[:min(len(b), maxText)]
	_, err := c.Write(append(binary.LittleEndian.AppendUint16([]byte{kind}, uint16(len(b))), b...))
	return err
}

// hear reads a message.
func (c *control) hear() (kind byte, b []byte, err error) { return readMessage(c) }

func readMessage(r io.Reader) (kind byte, b []byte, err error) {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint16(head[1:])
	if n > maxText {
		return 0, nil, fmt.Errorf("a message of %d bytes, where %d are the most", n, maxText)
	}
	b = make([]byte, n)
	_, err = io.ReadFull(r, b)
	return head[0], b, err
}

// compare tells the other rank what group this is and hears the same.
func (c *control) compare(group string, here, there int) error {
	if err := c.say(sayGroup, []byte(group)); err != nil {
		return err
	}
	kind, b, err := c.hear()
	if err != nil {
		return err
	}
	if kind != sayGroup || string(b) != group {
		return &reason{kind: ErrDiverged, text: fmt.Sprintf("rank %d makes %s, rank %d makes %s", here, group, there, b)}
	}
	return nil
}

// abort implements [post].
func (c *control) abort(e *Error) {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // a rank that is stopped does not read
	_ = c.say(sayAbort, e.notice().encode())            // if it cannot be told, it has died or will know by its deadline
}

// late implements [post].
func (c *control) late(rank int) {
	_ = c.SetWriteDeadline(time.Now().Add(grace))
	_ = c.say(sayLate, binary.LittleEndian.AppendUint16(nil, uint16(rank)))
}

// leave implements [post].
func (c *control) leave() {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_ = c.say(sayLeave, nil)
}

// listen tells the group what the other rank says, until it leaves or dies.
func (c *control) listen(g *group) {
	for {
		kind, b, err := c.hear()
		var lost *mesh.Lost
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.As(err, &lost):
			g.lost(c.rank, lost.Err)
			return
		case err != nil:
			g.fail(c.rank, &reason{kind: ErrDiverged, text: fmt.Sprintf("rank %d sends %v", g.members[c.rank], err)})
			return
		case kind == sayLeave:
			g.gone(c.rank)
			return
		case kind == sayAbort:
			n, ok := parseNotice(b)
			if !ok {
				n.text = "for a reason that cannot be read"
			}
			g.aborted(c.rank, n)
		case kind == sayLate && len(b) == 2 && int(binary.LittleEndian.Uint16(b)) < len(g.members):
			g.heardLate(c.rank, int(binary.LittleEndian.Uint16(b)))
		default:
			g.fail(c.rank, &reason{kind: ErrDiverged, text: fmt.Sprintf("rank %d sends message %d, which has no meaning", g.members[c.rank], kind)})
			return
		}
	}
}

func (n notice) encode() []byte {
	b := binary.LittleEndian.AppendUint32([]byte{n.kind}, uint32(int32(n.peer)))
	return append(b, n.text...)
}

func parseNotice(b []byte) (n notice, ok bool) {
	if len(b) < 5 || int(b[0]) >= len(kinds) {
		return notice{peer: -1}, false
	}
	n = notice{b[0], int(int32(binary.LittleEndian.Uint32(b[1:]))), string(b[5:])}
	return n, n.peer >= -1 && n.peer < mesh.MaxSize
}
