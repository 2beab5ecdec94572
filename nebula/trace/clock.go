package trace

import "time"

// Clock estimates the offset of another rank's clock from an exchange of messages:
// the other's time was read somewhere between question and answer, so that the
// exchange that took least bounds the error best. The zero Clock knows nothing.
type Clock struct {
	offset, trip time.Duration
	known        bool
}

// Exchange takes the times at which the question left and the answer came, on one's
// own clock, and the time in the answer, on the other's.
func (c *Clock) Exchange(asked, answered, theirs time.Duration) {
	trip := answered - asked
	if trip < 0 || c.known && trip >= c.trip {
		return
	}
	c.known, c.trip = true, trip
	c.offset = theirs - asked - trip/2
}

// Offset is what to subtract from a time of the other clock, and the most by which
// that is wrong.
func (c *Clock) Offset() (offset, uncertainty time.Duration) {
	return c.offset, (c.trip + 1) / 2
}
