package serve

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"forgekernel/nebula/collective"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
)

// TestSilent checks that a leader that says nothing is not waited for for ever.
func TestSilent(t *testing.T) {
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
}

// TestStarting checks that a leader may take its time to start as long as it gives
// signs of life, and none before the first.
func TestStarting(t *testing.T) {
	client, leader := newPipe()
	stop := Starting(t.Context(), leader)
	go func() {
		time.Sleep(900 * time.Millisecond) // several deadlines
		stop()
		Refuse(t.Context(), leader, &engine.Error{Rank: 1, Op: "open", Err: io.ErrUnexpectedEOF})
		leader.Close()
	}()
	_, err := Dial(t.Context(), client, Terms{Opening: time.Minute, Deadline: 300 * time.Millisecond})
	var e *engine.Error
	if !errors.As(err, &e) || e.Rank != 1 || e.Op != "open" {
		t.Errorf("%v", err)
	}

	client, leader = newPipe()
	_, err = Dial(t.Context(), client, Terms{Opening: 20 * time.Millisecond, Deadline: time.Minute, Epoch: 4})
	if !errors.Is(err, ErrLeft) || !errors.As(err, &e) || e.Epoch != 4 || !errors.Is(err, collective.ErrTimeout) {
		t.Errorf("without a sign of life: %v", err)
	}

	client, leader = newPipe()
	stop = Starting(t.Context(), leader)
	go func() {
		time.Sleep(30 * time.Millisecond)
		stop() // and says nothing
	}()
	if _, err = Dial(t.Context(), client, Terms{Opening: time.Minute, Deadline: 20 * time.Millisecond}); !errors.Is(err, ErrLeft) || !errors.Is(err, collective.ErrTimeout) {
		t.Errorf("silent after a sign of life: %v", err)
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
