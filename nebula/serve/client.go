package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"forgekernel/display"
	"forgekernel/nebula/cache"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/trace"
)

// ErrLeft is the error of requests and questions whose leader has gone without
// giving a cause. It is wrapped with an [engine.Error] of rank 0, which has what is
// known of the reason.
var ErrLeft = errors.New("the leader of the job has gone")

// maxAnswer bounds an answer, in bytes: traces are the largest.
const maxAnswer = 1 << 30

// Client is a service at the other end of a connection.
type Client struct {
	conn   Conn
	info   engine.Info
	ctx    context.Context // ends with the conversation; its cause says why
	cancel context.CancelCauseFunc
	terms  Terms
	sink   display.Sink         // of what the leader shows
	heard  atomic.Bool          // something from the leader, ever
	news   atomic.Bool          // and lately
	exits  map[int]*launch.Exit // of ranks that were asked for

	mu        sync.Mutex
	last      uint64
	prefixes  *cache.Prefixes // of sequences that the leader has
	requests  map[uint64]*remote
	questions map[uint64]*pending
}

// remote is a request of this client.
type remote struct {
	tokens []int32 // prompt and continuation
	stream *sched.Stream
	queued chan error  // capacity 1: the answer to Submit
	asked  bool        // the answer has come
	unbind func() bool // lets go of the context of Submit
}

// pending is a question without an answer.
type pending struct {
	parts []byte
	done  chan error // capacity 1
}

// Info implements Service.
func (k *Client) Info() engine.Info { return k.info }

// Submit implements Service.
func (k *Client) Submit(ctx context.Context, r sched.Request) (*sched.Stream, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if d, ok := ctx.Deadline(); ok && (r.Deadline.IsZero() || d.Before(r.Deadline)) {
		r.Deadline = d // the leader keeps it
	}
	if err := r.Params.Check(); err != nil {
		return nil, err // not every number travels as JSON
	}
	q := &remote{tokens: slices.Clone(r.Prompt), queued: make(chan error, 1)}
	id := k.number()
	q.stream = sched.NewStream(func(reason sched.Reason, _ error) {
		if reason == sched.Stopped {
			k.tell(kindStop, id)
		} else {
			k.tell(kindCancel, id)
		}
	})
	if err := begin(k, k.requests, id, q, kindSubmit, r); err != nil {
		return nil, err
	}
	k.bind(ctx, id, q)
	k.remember(q)
	select {
	case err := <-q.queued:
		if err != nil {
			return nil, err
		}
		return q.stream, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// remember takes the tokens of a request for cached, those of a prompt as soon as it is
// sent: requests that begin alike often come together.
func (k *Client) remember(q *remote) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.prefixes.Add(q.tokens)
}

// tell sends a frame without a body. If that fails, so does the conversation,
// which is where it is seen.
func (k *Client) tell(kind launch.Kind, id uint64) { _ = send(k.ctx, k.conn, kind, id, nil) }

// bind cancels a request with its context, unless it has ended. A deadline is
// kept by the leader, which can tell it from a cancellation.
func (k *Client) bind(ctx context.Context, id uint64, q *remote) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.requests[id] == q {
		q.unbind = context.AfterFunc(ctx, func() {
			if errors.Is(ctx.Err(), context.Canceled) {
				k.tell(kindCancel, id)
			}
		})
	}
}

func (k *Client) number() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	return k.last
}

// begin registers something that waits for the leader, unless that has gone, and
// tells the leader.
func begin[T any](k *Client, under map[uint64]T, id uint64, what T, kind launch.Kind, body any) error {
	k.mu.Lock()
	gone := k.ctx.Err() != nil
	if !gone {
		under[id] = what
	}
	k.mu.Unlock()
	if gone {
		return k.Cause()
	}
	err := sendJSON(k.ctx, k.conn, kind, id, body)
	if err == nil {
		return nil
	}
	if hungUp(err) {
		<-k.ctx.Done() // who receives learns why
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(under, id)
	if k.ctx.Err() != nil {
		return k.Cause()
	}
	return err
}

// State implements Service.
func (k *Client) State(ctx context.Context) (State, error) {
	var w wireState
	err := k.ask(ctx, question{What: askState}, &w)
	return w.decode(), err
}

// Steps implements Service.
func (k *Client) Steps(ctx context.Context) (list []sched.Step, err error) {
	err = k.ask(ctx, question{What: askSteps}, &list)
	return list, err
}

// Describe implements Service.
func (k *Client) Describe(ctx context.Context, rank int) (d engine.Description, err error) {
	err = k.ask(ctx, question{What: askDescribe, Rank: rank}, &d)
	return d, err
}

// Trace implements Service.
func (k *Client) Trace(ctx context.Context) ([]trace.Rank, error) {
	raw, err := k.answer(ctx, question{What: askTrace})
	if err != nil {
		return nil, err
	}
	return decodeTrace(raw)
}

// Ask implements Service.
func (k *Client) Ask(ctx context.Context, task string, args json.RawMessage) (json.RawMessage, error) {
	return k.answer(ctx, question{What: askTask, Task: task, Args: args})
}

func (k *Client) ask(ctx context.Context, q question, result any) error {
	raw, err := k.answer(ctx, q)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

// answer asks and waits. The leader finishes what is no longer waited for.
func (k *Client) answer(ctx context.Context, q question) ([]byte, error) {
	p := &pending{done: make(chan error, 1)}
	id := k.number()
	if err := begin(k, k.questions, id, p, kindAsk, q); err != nil {
		return nil, err
	}
	select {
	case err := <-p.done:
		return p.parts, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Over implements Service.
func (k *Client) Over() <-chan struct{} { return k.ctx.Done() }

// Cause is why the conversation is over, or nil.
func (k *Client) Cause() error { return context.Cause(k.ctx) }

// Close ends the conversation; the leader then ends this client's requests.
// What carries the job out is the caller's to end.
func (k *Client) Close() error {
	k.end(ErrLeft)
	return nil
}

// end lets everything that waits return.
func (k *Client) end(cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancel(cause)
	for id, q := range k.requests {
		delete(k.requests, id)
		q.finish(&sched.Finish{Reason: sched.Failed, Err: cause})
	}
	for id, p := range k.questions {
		delete(k.questions, id)
		p.done <- cause
	}
}

// finish ends a request that is registered no more.
func (q *remote) finish(f *sched.Finish) {
	if q.unbind != nil {
		q.unbind()
	}
	if !q.asked {
		q.asked = true
		q.queued <- f.Err
		return
	}
	q.stream.Push(sched.Event{Finish: f})
}

// receive takes what the leader sends, until it leaves.
func (k *Client) receive(hello chan<- ready) {
	for begun := false; ; {
		f, err := k.conn.Recv(k.ctx)
		var m message
		if err == nil {
			k.heard.Store(true)
			k.news.Store(true)
			m, err = decode(f)
		}
		switch {
		case err != nil:
		case m.kind == kindShow:
			err = k.show(m)
		case begun || m.kind == kindPong:
			err = k.take(m)
		case m.kind == kindReady:
			var r ready
			if r, err = firstWord(m); err == nil {
				begun = true
				hello <- r
			}
		default:
			err = fmt.Errorf("a leader that begins with a frame of kind %d", m.kind)
		}
		if err != nil {
			k.end(k.gone(err))
			return
		}
	}
}

func (k *Client) take(m message) error {
	var end *sched.Finish
	if m.kind == kindFinish {
		var err error
		if end, err = k.finished(m); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch m.kind {
	case kindAccepted, kindToken, kindFinish:
		if q := k.requests[m.id]; q != nil {
			return k.progress(q, m, end)
		}
	case kindPart, kindAnswer, kindError:
		if p := k.questions[m.id]; p != nil {
			return k.part(p, m)
		}
	case kindPong:
	case kindFailed:
		var w wireError
		if err := json.Unmarshal(m.body, &w); err != nil {
			return err
		}
		return failure{w.decode()}
	default:
		return fmt.Errorf("a frame of the unknown kind %d", m.kind)
	}
	return nil // of something that has ended here
}

// finished reads the end of a request.
func (k *Client) finished(m message) (*sched.Finish, error) {
	var f finish
	if err := json.Unmarshal(m.body, &f); err != nil {
		return nil, err
	}
	if f.Reason > sched.Failed {
		return nil, fmt.Errorf("request %d ended for the unknown reason %d", m.id, f.Reason)
	}
	return &sched.Finish{Reason: f.Reason, Err: k.explained(f.Err.decode()), Usage: f.Usage}, nil
}

// progress takes what becomes of a request; end is set with its last frame.
func (k *Client) progress(q *remote, m message, end *sched.Finish) error {
	switch {
	case m.kind == kindAccepted && !q.asked:
		q.asked = true
		q.queued <- nil
	case m.kind == kindToken && q.asked:
		e, err := decodeToken(m.body)
		if err != nil {
			return err
		}
		q.tokens = append(q.tokens, e.Token)
		q.stream.Push(e)
	case end != nil:
		delete(k.requests, m.id)
		k.prefixes.Add(q.tokens)
		q.finish(end)
	default:
		return fmt.Errorf("a frame of kind %d out of order", m.kind)
	}
	return nil
}

// part takes an answer, or a part of it.
func (k *Client) part(p *pending, m message) error {
	if m.kind == kindError {
		var w wireError
		if err := json.Unmarshal(m.body, &w); err != nil {
			return err
		}
		delete(k.questions, m.id)
		p.done <- w.decode()
		return nil
	}
	if len(p.parts)+len(m.body) > maxAnswer {
		return fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	}
	p.parts = append(p.parts, m.body...)
	if m.kind == kindAnswer {
		delete(k.questions, m.id)
		p.done <- nil
	}
	return nil
}
