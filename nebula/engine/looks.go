package engine

import (
	"math"
	"sync/atomic"
	"time"
)

// looks is how many parts a deadline has: how often within it a rank looks at what has to
// happen. Looks are counted, not time, which also passes while this process, or its
// machine, stands still, and with it what is waited for.
const looks = 8

// later calls f when d is over, unless the result is called before.
func later(d time.Duration, f func()) (stop func()) {
	left := looks
	var stopped atomic.Bool // for a look may be under way that would set the timer again
	var t *time.Timer
	t = time.AfterFunc(math.MaxInt64, func() {
		switch left--; {
		case stopped.Load():
		case left > 0:
			t.Reset(d / looks)
		default:
			f()
		}
	})
	t.Reset(d / looks)
	return func() {
		stopped.Store(true)
		t.Stop()
	}
}

// countdown is a channel that is closed when d is over, and its end before that.
func countdown(d time.Duration) (late <-chan struct{}, stop func()) {
	over := make(chan struct{})
	return over, later(d, func() { close(over) })
}
