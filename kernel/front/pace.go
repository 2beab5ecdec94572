package front

import "time"

// Pace of one cell's text while an output limit is set. Jupyter's server drops
// output beyond 1 MB/s over three seconds; a runaway printer is slowed below
// that, through its pipe, instead of being lost there.
const (
	paceBurst = 2 << 20
	paceRate  = 900_000 // bytes per second
)

// pace is a token bucket that starts full.
type pace struct {
	debt int64 // bytes taken and not yet paid back by time
	at   time.Time
}

// take accounts for n bytes at the time now and returns how long their writer
// should wait.
func (p *pace) take(n int, now time.Time) time.Duration {
	if !p.at.IsZero() {
		paid := int64(now.Sub(p.at).Seconds() * paceRate)
		p.debt = max(0, p.debt-paid)
	}
	p.at = now
	p.debt += int64(n)
	if over := p.debt - paceBurst; over > 0 {
		return time.Duration(float64(over) / paceRate * float64(time.Second))
	}
	return 0
}
