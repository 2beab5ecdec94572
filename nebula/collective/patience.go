package collective

import (
	"context"
	"time"
)

// WithTimeout is ctx for calls that are bounded by d in place of [Options.Timeout],
// because a rank that they wait for has much to compute first.
func WithTimeout(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, timeoutKey{}, d)
}

type timeoutKey struct{}

// timeout bounds the call that is under way.
func (g *group) timeout() time.Duration {
	if d, ok := g.ctx.Value(timeoutKey{}).(time.Duration); ok {
		return d
	}
	return g.options.Timeout
}
