package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"forgekernel/display"
	"forgekernel/nebula/cache"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
)

// Terms are those of a conversation.
type Terms struct {
	Opening  time.Duration // how long the leader may take to give its first sign of life
	Deadline time.Duration // how long it may be silent later
	Epoch    uint32        // of the job, for errors
	// Why is how a rank has ended that is said to be the cause of a failure; it may be
	// nil, as its result, where nothing is known.
	Why func(rank int) *launch.Exit
}

// Dial waits until the leader is ready, for as long as ctx allows, and begins the
// conversation. What the leader shows meanwhile goes to the sink of ctx.
func Dial(ctx context.Context, c Conn, t Terms) (*Client, error) {
	k := &Client{conn: c, terms: t, requests: make(map[uint64]*remote), questions: make(map[uint64]*pending), exits: make(map[int]*launch.Exit)}
	k.sink = display.SinkFrom(ctx)
	k.ctx, k.cancel = context.WithCancelCause(context.Background())
	hello := make(chan ready, 1)
	go k.receive(hello)
	late := time.AfterFunc(t.Opening, func() {
		if !k.heard.Load() {
			k.end(k.silent(t.Opening))
		}
	})
	defer late.Stop()
	go k.watch()
	var err error
	select {
	case <-k.ctx.Done():
		err = context.Cause(k.ctx)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case h := <-hello:
		return k.begun(h)
	}
	select {
	case h := <-hello: // said before it left
		return k.begun(h)
	default:
	}
	k.end(err)
	return nil, err
}

// begun is the beginning of the conversation after the leader's first word.
func (k *Client) begun(h ready) (*Client, error) {
	if err := h.Err.decode(); err != nil {
		k.end(err)
		return nil, err
	}
	k.info = *h.Info
	k.prefixes = cache.NewPrefixes(k.info.BlockSize, k.info.Blocks)
	return k, nil
}

// Refusal is what a rank said by [Refuse], if that was its first word.
func Refusal(ctx context.Context, c Conn) error {
	f, err := c.Recv(ctx)
	if err != nil {
		return nil
	}
	m, err := decode(f)
	if err != nil || m.kind != kindReady {
		return nil
	}
	r, err := firstWord(m)
	if err != nil {
		return nil
	}
	return r.Err.decode()
}

// signs is how often within the deadline a leader is asked for a sign of life.
const signs = 4

// watch ends the conversation with a leader that has given a sign of life and then
// is silent. It counts questions without an answer, not time, which also passes
// while this process is stopped.
func (k *Client) watch() {
	tick := time.NewTicker(max(k.terms.Deadline/signs, time.Millisecond))
	defer tick.Stop()
	ping := make(chan struct{}, 1)
	defer close(ping)
	go func() { // a leader that takes no frames must not hold up the count
		for range ping {
			k.tell(kindPing, 0)
		}
	}()
	for missed := 0; missed < signs; {
		if k.news.Swap(false) {
			missed = 0
		}
		if k.heard.Load() {
			select {
			case ping <- struct{}{}:
			default:
			}
			missed++
		}
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
	}
	k.end(k.silent(k.terms.Deadline))
}

// left is the end of a leader that gives no cause.
func (k *Client) left(op string, why error) error {
	return fmt.Errorf("%w: %w", ErrLeft, &engine.Error{Epoch: k.terms.Epoch, Op: op, Err: why})
}

// silent is why the conversation ends with a leader that gives no sign of life.
func (k *Client) silent(d time.Duration) error {
	return k.left("answer", fmt.Errorf("silent for %v: %w", d, collective.ErrTimeout))
}

// firstWord takes the leader's first word.
func firstWord(m message) (r ready, err error) {
	if err := json.Unmarshal(m.body, &r); err != nil {
		return r, err
	}
	if r.Err == nil && r.Info == nil {
		return r, errors.New("a leader that says nothing about itself")
	}
	return r, nil
}

// failure is the cause that the leader gives before it leaves.
type failure struct{ error }

// gone makes the reason for the end of the conversation.
func (k *Client) gone(err error) error {
	if k.ctx.Err() != nil { // it was ended here: how the other side ends does not matter
		return context.Cause(k.ctx)
	}
	if f := (failure{}); errors.As(err, &f) {
		return k.explained(f.error)
	}
	if hungUp(err) && k.terms.Why != nil {
		if exit := k.terms.Why(0); exit != nil {
			return k.left("lead", *exit)
		}
	}
	if errors.Is(err, io.EOF) {
		err = errNoWord
	}
	return k.left("lead", err)
}

// hungUp reports whether a frame did not come or go because the other end is closed.
func hungUp(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// explained adds to a failure of the job how the process of its rank has ended, where
// that says more than the failure. Only the goroutine that receives calls it.
func (k *Client) explained(err error) error {
	var cause *engine.Error
	if k.terms.Why == nil || !errors.As(err, &cause) || errors.As(err, new(launch.Exit)) {
		return err
	}
	exit, known := k.exits[cause.Rank]
	if !known {
		exit = k.terms.Why(cause.Rank)
		k.exits[cause.Rank] = exit // also that nothing is known: each request asks
	}
	if exit == nil || !exit.Abrupt() {
		return err
	}
	return fmt.Errorf("%w (%w)", err, *exit)
}

var errNoWord = errors.New("it closed the channel without a word")
