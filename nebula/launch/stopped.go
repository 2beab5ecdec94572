package launch

import (
	"time"

	"forgekernel/nebula/proc"
)

// looks is how often ranks are looked at within [Spec.Stopped]. Sightings are counted,
// not time, which also passes while this process is stopped.
const looks = 8

// stopped is the state of a process that SIGSTOP, or another signal like it, has stopped.
const stopped = 'T'

// endStopped ends ranks that stay stopped for so long: to all others they look like ranks
// that are slow, and only this process can tell.
func (r *Ranks) endStopped(limit time.Duration) {
	tick := time.NewTicker(max(limit/looks, time.Millisecond))
	defer tick.Stop()
	seen := make([]int, len(r.procs))
	for {
		select {
		case <-r.gone:
			return
		case <-tick.C:
		}
		for i, p := range r.procs {
			if s, err := proc.Read(p.id.PID); err != nil || s.ID != p.id || s.State != stopped {
				seen[i] = 0
				continue
			}
			if seen[i]++; seen[i] == looks {
				p.endStopped(limit)
			}
		}
	}
}

// endStopped ends a rank that has been stopped for so long.
func (p *process) endStopped(limit time.Duration) {
	p.mu.Lock()
	p.stopped = limit
	p.mu.Unlock()
	p.kill()
}
