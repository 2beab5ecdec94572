package launch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/proc"
)

// Kind says what a frame holds. Kinds below [FirstKind] are this package's own.
type Kind uint8

const (
	kindAssignment Kind = 1 + iota // to a rank, and first: JSON of [assignment]
	kindStop                       // to a rank: finish and exit

	// FirstKind is the first kind whose meaning the users of a channel define.
	FirstKind Kind = 16
)

const (
	// MaxFrame bounds the body of a frame, in bytes.
	MaxFrame = 1 << 20

	// SendTimeout bounds a Send whose context has no deadline.
	SendTimeout = 10 * time.Second

	channelVersion = 1
	headerSize     = 8 // 'N', 'R', version, kind, length of the body (big endian)
)

// Frame is one message on a control channel.
type Frame struct {
	Kind Kind
	Body []byte
}

// Channel carries frames between a rank and the process that started it. Any
// number of goroutines may send; one receives.
type Channel struct {
	file *os.File

	send   sync.Mutex
	broken error // a frame that was cut leaves the stream out of step
}

// channelPair makes both ends. They close on exec, so that no rank holds an end
// of another's channel open.
func channelPair() (ours *Channel, theirs *os.File, err error) {
	end, theirs, err := proc.Sockets("control channel")
	if err != nil {
		return nil, nil, err
	}
	return &Channel{file: end}, theirs, nil
}

// Send writes one frame before ctx ends. A receiver that reads nothing makes it
// fail then; after a failure that cut a frame every later Send returns it.
func (c *Channel) Send(ctx context.Context, f Frame) error {
	if f.Kind < FirstKind {
		return fmt.Errorf("frame of kind %d: kinds below %d are reserved", f.Kind, FirstKind)
	}
	return c.write(ctx, f)
}

func (c *Channel) write(ctx context.Context, f Frame) error {
	if len(f.Body) > MaxFrame {
		return fmt.Errorf("frame of %d bytes: the limit is %d", len(f.Body), MaxFrame)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(SendTimeout)
	}
	raw := make([]byte, headerSize, headerSize+len(f.Body))
	raw[0], raw[1], raw[2], raw[3] = 'N', 'R', channelVersion, byte(f.Kind)
	binary.BigEndian.PutUint32(raw[4:], uint32(len(f.Body)))

	c.send.Lock()
	defer c.send.Unlock()
	if c.broken != nil {
		return c.broken
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := c.writeWithin(ctx, deadline, append(raw, f.Body...))
	if err == nil {
		return nil
	}
	err = fmt.Errorf("control channel: %w", err)
	if n > 0 {
		c.broken = err
	}
	return err
}

// writeWithin writes until the deadline or the end of ctx.
func (c *Channel) writeWithin(ctx context.Context, deadline time.Time, raw []byte) (n int, err error) {
	c.file.SetWriteDeadline(deadline)
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.file.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err = c.file.Write(raw)
	if !stop() {
		<-interrupted // it may not meet the deadline of the next frame
		if err != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
	}
	return n, err
}

// Recv returns the next frame: io.EOF when the other end was closed between
// frames. After an error nothing more can be received.
func (c *Channel) Recv() (Frame, error) { return readFrame(c.file) }

func readFrame(r io.Reader) (Frame, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, os.ErrClosed) {
			return Frame{}, io.EOF
		}
		return Frame{}, fmt.Errorf("control channel: %w", err)
	}
	n := binary.BigEndian.Uint32(head[4:])
	switch {
	case head[0] != 'N' || head[1] != 'R':
		return Frame{}, fmt.Errorf("control channel: %#x begins no frame", head[:2])
	case head[2] != channelVersion:
		return Frame{}, fmt.Errorf("control channel: the other end speaks version %d, this one version %d", head[2], channelVersion)
	case head[3] == 0:
		return Frame{}, errors.New("control channel: a frame of kind 0")
	case n > MaxFrame:
		return Frame{}, fmt.Errorf("control channel: a frame of %d bytes; the limit is %d", n, MaxFrame)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return Frame{}, fmt.Errorf("control channel: a frame was cut: %w", err)
	}
	return Frame{Kind(head[3]), body}, nil
}

// Close ends the conversation; a blocked Recv returns io.EOF.
func (c *Channel) Close() error { return c.file.Close() }
