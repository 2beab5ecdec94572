package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/trace"
)

// Most of what a client may have under way. The scheduler bounds its requests
// by itself.
const (
	maxQuestions = 64
	maxStreams   = 1 << 16
)

// Refuse tells the client that the job could not be started. A rank that does not
// lead may say the same of itself.
func Refuse(ctx context.Context, c Conn, err error) error {
	return sendJSON(ctx, c, kindReady, 0, ready{Err: encodeError(err)})
}

// Starting gives signs of life, so that a client can tell a leader that takes its
// time to start from one that hangs. They end when stop returns, after which the
// leader calls [Serve] or [Refuse].
func Starting(ctx context.Context, c Conn) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := send(ctx, c, kindPong, 0, nil) // the first one unasked
		for err == nil {
			if _, err = c.Recv(ctx); err == nil { // before it has heard more, a client says nothing else
				err = send(ctx, c, kindPong, 0, nil)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Serve offers a service to the client until it leaves, the service is over, or
// ctx ends, whose cause is then the error. What the client had under way ends with
// it; the service stays the caller's to close.
func Serve(ctx context.Context, c Conn, s Service) error {
	info := s.Info()
	if err := sendJSON(ctx, c, kindReady, 0, ready{Info: &info}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	v := &server{ctx: ctx, conn: c, service: s, streams: make(map[uint64]entry)}
	defer v.busy.Wait()
	defer cancel(errClientLeft)
	go v.watch(cancel)
	for {
		f, err := c.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := decode(f)
		if err == nil {
			err = v.take(m)
		}
		if err != nil {
			return fmt.Errorf("client: %w", err)
		}
	}
}

// endTime is how long the requests of a service that is over may take to end.
const endTime = 250 * time.Millisecond

// watch ends the conversation when the service is over, after its requests have
// ended and the client knows the cause.
func (v *server) watch(cancel context.CancelCauseFunc) {
	select {
	case <-v.ctx.Done():
		return
	case <-v.service.Over():
	}
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		v.relays.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endTime): // what was to end them hangs in a call; the client does it
	}
	state, err := v.service.State(v.ctx)
	if err == nil {
		err = state.Engine.Err
	}
	if err == nil {
		err = engine.ErrClosed
	}
	// If it cannot be sent, the client has left.
	_ = sendJSON(v.ctx, v.conn, kindFailed, 0, encodeError(err))
	cancel(err)
}

// ready begins the conversation; one of the two is set.
type ready struct {
	Info *engine.Info `json:"info,omitempty"`
	Err  *wireError   `json:"err,omitempty"`
}

var errClientLeft = errors.New("the client of the job has left")

type server struct {
	ctx     context.Context
	conn    Conn
	service Service
	busy    sync.WaitGroup // all goroutines
	relays  sync.WaitGroup // those that relay streams

	mu        sync.Mutex
	streams   map[uint64]entry
	questions int
	over      bool // no request is taken any more
}

// entry is a request that is under way.
type entry struct {
	cancel context.CancelCauseFunc
	stream *sched.Stream
}

// take handles a frame. An error ends the conversation: the client speaks another
// language.
func (v *server) take(m message) error {
	switch m.kind {
	case kindSubmit:
		var r sched.Request
		if err := json.Unmarshal(m.body, &r); err != nil {
			return fmt.Errorf("request %d: %w", m.id, err)
		}
		return v.submit(m.id, r)
	case kindCancel, kindStop:
		v.mu.Lock()
		e, ok := v.streams[m.id]
		v.mu.Unlock()
		if ok && m.kind == kindStop {
			e.stream.Stop()
		} else if ok {
			e.cancel(context.Canceled)
		}
		return nil // it may have ended meanwhile
	case kindPing:
		return send(v.ctx, v.conn, kindPong, m.id, nil)
	case kindAsk:
		var q question
		if err := json.Unmarshal(m.body, &q); err != nil {
			return fmt.Errorf("question %d: %w", m.id, err)
		}
		return v.ask(m.id, q)
	}
	return fmt.Errorf("a frame of the unknown kind %d", m.kind)
}

func (v *server) submit(id uint64, r sched.Request) error {
	v.mu.Lock()
	_, taken := v.streams[id]
	many := len(v.streams) >= maxStreams
	v.mu.Unlock()
	if taken || many {
		return fmt.Errorf("request %d: the number is in use, or too many are", id)
	}
	ctx, cancel := context.WithCancelCause(v.ctx)
	s, err := v.service.Submit(ctx, r)
	if err != nil {
		cancel(nil)
		return sendJSON(v.ctx, v.conn, kindFinish, id, finish{Reason: sched.Failed, Err: encodeError(err)})
	}
	v.mu.Lock()
	if v.over {
		v.mu.Unlock()
		cancel(nil)
		return nil // the client is about to hear why
	}
	v.streams[id] = entry{cancel, s}
	v.relays.Add(1)
	v.mu.Unlock()
	v.busy.Go(func() {
		defer v.relays.Done()
		defer cancel(nil)
		v.relay(id, s)
	})
	return nil
}

// relay sends the events of a stream. Nothing is to be done about a client that
// does not take them: Recv ends, too.
func (v *server) relay(id uint64, s *sched.Stream) {
	defer func() {
		v.mu.Lock()
		delete(v.streams, id)
		v.mu.Unlock()
	}()
	if send(v.ctx, v.conn, kindAccepted, id, nil) != nil {
		s.Close()
		return
	}
	for e := range s.Events() {
		var err error
		if f := e.Finish; f != nil {
			err = sendJSON(v.ctx, v.conn, kindFinish, id, finish{f.Reason, encodeError(f.Err), f.Usage})
		} else {
			err = send(v.ctx, v.conn, kindToken, id, appendToken(nil, e))
		}
		if err != nil {
			return
		}
	}
}

// ask answers a question on a goroutine of its own, for tasks take their time.
func (v *server) ask(id uint64, q question) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.questions++; v.questions > maxQuestions {
		return fmt.Errorf("question %d: %d are not yet answered", id, maxQuestions)
	}
	v.busy.Go(func() {
		raw, err := v.answer(q)
		v.mu.Lock()
		v.questions--
		v.mu.Unlock()
		if err == nil {
			sendAnswer(v.ctx, v.conn, id, raw)
		} else {
			sendJSON(v.ctx, v.conn, kindError, id, encodeError(err))
		}
	})
	return nil
}

// What can be asked.
const (
	askState    = "state"
	askSteps    = "steps"
	askDescribe = "describe"
	askTrace    = "trace"
	askTask     = "task"
)

func (v *server) answer(q question) ([]byte, error) {
	switch q.What {
	case askState:
		s, err := v.service.State(v.ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(encodeState(s))
	case askSteps:
		list, err := v.service.Steps(v.ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(list)
	case askDescribe:
		d, err := v.service.Describe(v.ctx, q.Rank)
		if err != nil {
			return nil, err
		}
		return json.Marshal(d)
	case askTrace:
		ranks, err := v.service.Trace(v.ctx)
		if err != nil {
			return nil, err
		}
		return encodeTrace(ranks)
	case askTask:
		return v.service.Ask(v.ctx, q.Task, q.Args)
	}
	return nil, fmt.Errorf("nobody can be asked for %q", q.What)
}

// wireState is a State with its errors made fit to travel.
type wireState struct {
	State
	EngineErr, SchedulerErr *wireError
}

func encodeState(s State) wireState {
	w := wireState{s, encodeError(s.Engine.Err), encodeError(s.Scheduler.Err)}
	w.Engine.Err, w.Scheduler.Err = nil, nil
	return w
}

func (w wireState) decode() State {
	w.State.Engine.Err, w.State.Scheduler.Err = w.EngineErr.decode(), w.SchedulerErr.decode()
	return w.State
}

func encodeTrace(ranks []trace.Rank) ([]byte, error) {
	list := make([][]byte, len(ranks))
	for i, r := range ranks {
		raw, err := r.MarshalBinary()
		if err != nil {
			return nil, err
		}
		list[i] = raw
	}
	return json.Marshal(list)
}

func decodeTrace(raw []byte) ([]trace.Rank, error) {
	var list [][]byte
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	ranks := make([]trace.Rank, len(list))
	for i, b := range list {
		if err := ranks[i].UnmarshalBinary(b); err != nil {
			return nil, err
		}
	}
	return ranks, nil
}
