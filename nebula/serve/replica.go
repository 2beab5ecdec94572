package serve

import "forgekernel/nebula/sched"

// A router can send requests to both kinds of service.
var (
	_ sched.Replica = (*Local)(nil)
	_ sched.Replica = (*Client)(nil)
)

// Pending implements [sched.Replica].
func (l *Local) Pending() int { return l.Scheduler.Pending() }

// Cached implements [sched.Replica].
func (l *Local) Cached(prompt []int32) int { return l.Scheduler.Cached(prompt) }

// Err implements [sched.Replica].
func (l *Local) Err() error { return l.Scheduler.Err() }

// Pending implements [sched.Replica]: the unfinished requests of this client.
func (k *Client) Pending() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.requests)
}

// Cached implements [sched.Replica]. The leader has the books of the cache, and a
// router asks too often to have them sent: this is a guess, by what this client has
// sent there and got from it.
func (k *Client) Cached(prompt []int32) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prefixes.Match(prompt)
}

// Err implements [sched.Replica].
func (k *Client) Err() error { return k.Cause() }
