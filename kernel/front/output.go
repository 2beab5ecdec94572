package front

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Coalescing of printed text. The first text of a burst waits flushFirst; while
// the burst lasts the wait grows to flushMost, so that a loop that prints for
// seconds makes tens of messages, not hundreds.
const (
	flushFirst = 10 * time.Millisecond
	flushMost  = 50 * time.Millisecond
	flushSize  = 128 << 10 // bytes that are published at once
)

const (
	stdout = "stdout"
	stderr = "stderr"
)

// cellOutput is the text of one cell on its way to IOPub. It merges what is
// printed into few messages, keeps the order of the two streams, completes
// UTF-8 sequences and enforces the cell's limit. It lives on after its cell,
// for what goroutines print later.
type cellOutput struct {
	publish func(stream, text string) // waits while IOPub is full
	limit   func() int64              // bytes; 0 is none

	mu        sync.Mutex
	stream    string // of pending
	pending   []byte
	partial   map[string][]byte // incomplete UTF-8 at the end of a stream
	total     int64
	truncated bool
	pace      pace
	timer     *time.Timer
	wait      time.Duration
	flushed   time.Time
}

func newCellOutput(limit func() int64, publish func(stream, text string)) *cellOutput {
	return &cellOutput{publish: publish, limit: limit, partial: map[string][]byte{}, wait: flushFirst}
}

// write adds text and returns how long its writer should wait before the next.
func (o *cellOutput) write(stream string, text []byte) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	limit := o.limit()
	if limit <= 0 {
		o.add(stream, text)
		return 0
	}
	if o.truncated {
		return 0
	}
	if room := limit - o.total; int64(len(text)) > room {
		o.add(stream, text[:len(validPrefix(string(text), int(max(0, room))))])
		o.truncated = true
		o.partial[stream] = nil
		o.add(stderr, []byte(truncationNote(limit)))
		o.emit()
		return 0
	}
	o.add(stream, text)
	return o.pace.take(len(text), time.Now())
}

func truncationNote(limit int64) string {
	return fmt.Sprintf("\n[This cell has printed %s, its limit. The rest of its text is discarded; %%config output_limit=0 lifts the limit.]\n", bytesText(limit))
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// flush publishes what is pending, before anything that must come after it.
// At the end of a cell, final gives up waiting for the rest of a code point.
func (o *cellOutput) flush(final bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.emit()
	if !final {
		return
	}
	for _, stream := range []string{stdout, stderr} {
		if rest := o.partial[stream]; len(rest) > 0 {
			o.partial[stream] = nil
			o.publish(stream, strings.ToValidUTF8(string(rest), "\uFFFD"))
		}
	}
}

// unprinted takes back pending text of a stream.
func (o *cellOutput) unprinted(stream string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream != stream {
		return nil
	}
	text := o.pending
	o.pending = nil
	o.total -= int64(len(text))
	return text
}

// add appends text to what is pending; o.mu is held.
func (o *cellOutput) add(stream string, text []byte) {
	if len(text) == 0 {
		return
	}
	o.total += int64(len(text))
	if o.stream != stream {
		o.emit()
		o.stream = stream
	}
	for len(text) > 0 {
		n := min(len(text), max(flushSize-len(o.pending), 1))
		o.append(stream, text[:n])
		text = text[n:]
		if len(o.pending) >= flushSize {
			o.emit()
		}
	}
	if len(o.pending) > 0 && o.timer == nil {
		o.schedule()
	}
}

// append adds bytes to pending and holds back an incomplete code point.
func (o *cellOutput) append(stream string, text []byte) {
	if held := o.partial[stream]; len(held) > 0 {
		o.pending = append(o.pending, held...)
		o.partial[stream] = nil
	}
	o.pending = append(o.pending, text...)
	if n := incompleteTail(o.pending); n > 0 {
		cut := len(o.pending) - n
		o.partial[stream] = append([]byte(nil), o.pending[cut:]...)
		o.pending = o.pending[:cut]
	}
}

// schedule sets the timer of the next flush: soon for the first text after a
// pause, later while text keeps coming.
func (o *cellOutput) schedule() {
	if time.Since(o.flushed) < 2*flushMost {
		o.wait = min(o.wait*3/2, flushMost)
	} else {
		o.wait = flushFirst
	}
	o.timer = time.AfterFunc(o.wait, func() { o.flush(false) })
}

// emit publishes pending text; o.mu is held, so that the order stays.
func (o *cellOutput) emit() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	if len(o.pending) == 0 {
		return
	}
	text := strings.ToValidUTF8(string(o.pending), "\uFFFD")
	o.pending = o.pending[:0]
	o.flushed = time.Now()
	o.publish(o.stream, text)
}

// incompleteTail is the number of bytes at the end of text that begin a code
// point without ending it.
func incompleteTail(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// validPrefix cuts s to at most n bytes without splitting a code point.
func validPrefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
