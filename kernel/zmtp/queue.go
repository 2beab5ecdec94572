package zmtp

import "sync"

// maxPongs bounds the PONGs that wait for a peer which pings and does not read.
const maxPongs = 16

// queue holds what waits to be written to one peer. Messages count until they
// are written, not only until they are taken. One that found the queue empty
// does not wait, and so its bytes are not held against those behind it: a
// display of any size may be followed by the status that it is over.
type queue struct {
	maxMessages int
	maxBytes    int64

	mu       sync.Mutex
	nonEmpty sync.Cond     // on mu; the writer waits
	changed  chan struct{} // closed and replaced when room appears or the queue closes
	waiting  bool          // somebody may hold changed
	messages [][][]byte
	pongs    [][]byte
	count    int // messages not yet written
	bytes    int64
	head     int64 // bytes of the message that found the queue empty, until it is written
	closed   bool  // accepts nothing more
	dead     bool  // and what it holds is not wanted
}

func newQueue(opts *Options) *queue {
	q := &queue{maxMessages: opts.QueueMessages, maxBytes: opts.QueueBytes, changed: make(chan struct{})}
	q.nonEmpty.L = &q.mu
	return q
}

func byteSize(frames [][]byte) (n int64) {
	for _, f := range frames {
		n += int64(len(f))
	}
	return n
}

// fits reports whether a message of n bytes is within the bounds stretched by
// a factor; mu is held.
func (q *queue) fits(n int64, factor int) bool {
	return q.count == 0 || q.count < q.maxMessages*factor && q.bytes-q.head+n <= q.maxBytes*int64(factor)
}

// room returns nil when a message of n bytes fits, else a channel that is
// closed when it is worth asking again. A closed queue has room: put reports it.
func (q *queue) room(n int64) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.fits(n, 1) {
		return nil
	}
	q.waiting = true
	return q.changed
}

// put appends a message if the bounds, stretched by factor, allow it.
func (q *queue) put(frames [][]byte, factor int) error {
	n := byteSize(frames)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrNoPeer
	case !q.fits(n, factor):
		return ErrStalled
	}
	if q.count == 0 {
		q.head = n
	}
	q.messages = append(q.messages, frames)
	q.count++
	q.bytes += n
	q.nonEmpty.Signal()
	return nil
}

// pong queues the answer to a PING, or drops it when too many wait.
func (q *queue) pong(context []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && len(q.pongs) < maxPongs {
		q.pongs = append(q.pongs, context)
		q.nonEmpty.Signal()
	}
}

// take moves everything that waits into batch, whose memory it reuses. It
// blocks while there is nothing, and reports false when nothing will come.
func (q *queue) take(batch [][][]byte) (messages [][][]byte, pongs [][]byte, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.messages) == 0 && len(q.pongs) == 0 && !q.closed {
		q.nonEmpty.Wait()
	}
	if q.dead || len(q.messages) == 0 && len(q.pongs) == 0 {
		return nil, nil, false
	}
	messages, q.messages = q.messages, batch[:0]
	pongs, q.pongs = q.pongs, nil
	return messages, pongs, true
}

// written releases the room of messages that take returned.
func (q *queue) written(messages int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count -= messages
	q.bytes -= bytes
	q.head = 0 // it was the first
	q.wake()
}

// close stops put; with drop what waits is forgotten, else take returns it first.
func (q *queue) close(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.dead = q.dead || drop
	q.nonEmpty.Signal()
	q.wake()
}

// wake lets those who wait for room look again; mu is held.
func (q *queue) wake() {
	if q.waiting {
		close(q.changed)
		q.changed, q.waiting = make(chan struct{}), false
	}
}
