package zmtp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// copyBelow is the size below which bytes are copied together; longer ones are
// handed to the operating system where they are.
const copyBelow = 16 << 10

// gather collects what one vectored write shall send.
type gather struct {
	stall  time.Duration // 0: none
	vec    [][]byte
	size   int
	block  []byte // memory for copies
	free   []byte // its unused tail
	joined bool   // the last element of vec ends where free begins
}

// add appends p, by reference when it is long.
func (g *gather) add(p []byte) {
	if len(p) == 0 {
		return
	}
	g.size += len(p)
	if len(p) >= copyBelow {
		g.vec = append(g.vec, p)
		g.joined = false
		return
	}
	if len(p) > len(g.free) {
		g.block = make([]byte, 2*copyBelow)
		g.free = g.block
		g.joined = false
	}
	n := copy(g.free, p)
	if g.joined {
		last := &g.vec[len(g.vec)-1]
		*last = (*last)[:len(*last)+n]
	} else {
		g.vec = append(g.vec, g.free[:n])
		g.joined = true
	}
	g.free = g.free[n:]
}

// minProgress is how many bytes a peer must accept within the stall limit. It
// is far below the slowest link, and above what a peer that only wants to hold
// us up likes to read.
const minProgress = 64 << 10

// flush writes everything. It fails with ErrStalled when the peer makes too
// little progress.
func (g *gather) flush(conn net.Conn) error {
	if g.size == 0 {
		return nil
	}
	rest := net.Buffers(g.vec)
	for len(rest) > 0 {
		if g.stall > 0 {
			if err := conn.SetWriteDeadline(time.Now().Add(g.stall)); err != nil {
				return err
			}
		}
		n, err := rest.WriteTo(conn)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late && n < minProgress {
			return fmt.Errorf("%w: %d bytes in %v", ErrStalled, n, g.stall)
		}
		if err != nil && !late {
			return err
		}
	}
	clear(g.vec) // a long message must not stay in memory
	g.vec, g.size = g.vec[:0], 0
	g.free, g.joined = g.block, false
	return nil
}
