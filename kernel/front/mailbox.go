package front

import (
	"sync"

	"forgekernel/kernel/link"
)

// mailboxBytes bounds what waits for one cell. A session that sends more
// without waiting for acknowledgements is not read on until the cell's clients
// have caught up.
const mailboxBytes = 8 << 20

// mailbox holds frames in order between two goroutines: those of one cell
// between the one that receives from the session and the one that runs the
// cell, or those on their way to the session.
type mailbox struct {
	mu      sync.Mutex
	change  sync.Cond
	frames  []link.Frame
	bytes   int
	closed  bool
	taken   uint64 // frames that get has returned
	handled uint64 // of these, before who took them asked for more
}

func newMailbox() *mailbox {
	m := &mailbox{}
	m.change.L = &m.mu
	return m
}

// put adds a frame; it waits while the mailbox is full. It reports whether the
// mailbox was open.
func (m *mailbox) put(f link.Frame) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.bytes > mailboxBytes && !m.closed {
		m.change.Wait()
	}
	return m.append(f)
}

// putNow adds a frame that must not wait.
func (m *mailbox) putNow(f link.Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.append(f)
}

// append adds a frame; m.mu is held.
func (m *mailbox) append(f link.Frame) bool {
	if m.closed {
		return false
	}
	m.frames = append(m.frames, f)
	m.bytes += len(f.Body)
	m.change.Broadcast()
	return true
}

// get returns the next frame; ok is false when there will be none.
func (m *mailbox) get() (f link.Frame, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handled = m.taken
	m.change.Broadcast()
	for len(m.frames) == 0 && !m.closed {
		m.change.Wait()
	}
	if len(m.frames) == 0 {
		return link.Frame{}, false
	}
	f = m.frames[0]
	m.frames[0] = link.Frame{}
	m.frames = m.frames[1:]
	m.bytes -= len(f.Body)
	m.taken++
	m.change.Broadcast()
	return f, true
}

// settle waits until the frames that are there now have been handled.
func (m *mailbox) settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for last := m.taken + uint64(len(m.frames)); m.handled < last && !m.closed; {
		m.change.Wait()
	}
}

// close lets get return what is left, and then nothing.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.change.Broadcast()
}
