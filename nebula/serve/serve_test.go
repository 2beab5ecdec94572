package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forgekernel/forge/backend/interp"
	"forgekernel/nebula/cache"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/shard"
)

// pipe is one end of a connection within the process.
type pipe struct {
	in, out chan launch.Frame
	over    chan struct{} // closed when either end is
	once    *sync.Once
}

func newPipe() (client, leader *pipe) {
	a, b, over, once := make(chan launch.Frame, 16), make(chan launch.Frame, 16), make(chan struct{}), new(sync.Once)
	return &pipe{a, b, over, once}, &pipe{b, a, over, once}
}

func (p *pipe) Send(ctx context.Context, f launch.Frame) error {
	if len(f.Body) > launch.MaxFrame || f.Kind < launch.FirstKind {
		return fmt.Errorf("a frame of kind %d with %d bytes", f.Kind, len(f.Body))
	}
	select {
	case p.out <- f:
		return nil
	case <-p.over:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *pipe) Recv(ctx context.Context) (launch.Frame, error) {
	select {
	case f := <-p.in:
		return f, nil
	case <-p.over:
		select {
		case f := <-p.in: // what was said before the end is heard
			return f, nil
		default:
			return launch.Frame{}, io.EOF
		}
	case <-ctx.Done():
		return launch.Frame{}, context.Cause(ctx)
	}
}

func (p *pipe) Close() { p.once.Do(func() { close(p.over) }) }

var terms = Terms{Opening: time.Minute, Deadline: time.Minute}

// job is a job of two ranks, used here and over a connection.
type job struct {
	local  *Local
	client *Client
	pipe   *pipe
	served chan error
}

func start(t *testing.T, o sched.Options, tasks map[string]Task) *job {
	t.Helper()
	m, err := model.Seeded(model.Config{
		Family: "tiny", Vocab: 61, Hidden: 24, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 4, FF: 26, Context: endless + 8, Eps: 1e-5,
	}, 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	b := interp.New()
	b.Workers = 1
	e, err := engine.Local(t.Context(), m, shard.Layout{TP: 2, PP: 1}, engine.LocalOptions{
		Options: engine.Options{BlockSize: 64, Blocks: 2 * endless / 64, Regions: 4096}, Backend: b,
	})
	if err != nil {
		t.Fatal(err)
	}
	j := &job{served: make(chan error, 1)}
	if j.local, err = NewLocal(e, o, tasks); err != nil {
		t.Fatal(err)
	}
	var leader *pipe
	j.pipe, leader = newPipe()
	go func() { j.served <- Serve(context.Background(), leader, j.local) }()
	if j.client, err = Dial(t.Context(), j.pipe, terms); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.client.Close()
		j.pipe.Close()
		if err := <-j.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := j.local.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return j
}

func tokens(t *testing.T, s *sched.Stream) (list []int32, f *sched.Finish) {
	t.Helper()
	for e := range s.Events() {
		if e.Finish != nil {
			return list, e.Finish
		}
		if e.Index != len(list) {
			t.Errorf("token %d comes as number %d", e.Index, len(list))
		}
		list = append(list, e.Token)
	}
	return list, nil
}

// TestSame checks that a client sees what the leader sees.
func TestSame(t *testing.T) {
	j := start(t, sched.Options{}, nil)
	if j.client.Info() != j.local.Info() {
		t.Errorf("the client has %+v, the leader %+v", j.client.Info(), j.local.Info())
	}
	for seed := range 4 {
		r := sched.Request{Prompt: []int32{1, 2, int32(seed)}, Params: sample.Params{MaxTokens: 9, Temperature: 0.8, Seed: uint64(seed), LogProbs: 3}}
		var lists [2][]int32
		for i, s := range []Service{j.local, j.client} {
			stream, err := s.Submit(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			var f *sched.Finish
			lists[i], f = tokens(t, stream)
			if f == nil || f.Reason != sched.Length || f.Err != nil || f.Usage.Generated != 9 || f.Usage.First.IsZero() {
				t.Errorf("it ends with %+v", f)
			}
		}
		if !slices.Equal(lists[0], lists[1]) || len(lists[0]) != 9 {
			t.Errorf("seed %d gives %v here and %v there", seed, lists[0], lists[1])
		}
	}
	idle(t, j)
	ours, err1 := j.local.Describe(t.Context(), 1)
	theirs, err2 := j.client.Describe(t.Context(), 1)
	if err1 != nil || err2 != nil || ours.Explain() != theirs.Explain() {
		t.Errorf("the descriptions of rank 1 differ, or %v, %v", err1, err2)
	}
	steps, err1 := j.local.Steps(t.Context())
	there, err2 := j.client.Steps(t.Context())
	if err1 != nil || err2 != nil || len(steps) == 0 || !reflect.DeepEqual(steps, there) {
		t.Errorf("the client has steps %+v, the leader %+v; %v, %v", there, steps, err1, err2)
	}
	ranks, err := j.client.Trace(t.Context())
	if err != nil || len(ranks) != 2 || len(ranks[1].Regions) == 0 {
		t.Errorf("a trace of %d ranks, %v", len(ranks), err)
	}
	state, err := j.client.State(t.Context())
	if err != nil || state.Engine.Health != engine.Healthy || state.Scheduler.Generated != 72 || state.Scheduler.Finished[sched.Length] != 8 {
		t.Errorf("%+v, %v", state, err)
	}
	if _, err := j.client.Describe(t.Context(), 2); err == nil {
		t.Error("there is a third rank")
	}
}

// endless is so many tokens that a request for them does not end before something is done
// about it, on however busy a machine.
const endless = 1 << 13

func long() sched.Request {
	return sched.Request{Prompt: []int32{1, 2, 3}, Params: sample.Params{MaxTokens: endless}}
}

// TestEnds ends requests in every way.
func TestEnds(t *testing.T) {
	j := start(t, sched.Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx  context.Context
		end  func(*sched.Stream)
		want sched.Reason
	}{
		"stopped": {t.Context(), (*sched.Stream).Stop, sched.Stopped},
		"closed":  {t.Context(), (*sched.Stream).Close, sched.Cancelled},
		"context": {ctx, func(*sched.Stream) { cancel() }, sched.Cancelled},
	} {
		s, err := j.client.Submit(c.ctx, long())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.end(s)
		if list, f := tokensFrom(s); f == nil || f.Reason != c.want || len(list) >= endless {
			t.Errorf("%s: after %d tokens %+v", name, len(list), f)
		}
	}
	r := long()
	r.Deadline = time.Now().Add(-time.Second)
	if s, err := j.client.Submit(t.Context(), r); err == nil {
		if _, f := tokensFrom(s); f.Reason != sched.Expired {
			t.Errorf("a deadline that has passed ends it with %+v", f)
		}
	}
	idle(t, j)
}

// idle waits until the leader has no request.
func idle(t *testing.T, j *job) {
	t.Helper()
	for j.local.Scheduler.Pending() > 0 {
		if t.Context().Err() != nil {
			t.Fatal("requests are left")
		}
		time.Sleep(time.Millisecond)
	}
}

func tokensFrom(s *sched.Stream) (list []int32, f *sched.Finish) {
	for e := range s.Events() {
		if e.Finish != nil {
			return list, e.Finish
		}
		list = append(list, e.Token)
	}
	return list, nil
}

// TestErrors checks that errors keep their types on the way.
func TestErrors(t *testing.T) {
	cause := &engine.Error{Rank: 1, Epoch: 3, Step: 7, Op: "all_reduce", Err: &collective.Error{Rank: 1, Op: "all_reduce", Err: collective.ErrTimeout}}
	for _, err := range []error{
		&sched.QueueFull{Pending: 4, Limit: 3}, &sched.TooLong{Prompt: 70, Most: 64}, &cache.OutOfBlocks{Need: 3, Free: 1},
		sched.ErrClosed, engine.ErrClosed, context.Canceled, cause,
		&sched.EngineError{Generated: 5, Err: cause},
		fmt.Errorf("wrapped: %w", context.DeadlineExceeded), errors.New("of no kind"),
	} {
		raw, fail := json.Marshal(encodeError(err))
		if fail != nil {
			t.Fatal(fail)
		}
		var w wireError
		if fail := json.Unmarshal(raw, &w); fail != nil {
			t.Fatal(fail)
		}
		got := w.decode()
		if got.Error() != err.Error() {
			t.Errorf("%q arrives as %q", err, got)
		}
		for _, s := range sentinels {
			if errors.Is(err, s) != errors.Is(got, s) {
				t.Errorf("%q: whether it is %q changes", err, s)
			}
		}
		var a, b *engine.Error
		if errors.As(err, &a) != errors.As(got, &b) || a != nil && (a.Rank != b.Rank || a.Step != b.Step || a.Epoch != b.Epoch || a.Op != b.Op) {
			t.Errorf("%+v arrives as %+v", a, b)
		}
		if k := reflect.TypeOf(err); k.Kind() == reflect.Pointer && strings.Contains(k.String(), "sched.") && reflect.TypeOf(got) != k {
			t.Errorf("a %v arrives as a %T", k, got)
		}
	}
	if (*wireError)(nil).decode() != nil {
		t.Error("no error arrives as one")
	}
	j := start(t, sched.Options{Limit: 1}, nil)
	s, err := j.client.Submit(t.Context(), long())
	if err != nil {
		t.Fatal(err)
	}
	var full *sched.QueueFull
	if _, err := j.client.Submit(t.Context(), long()); !errors.As(err, &full) || full.Limit != 1 {
		t.Errorf("a second request: %v", err)
	}
	s.Close()
	if _, err := j.client.Submit(t.Context(), sched.Request{}); err == nil {
		t.Error("an empty prompt is accepted")
	}
	bad := sched.Request{Prompt: []int32{1}, Params: sample.Params{Temperature: math.NaN()}}
	_, there := j.local.Submit(t.Context(), bad)
	if _, here := j.client.Submit(t.Context(), bad); here == nil || here.Error() != there.Error() {
		t.Errorf("a temperature that is no number: %v and %v", here, there)
	}
}

// TestTasks asks for work beside the leader, whose answer takes several frames.
func TestTasks(t *testing.T) {
	big := strings.Repeat("x", 3*launch.MaxFrame)
	j := start(t, sched.Options{}, map[string]Task{
		"echo": func(_ context.Context, l *Local, args json.RawMessage) (any, error) {
			var s string
			err := json.Unmarshal(args, &s)
			return s + big, err
		},
		"fail": func(context.Context, *Local, json.RawMessage) (any, error) { return nil, io.ErrUnexpectedEOF },
	})
	raw, err := j.client.Ask(t.Context(), "echo", json.RawMessage(`"so: "`))
	var s string
	if err != nil || json.Unmarshal(raw, &s) != nil || s != "so: "+big {
		t.Errorf("an answer of %d bytes, %v", len(raw), err)
	}
	if _, err := j.client.Ask(t.Context(), "fail", nil); err == nil || err.Error() != io.ErrUnexpectedEOF.Error() {
		t.Errorf("it fails with %v", err)
	}
	if _, err := j.client.Ask(t.Context(), "what", nil); err == nil || !strings.Contains(err.Error(), "[echo fail]") {
		t.Errorf("an unknown task: %v", err)
	}
}

// TestLeaderGone checks that nothing waits for a leader that is not there.
func TestLeaderGone(t *testing.T) {
	client, leader := newPipe()
	info := engine.Info{Vocab: 5}
	if err := sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &info}); err != nil {
		t.Fatal(err)
	}
	killed := launch.Exit{Code: -1, Signal: syscall.SIGKILL}
	k, err := Dial(t.Context(), client, Terms{time.Minute, time.Minute, 3, func(int) *launch.Exit { return &killed }})
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan *sched.Stream)
	go func() {
		s, _ := k.Submit(t.Context(), long())
		accepted <- s
	}()
	m := said(t, leader)
	if m.kind != kindSubmit {
		t.Fatalf("%+v", m)
	}
	send(t.Context(), leader, kindAccepted, m.id, nil)
	s := <-accepted
	waiting := make(chan error, 2)
	go func() { _, err := k.State(t.Context()); waiting <- err }()
	go func() { _, err := k.Submit(t.Context(), long()); waiting <- err }()
	for range 2 {
		said(t, leader)
	}
	leader.Close()
	if _, f := tokensFrom(s); f == nil || f.Reason != sched.Failed || !errors.Is(f.Err, ErrLeft) || !errors.Is(f.Err, killed) {
		t.Errorf("the stream ends with %+v", f)
	}
	for range 2 {
		if err := <-waiting; !errors.Is(err, killed) {
			t.Errorf("a call ends with %v", err)
		}
	}
	if _, err := k.Submit(t.Context(), long()); !errors.Is(err, ErrLeft) {
		t.Errorf("a later call ends with %v", err)
	}
}

// said is the next that a client says, but for signs of life.
func said(t *testing.T, leader *pipe) message {
	t.Helper()
	for {
		f, err := leader.Recv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := decode(f)
		if err != nil {
			t.Fatal(err)
		}
		if m.kind != kindPing {
			return m
		}
	}
}

// TestClientGone checks that a client's requests end with it.
func TestClientGone(t *testing.T) {
	j := start(t, sched.Options{}, nil)
	if _, err := j.client.Submit(t.Context(), long()); err != nil {
		t.Fatal(err)
	}
	j.pipe.Close()
	err := <-j.served
	j.served <- err
	if err != nil {
		t.Error(err)
	}
	idle(t, j)
}

// TestGarbage sends both ends what they cannot understand.
func TestGarbage(t *testing.T) {
	for _, f := range []launch.Frame{
		{Kind: kindSubmit, Body: []byte("short")},
		{Kind: kindSubmit, Body: append(make([]byte, 8), "no json"...)},
		{Kind: kindAsk, Body: append(make([]byte, 8), "["...)},
		{Kind: 99, Body: make([]byte, 8)},
	} {
		j := start(t, sched.Options{}, nil)
		if err := j.pipe.Send(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if err := <-j.served; err == nil || !strings.HasPrefix(err.Error(), "client: ") {
			t.Errorf("kind %d: %v", f.Kind, err)
		}
		j.served <- nil
	}
	for _, f := range []launch.Frame{
		{Kind: kindAccepted, Body: []byte("short")},
		{Kind: 99, Body: make([]byte, 8)},
		{Kind: kindReady, Body: make([]byte, 8)},
	} {
		client, leader := newPipe()
		sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{}})
		k, err := Dial(t.Context(), client, terms)
		if err != nil {
			t.Fatal(err)
		}
		leader.Send(t.Context(), f)
		if <-k.ctx.Done(); !errors.Is(context.Cause(k.ctx), ErrLeft) {
			t.Errorf("kind %d: %v", f.Kind, context.Cause(k.ctx))
		}
	}
	client, leader := newPipe()
	send(t.Context(), leader, kindReady, 0, []byte("{}"))
	if _, err := Dial(t.Context(), client, terms); err == nil {
		t.Error("a leader that says nothing about itself is ready")
	}
}

func FuzzToken(f *testing.F) {
	e := sched.Event{Index: 3, At: time.Unix(1, 2)}
	e.Choice = sample.Choice{Token: 7, Stop: true, Margin: math.Inf(1), LogProb: -2.5, Top: []sample.TokenProb{{Token: 7, LogProb: math.Inf(-1)}}}
	f.Add(appendToken(nil, e))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeToken(b)
		if err == nil && !slices.Equal(appendToken(nil, e), b) {
			t.Errorf("%x reads as %+v and writes as %x", b, e, appendToken(nil, e))
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(byte(kindSubmit), []byte("\x00\x00\x00\x00\x00\x00\x00\x01{}"))
	f.Add(byte(kindFinish), []byte("\x00\x00\x00\x00\x00\x00\x00\x01{\"reason\":200}"))
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		client, leader := newPipe()
		sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{}})
		k, err := Dial(t.Context(), client, terms)
		if err != nil {
			t.Fatal(err)
		}
		k.mu.Lock()
		k.requests[1] = &remote{queued: make(chan error, 1), stream: sched.NewStream(nil)}
		k.questions[1] = &pending{done: make(chan error, 1)}
		k.mu.Unlock()
		if m, err := decode(launch.Frame{Kind: launch.Kind(kind), Body: body}); err == nil {
			k.take(m)
		}
		leader.Close()
		<-k.ctx.Done()
	})
}
