package zmtp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// Sizes of ZMTP 3.0 and what we allow before a peer has proved to speak it.
const (
	greetingSize = 64
	maxReady     = 4 << 10 // body of the READY command
	maxCommand   = 4 << 10 // body of a later command: a topic or a PING context

	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// errGuard is wrapped by everything that the guard refuses.
var errGuard = errors.New("zmtp: refused")

// largeMessage is the size from which a message needs room in the pool.
const largeMessage = 1 * mib

// pool is the memory that large messages of all peers of a socket share while
// they are received. Small ones need none of it, so a peer that occupies it all
// cannot keep out ordinary requests.
type pool struct {
	max  int64
	used atomic.Int64
}

func (p *pool) take(n int64) bool {
	if p.used.Add(n) <= p.max {
		return true
	}
	p.give(n)
	return false
}

func (p *pool) give(n int64) { p.used.Add(-n) }

// guard is the net.Conn below a zmq4.Conn. Towards the peer it is careful
// (package comment); towards Conn it is a well-behaved stream of message
// frames.
//
// It is read by one goroutine and written by one; until the handshake is over
// these are the same.
type guard struct {
	net.Conn
	limits Limits
	pool   *pool
	// command is told of each command after READY, in the reader's goroutine.
	// body is only valid during the call.
	command func(name string, body []byte)

	in       *bufio.Reader
	greeting int  // bytes of the greeting still to come
	ready    bool // READY has been passed on
	frames   int  // of the current message
	size     int64
	taken    int64  // from the pool, until handOver
	head     []byte // header of the current frame, not yet read by Conn
	headBuf  [9]byte
	staged   []byte // start of the current frame's body, read ahead
	body     int64  // bytes of the current frame not yet read by Conn

	out gather
}

func newGuard(conn net.Conn, limits Limits, shared *pool, command func(string, []byte)) *guard {
	return &guard{
		Conn: conn, limits: limits, pool: shared, command: command,
		in: bufio.NewReaderSize(conn, 32<<10), greeting: greetingSize,
	}
}

// Read implements io.Reader for zmq4.Conn.
func (g *guard) Read(p []byte) (int, error) {
	if g.greeting > 0 || !g.ready {
		// Conn alternates in the handshake: what it wrote must be out before it waits.
		if err := g.out.flush(g.Conn); err != nil {
			return 0, err
		}
	}
	if g.greeting > 0 {
		n, err := g.in.Read(p[:min(len(p), g.greeting)])
		g.greeting -= n
		return n, err
	}
	if len(g.head) == 0 && g.body == 0 {
		if err := g.nextFrame(); err != nil {
			return 0, err
		}
	}
	if len(g.head) > 0 {
		n := copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	p = p[:min(int64(len(p)), g.body)]
	var n int
	var err error
	if len(g.staged) > 0 {
		n = copy(p, g.staged)
		if g.staged = g.staged[n:]; len(g.staged) == 0 {
			g.staged = nil
		}
	} else {
		n, err = g.in.Read(p)
	}
	g.body -= int64(n)
	return n, err
}

// nextFrame reads up to the body of the next frame that Conn shall see.
func (g *guard) nextFrame() error {
	for {
		flags, size, err := g.readHeader()
		if err != nil {
			return err
		}
		switch isCommand := flags&flagCommand != 0; {
		case flags&^(flagMore|flagLong|flagCommand) != 0:
			return fmt.Errorf("%w: reserved flag bits %#x", errGuard, flags)
		case isCommand && flags&flagMore != 0:
			return fmt.Errorf("%w: command in several frames", errGuard)
		case !g.ready:
			if !isCommand || size > maxReady {
				return fmt.Errorf("%w: instead of READY a frame with flags %#x and %d bytes", errGuard, flags, size)
			}
			g.ready = true
			g.body = int64(size)
			return nil
		case isCommand:
			// libzmq sends a PING between the frames of a message, too.
			if err := g.readCommand(size); err != nil {
				return err
			}
		default:
			return g.admit(flags, size)
		}
	}
}

// readHeader reads a frame header and keeps it in head.
func (g *guard) readHeader() (flags byte, size uint64, err error) {
	h := g.headBuf[:2]
	if _, err := io.ReadFull(g.in, h); err != nil {
		return 0, 0, err
	}
	flags, size = h[0], uint64(h[1])
	if flags&flagLong != 0 {
		h = g.headBuf[:9]
		if _, err := io.ReadFull(g.in, h[2:]); err != nil {
			return 0, 0, unexpected(err)
		}
		size = binary.BigEndian.Uint64(h[1:])
	}
	g.head = h
	return flags, size, nil
}

func (g *guard) readCommand(size uint64) error {
	g.head = nil
	if size == 0 || size > maxCommand {
		return fmt.Errorf("%w: command of %d bytes", errGuard, size)
	}
	buf := make([]byte, size)
	if _, err := io.ReadFull(g.in, buf); err != nil {
		return unexpected(err)
	}
	n := 1 + int(buf[0])
	if n > len(buf) {
		return fmt.Errorf("%w: command name of %d bytes in %d", errGuard, n-1, size)
	}
	g.command(string(buf[1:n]), buf[n:])
	return nil
}

// admit checks a message frame against the limits.
func (g *guard) admit(flags byte, size uint64) error {
	if size > uint64(g.limits.Frame) {
		return fmt.Errorf("%w: frame of %d bytes, at most %d", errGuard, size, g.limits.Frame)
	}
	g.frames++
	g.size += int64(size)
	if g.frames > g.limits.Frames {
		return fmt.Errorf("%w: message of more than %d frames", errGuard, g.limits.Frames)
	}
	if g.size > g.limits.Message {
		return fmt.Errorf("%w: message of more than %d bytes", errGuard, g.limits.Message)
	}
	if g.size > largeMessage {
		if !g.pool.take(g.size - g.taken) {
			return fmt.Errorf("%w: message of %d bytes while others occupy the %d for large ones", errGuard, g.size, g.pool.max)
		}
		g.taken = g.size
	}
	if flags&flagMore == 0 {
		g.frames, g.size = 0, 0
	}
	g.body = int64(size)
	return g.stage()
}

// handOver returns what the last message took from the pool; the caller has to
// give it back.
func (g *guard) handOver() int64 {
	n := g.taken
	g.taken = 0
	return n
}

// stageAbove is the size from which a frame is read ahead: Conn allocates what
// a header announces, so a peer could claim much and send nothing.
const stageAbove = 1 * mib

// stage reads the body of a large frame into a buffer that grows with what
// arrives, and only then lets Conn see the header.
func (g *guard) stage() error {
	if g.body <= stageAbove {
		return nil
	}
	buf := make([]byte, stageAbove)
	for have := 0; ; {
		n, err := io.ReadFull(g.in, buf[have:])
		if err != nil {
			return unexpected(err)
		}
		have += n
		if int64(have) == g.body {
			g.staged = buf
			return nil
		}
		grown := make([]byte, min(2*int64(have), g.body))
		copy(grown, buf)
		buf = grown
	}
}

// unexpected turns an end of stream inside a frame into an error of its own.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Write implements io.Writer for zmq4.Conn, which writes a frame in pieces. It
// keeps p itself when it is long, so the caller must flush before it changes p.
func (g *guard) Write(p []byte) (int, error) {
	g.out.add(p)
	return len(p), nil
}
