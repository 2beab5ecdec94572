package serve

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sched"
)

// TestSilent checks that a leader that says nothing is not waited for for ever.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, leader := newPipe()
		if err := sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{}}); err != nil {
			t.Fatal(err)
		}
		k, err := Dial(t.Context(), client, Terms{Opening: time.Minute, Deadline: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.State(t.Context())
		var e *engine.Error
		if !errors.Is(err, ErrLeft) || !errors.Is(err, collective.ErrTimeout) || !errors.As(err, &e) || e.Rank != 0 {
			t.Errorf("%v", err)
		}
	})
}

// TestStarting checks that a leader may take its time to start as long as it gives
// signs of life, and none before the first.
func TestStarting(t *testing.T) {
	dial := func(t *testing.T, opening, deadline time.Duration, lead func(leader *pipe)) error {
		client, leader := newPipe()
		go lead(leader)
		_, err := Dial(t.Context(), client, Terms{Opening: opening, Deadline: deadline, Epoch: 4})
		return err
	}
	var e *engine.Error
	synctest.Test(t, func(t *testing.T) {
		err := dial(t, time.Minute, 300*time.Millisecond, func(leader *pipe) {
			stop := Starting(t.Context(), leader)
			time.Sleep(900 * time.Millisecond) // several deadlines
			stop()
			Refuse(t.Context(), leader, &engine.Error{Rank: 1, Op: "open", Err: io.ErrUnexpectedEOF})
			leader.Close()
		})
		if !errors.As(err, &e) || e.Rank != 1 || e.Op != "open" {
			t.Errorf("%v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		err := dial(t, 20*time.Millisecond, time.Minute, func(*pipe) {})
		if !errors.Is(err, ErrLeft) || !errors.As(err, &e) || e.Epoch != 4 || !errors.Is(err, collective.ErrTimeout) {
			t.Errorf("without a sign of life: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		err := dial(t, time.Minute, 20*time.Millisecond, func(leader *pipe) {
			stop := Starting(t.Context(), leader)
			time.Sleep(30 * time.Millisecond)
			stop() // and says nothing
		})
		if !errors.Is(err, ErrLeft) || !errors.Is(err, collective.ErrTimeout) {
			t.Errorf("silent after a sign of life: %v", err)
		}
	})
}

// TestRankGone checks that the failure of a job tells how the process of its rank has
// ended, unless that adds nothing, and that this is asked for once.
func TestRankGone(t *testing.T) {
	for _, exit := range []*launch.Exit{{Rank: 2, Code: -1, Signal: syscall.SIGKILL}, {Rank: 2, Code: 3}, {Rank: 2, Code: 1}, nil} {
		client, leader := newPipe()
		if err := sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{Vocab: 5}}); err != nil {
			t.Fatal(err)
		}
		asked := 0
		k, err := Dial(t.Context(), client, Terms{time.Minute, time.Minute, 3, func(rank int) *launch.Exit {
			if asked++; rank != 2 {
				t.Errorf("rank %d is asked for", rank)
			}
			return exit
		}})
		if err != nil {
			t.Fatal(err)
		}
		lost := &engine.Error{Rank: 2, Epoch: 3, Op: "all_reduce", Err: collective.ErrDead}
		refused := make(chan error)
		for range 2 {
			go func() { _, err := k.Submit(t.Context(), long()); refused <- err }()
			sendJSON(t.Context(), leader, kindFinish, said(t, leader).id, finish{Reason: sched.Failed, Err: encodeError(lost)})
			err := <-refused
			var told launch.Exit
			if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Rank != 2 || !errors.Is(err, collective.ErrDead) {
				t.Errorf("the cause is lost: %v", err)
			}
			if abrupt := exit != nil && exit.Code != 1; errors.As(err, &told) != abrupt || abrupt && told != *exit {
				t.Errorf("a rank that ended by %v is told as %v", exit, err)
			}
		}
		if asked != 1 {
			t.Errorf("it is asked %d times", asked)
		}
		k.Close()
		leader.Close()
	}
}

// TestLeavesFirst checks that a client which was closed does not ask how the rank has
// ended when it notices that first.
func TestLeavesFirst(t *testing.T) {
	client, leader := newPipe()
	defer leader.Close()
	if err := sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{Vocab: 5}}); err != nil {
		t.Fatal(err)
	}
	k, err := Dial(t.Context(), client, Terms{time.Minute, time.Minute, 3, func(rank int) *launch.Exit {
		t.Errorf("rank %d is asked for", rank)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	k.Close()
	if err := k.gone(io.EOF); err != ErrLeft {
		t.Errorf("it has ended since %v", err)
	}
}

// slowEar is a connection on which the end is heard only when something could not be sent.
type slowEar struct {
	*pipe
	unsent context.Context // ends then
	fail   context.CancelFunc
}

func (e slowEar) Send(ctx context.Context, f launch.Frame) error {
	select {
	case <-e.over:
		e.fail()
		return io.ErrClosedPipe
	default:
		return e.pipe.Send(ctx, f)
	}
}

func (e slowEar) Recv(ctx context.Context) (launch.Frame, error) {
	f, err := e.pipe.Recv(ctx)
	if err != nil || f.Kind == kindFailed {
		<-e.unsent.Done()
	}
	return f, err
}

// TestLastWord has a request and a question come when the leader has left and why it did
// has not been heard yet: they end with that.
func TestLastWord(t *testing.T) {
	lost := &engine.Error{Rank: 2, Epoch: 3, Op: "all_reduce", Err: collective.ErrDead}
	for what, call := range map[string]func(*Client) error{
		"a request":  func(k *Client) error { _, err := k.Submit(t.Context(), long()); return err },
		"a question": func(k *Client) error { _, err := k.State(t.Context()); return err },
	} {
		client, leader := newPipe()
		if err := sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{Vocab: 5}}); err != nil {
			t.Fatal(err)
		}
		unsent, fail := context.WithCancel(t.Context())
		k, err := Dial(t.Context(), slowEar{client, unsent, fail}, terms)
		if err != nil {
			t.Fatal(err)
		}
		if err := sendJSON(t.Context(), leader, kindFailed, 0, encodeError(lost)); err != nil {
			t.Fatal(err)
		}
		leader.Close()
		err = call(k)
		if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Rank != 2 {
			t.Errorf("%s ends with %v", what, err)
		}
	}
}

// TestRefusal hears a rank that does not lead.
func TestRefusal(t *testing.T) {
	for _, said := range []error{&engine.Error{Rank: 2, Op: "rendezvous", Err: io.ErrUnexpectedEOF}, nil} {
		parent, rank := newPipe()
		if said != nil {
			Refuse(t.Context(), rank, said)
		} else {
			rank.Send(t.Context(), launch.Frame{Kind: kindReady, Body: []byte("12345678{")})
		}
		err := Refusal(t.Context(), parent)
		if e := (*engine.Error)(nil); said != nil && (!errors.As(err, &e) || e.Rank != 2) || said == nil && err != nil {
			t.Errorf("%v is heard as %v", said, err)
		}
		parent.Close()
		if err := Refusal(t.Context(), parent); err != nil {
			t.Errorf("nothing is heard as %v", err)
		}
	}
}

// TestNoStart checks that the reason of a start that failed reaches the client.
func TestNoStart(t *testing.T) {
	client, leader := newPipe()
	if err := Refuse(t.Context(), leader, &engine.Error{Rank: 1, Op: "open", Err: io.ErrUnexpectedEOF}); err != nil {
		t.Fatal(err)
	}
	var e *engine.Error
	if _, err := Dial(t.Context(), client, terms); !errors.As(err, &e) || e.Rank != 1 || e.Op != "open" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client, _ = newPipe()
	if _, err := Dial(ctx, client, terms); !errors.Is(err, context.Canceled) {
		t.Errorf("a leader that says nothing: %v", err)
	}
}

// hung is a service that has failed and whose requests do not end.
type hung struct {
	Service
	stream *sched.Stream
	over   chan struct{}
	cause  error
}

func (h *hung) Info() engine.Info                                            { return engine.Info{} }
func (h *hung) Submit(context.Context, sched.Request) (*sched.Stream, error) { return h.stream, nil }
func (h *hung) Over() <-chan struct{}                                        { return h.over }
func (h *hung) State(context.Context) (State, error) {
	return State{Engine: engine.Status{Health: engine.Failed, Err: h.cause}}, nil
}

// TestHung checks that a request ends with the job even where the leader is stuck.
func TestHung(t *testing.T) {
	h := &hung{
		stream: sched.NewStream(func(sched.Reason, error) {}), over: make(chan struct{}),
		cause: &engine.Error{Rank: 2, Op: "all_reduce", Err: collective.ErrTimeout},
	}
	client, leader := newPipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), leader, h) }()
	k, err := Dial(t.Context(), client, terms)
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.Submit(t.Context(), long())
	if err != nil {
		t.Fatal(err)
	}
	close(h.over)
	_, f := tokensFrom(s)
	if e := (*engine.Error)(nil); f == nil || f.Reason != sched.Failed || !errors.As(f.Err, &e) || e.Rank != 2 {
		t.Errorf("it ends with %+v", f)
	}
	h.stream.Push(sched.Event{Finish: &sched.Finish{}})
	<-served
}

// TestStopped checks the same of a leader that does not even take what is sent.
func TestStopped(t *testing.T) {
	client, leader := newPipe()
	if err := sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &engine.Info{}}); err != nil {
		t.Fatal(err)
	}
	for range cap(client.out) {
		if err := client.Send(t.Context(), launch.Frame{Kind: launch.FirstKind}); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Dial(t.Context(), client, Terms{Opening: time.Minute, Deadline: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Submit(t.Context(), long()); !errors.Is(err, ErrLeft) || !errors.Is(err, collective.ErrTimeout) {
		t.Errorf("a request: %v", err)
	}
	if _, err := k.State(t.Context()); !errors.Is(err, ErrLeft) {
		t.Errorf("a question: %v", err)
	}
	if len(k.requests)+len(k.questions) != 0 {
		t.Errorf("%d requests and %d questions are kept", len(k.requests), len(k.questions))
	}
}
