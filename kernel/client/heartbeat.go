package client

import (
	"context"
	"fmt"
	"time"
)

// beatInterval is the time between heartbeats.
const beatInterval = time.Second

// monitor sends heartbeats and declares the kernel dead when none is answered
// for the limit.
func (c *Client) monitor() {
	last := time.Now()
	for n := 0; ; n++ {
		ctx, cancel := context.WithTimeout(c.alive, c.opts.HeartbeatLimit)
		_, err := c.beat.Request(ctx, fmt.Append(nil, n))
		cancel()
		if err == nil {
			last = time.Now()
		} else if time.Since(last) >= c.opts.HeartbeatLimit {
			c.fail(&DeadError{Reason: fmt.Sprintf("no heartbeat for %v", c.opts.HeartbeatLimit)})
		}
		if !c.pause(min(beatInterval, c.opts.HeartbeatLimit/4)) {
			return
		}
	}
}

// pause waits and reports whether the client is still alive.
func (c *Client) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.alive.Done():
		return false
	}
}

// lastWords gives messages that a kernel sent just before it ended time to
// arrive.
func (c *Client) lastWords() {
	const step, limit = 5 * time.Millisecond, 250 * time.Millisecond
	for waited := time.Duration(0); waited < limit; waited += step {
		c.mu.Lock()
		quiet := len(c.calls) == 0 && len(c.cells) == 0
		c.mu.Unlock()
		if quiet || !c.pause(step) {
			return
		}
	}
}
