package front

import (
	"context"
	"sync"
	"time"

	"forgekernel/kernel/wire"
)

// After an interrupt a cell's reply must not wait for a client that does not
// read. One that reads has made room within hurryTime; what still finds none is
// published regardless up to hurryBytes, more than pipes and link hold of a cell
// that has ended, and beyond that discarded.
const (
	hurryTime  = 500 * time.Millisecond
	hurryBytes = 1 << 20
)

const discardNote = "\n[Output was discarded: the cell is being ended, and a front end does not read what is published.]\n"

// target is where a cell's output goes: its text, merged, and its displays,
// all with the cell's request as parent.
type target struct {
	*cellOutput
	iopub    *iopub
	parent   *wire.Message
	patience context.Context // for clients that are behind
	excess   excess
}

// show publishes what the cell shows.
func (t *target) show(msgType string, content any) {
	frames := t.iopub.frames(msgType, t.parent, content)
	if frames == nil || t.iopub.output(t.patience, frames) {
		return
	}
	switch fits, first := t.excess.take(byteSize(frames)); {
	case fits:
		t.iopub.framesNow(frames)
	case first:
		t.iopub.now("stream", t.parent, wire.Stream{Name: stderr, Text: discardNote})
	}
}

// excess counts what is published although there is no room for it.
type excess struct {
	mu        sync.Mutex
	bytes     int
	exhausted bool
}

// take asks for n bytes. Once they do not fit nothing does, for a gap would not
// be seen; first is set on that occasion.
func (x *excess) take(n int) (fits, first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.exhausted {
		return false, false
	}
	x.bytes += n
	x.exhausted = x.bytes > hurryBytes
	return !x.exhausted, x.exhausted
}
