package engine

import (
	"math"
	"time"
)

// looks is how many parts a deadline has: how often within it a rank looks at what has to
// happen. Looks are counted, not time, which also passes while this process, or its
// machine, stands still, and with it what is waited for.
const looks = 8

// later calls f when d is over, unless it is stopped.
func later(d time.Duration, f func()) *time.Timer {
	left := looks
	var t *time.Timer
	t = time.AfterFunc(math.MaxInt64, func() {
		if left--; left > 0 {
			t.Reset(d / looks)
			return
		}
		f()
	})
	t.Reset(d / looks)
	return t
}

// countdown is a channel that is closed when d is over, and its end before that.
func countdown(d time.Duration) (late <-chan struct{}, stop func() bool) {
	over := make(chan struct{})
	return over, later(d, func() { close(over) }).Stop
}
