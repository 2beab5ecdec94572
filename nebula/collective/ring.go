package collective

import (
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"
)

// line is the unit of a ring in bytes: a cache line, and an alignment that suits
// every element type and vector instruction.
const line = 64

// headSize is what a ring needs beside its bytes: one line for each of the words
// of the two sides, so that nobody's line is written by both.
const headSize = 4 * line

// ringSize is the capacity of a ring that holds n bytes.
func ringSize(n int) int {
	n = min(max(n, leastBuffer), mostBuffer)
	return 1 << bits.Len(uint(n-1))
}

// side is one end of a ring as the other end waits for it: a position, in lines
// and modulo 2^32, that its owner moves forward.
type side struct {
	position *atomic.Uint32
	asleep   *atomic.Uint32 // not 0 while the other end sleeps
	bell     chan struct{}  // wakes it, if both are in this process; else a futex does
}

// move sets the position and wakes who waits for that.
func (s *side) move(to uint32) {
	s.position.Store(to)
	if s.asleep.Load() != 0 {
		s.wake()
	}
}

func (s *side) wake() {
	if s.bell == nil {
		futexWake(s.position)
		return
	}
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// sleep returns when the position is no more what was seen, after the given time,
// or earlier. The timer is the caller's own.
func (s *side) sleep(seen uint32, d time.Duration, timer *time.Timer) {
	s.asleep.Store(1)
	defer s.asleep.Store(0)
	if s.position.Load() != seen {
		return
	}
	if s.bell == nil {
		futexWait(s.position, seen, d)
		return
	}
	timer.Reset(d)
	select {
	case <-s.bell:
		timer.Stop()
	case <-timer.C:
	}
}

// ring is a queue of bytes from one writer to one reader, in memory that may be
// shared with another process.
type ring struct {
	written, read side
	data          []byte // a power of two of bytes
}

// newRing lays a ring over memory of headSize bytes and its capacity. Memory of
// zeros is an empty ring.
func newRing(memory []byte, local bool) ring {
	word := func(i int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&memory[i*line])) }
	r := ring{
		written: side{position: word(0), asleep: word(1)},
		read:    side{position: word(2), asleep: word(3)},
		data:    memory[headSize:],
	}
	if local {
		r.written.bell, r.read.bell = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	return r
}

// localRing is a ring in this process.
func localRing(capacity int) ring {
	// Words, not bytes: the alignment of a byte slice is not promised. A large
	// allocation begins at a page.
	words := make([]uint64, (headSize+capacity)/8)
	return newRing(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), headSize+capacity), true)
}

// capacity is in lines.
func (r *ring) capacity() uint32 { return uint32(len(r.data) / line) }

// at is the ring's memory from a position on, at most n lines and not beyond the
// end of the memory.
func (r *ring) at(position, n uint32) []byte {
	from := position & (r.capacity() - 1)
	n = min(n, r.capacity()-from)
	return r.data[int(from)*line : int(from+n)*line]
}

// writer is the writing end.
type writer struct {
	ring
	next uint32 // position of the next line; what lies before it may be unpublished
}

// space is where the next bytes may be written; empty if the ring is full.
func (w *writer) space() []byte {
	return w.at(w.next, w.capacity()-min(w.pending(), w.capacity()))
}

// pending is the number of lines that the reader has not taken.
func (w *writer) pending() uint32 { return w.next - w.read.position.Load() }

// full is the reader's position when there was no space.
func (w *writer) full() uint32 { return w.next - w.capacity() }

// advance passes n bytes that were written at space, rounded up to lines.
func (w *writer) advance(n int) { w.next += lines(n) }

// publish shows the reader everything that was passed.
func (w *writer) publish() {
	if w.written.position.Load() != w.next {
		w.written.move(w.next)
	}
}

// reader is the reading end.
type reader struct {
	ring
	next uint32
}

// span is the next bytes to be read; empty if there are none.
func (r *reader) span() []byte {
	n := r.ready()
	if n > r.capacity() {
		n = 0
	}
	return r.at(r.next, n)
}

// ready is the number of lines that are there.
func (r *reader) ready() uint32 { return r.written.position.Load() - r.next }

// advance gives n bytes that were read, rounded up to lines, back to the writer.
func (r *reader) advance(n int) {
	r.next += lines(n)
	r.read.move(r.next)
}

func lines(n int) uint32 { return uint32((n + line - 1) / line) }
