package session

import (
	"context"
	"sync"

	"forgekernel/kernel/link"
)

// calls pairs frames that the session sends with the front's answers.
type calls struct {
	conn    *link.Conn
	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan link.Frame
}

// call sends a frame and waits for its answer or the end of ctx.
func (c *calls) call(ctx context.Context, kind link.Kind, cell uint64, body any) (link.Frame, error) {
	reply := make(chan link.Frame, 1)
	c.mu.Lock()
	if c.waiting == nil {
		c.waiting = make(map[uint64]chan link.Frame)
	}
	c.seq++
	seq := c.seq
	c.waiting[seq] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, seq)
		c.mu.Unlock()
	}()
	if err := c.conn.SendBody(kind, cell, seq, body); err != nil {
		return link.Frame{}, err
	}
	select {
	case f := <-reply:
		return f, nil
	case <-ctx.Done():
		return link.Frame{}, context.Cause(ctx)
	}
}

// answer hands an Ack or Input to the call that waits for it. One that came too
// late is dropped.
func (c *calls) answer(f link.Frame) {
	c.mu.Lock()
	reply := c.waiting[f.Seq]
	delete(c.waiting, f.Seq)
	c.mu.Unlock()
	if reply != nil {
		reply <- f
	}
}
