package sched

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// shelf is a replica that only counts.
type shelf struct {
	pending, limit, cached int
	down                   error // from Err
	refuses                error // from Submit
	asked                  int
}

func (s *shelf) Submit(context.Context, Request) (*Stream, error) {
	s.asked++
	switch {
	case s.refuses != nil:
		return nil, s.refuses
	case s.pending >= s.limit:
		return nil, &QueueFull{s.pending, s.limit}
	}
	s.pending++
	return newStream(), nil
}

func (s *shelf) Pending() int       { return s.pending }
func (s *shelf) Cached([]int32) int { return s.cached }
func (s *shelf) Err() error         { return s.down }

func router(t testing.TB, affinity int, shelves ...*shelf) *Router {
	t.Helper()
	var replicas []Replica
	for _, s := range shelves {
		replicas = append(replicas, s)
	}
	r, err := NewRouter(affinity, replicas...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// best is the rule in its plainest form.
func best(shelves []*shelf, next, affinity int) int {
	least, chosen, cached := -1, -1, 0
	for turn := range shelves {
		i := (next + turn) % len(shelves)
		if shelves[i].down == nil && (least < 0 || shelves[i].pending < shelves[least].pending) {
			least = i
		}
	}
	if least < 0 || affinity == 0 {
		return least
	}
	cached, chosen = shelves[least].cached, least
	for load := shelves[least].pending; load <= shelves[least].pending+affinity; load++ {
		for turn := range shelves {
			i := (next + turn) % len(shelves)
			if shelves[i].down == nil && shelves[i].pending == load && shelves[i].cached > cached {
				cached, chosen = shelves[i].cached, i
			}
		}
	}
	return chosen
}

func TestRouterFollowsItsRule(t *testing.T) {
	down := errors.New("rank 1 is gone")
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 6))
		shelves := make([]*shelf, 1+rng.IntN(5))
		for i := range shelves {
			shelves[i] = &shelf{limit: 1 + rng.IntN(6)}
		}
		r := router(t, int(seed%3), shelves...)
		next := 0
		for range 100 {
			switch s := shelves[rng.IntN(len(shelves))]; rng.IntN(6) {
			case 0:
				s.pending = max(0, s.pending-1)
			case 1:
				s.cached = rng.IntN(4)
			case 2:
				if s.down = nil; rng.IntN(3) == 0 {
					s.down = down
				}
			default:
				before := make([]int, len(shelves))
				for i, s := range shelves {
					before[i], s.asked = s.pending, 0
				}
				want := best(shelves, next, int(seed%3))
				full := want >= 0 && shelves[want].pending >= shelves[want].limit
				stream, err := r.Submit(context.Background(), Request{})
				taken := -1
				for i, s := range shelves {
					if s.pending != before[i] {
						if taken >= 0 {
							t.Fatal("two replicas have the request")
						}
						taken = i
					}
					if s.down != nil && s.asked > 0 {
						t.Fatal("an unhealthy replica was asked")
					}
				}
				var all *QueueFull
				switch {
				case want < 0 && (!errors.Is(err, ErrUnhealthy) || !errors.Is(err, down)):
					t.Fatalf("nobody healthy: %v", err)
				case want >= 0 && !full && (taken != want || stream == nil):
					t.Fatalf("went to %d, want %d (%v)", taken, want, err)
				case full && taken < 0 && !errors.As(err, &all):
					t.Fatalf("all full: %v", err)
				case full && taken < 0 && slices.ContainsFunc(shelves, func(s *shelf) bool { return s.down == nil && s.pending < s.limit }):
					t.Fatal("refused, though one has room")
				}
				if taken >= 0 {
					next = (taken + 1) % len(shelves)
				}
			}
		}
	}
}

func TestRouterTakesTurns(t *testing.T) {
	a, b, c := &shelf{limit: 9}, &shelf{limit: 9}, &shelf{limit: 9}
	r := router(t, 0, a, b, c)
	for i := range 6 {
		if _, err := r.Submit(context.Background(), Request{}); err != nil {
			t.Fatal(err)
		}
		if got, want := []int{a.pending, b.pending, c.pending}, i+1; got[0]+got[1]+got[2] != want || got[0]-got[2] > 1 {
			t.Fatalf("after %d: %v", want, got)
		}
	}
}

func TestRouterReturnsOtherErrorsAsTheyAre(t *testing.T) {
	broken := &EngineError{Err: errBroken}
	first, second := &shelf{limit: 1, refuses: broken}, &shelf{limit: 1}
	if _, err := router(t, 0, first, second).Submit(context.Background(), Request{}); err != error(broken) {
		t.Errorf("%v", err)
	}
	if second.asked != 0 {
		t.Error("the request went on to another replica")
	}
}

func TestImpossibleRouters(t *testing.T) {
	if _, err := NewRouter(0); err == nil {
		t.Error("no replicas")
	}
	if _, err := NewRouter(-1, &shelf{}); err == nil {
		t.Error("negative affinity")
	}
}

// Two real schedulers: the prefix draws requests, a failure keeps them away, and
// what had begun on the failed one is not repeated on the other.
func TestRouterOverSchedulers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := info(4, 32, 100, 4, 1)
		a, fa := start(t, in, Options{})
		b, fb := start(t, in, Options{})
		defer a.Close()
		defer b.Close()
		r, err := NewRouter(2, a, b)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(first int) *Stream {
			stream, err := r.Submit(t.Context(), ask(prompt(first, 20), 10))
			if err != nil {
				t.Fatal(err)
			}
			return stream
		}
		read(t, ask(0)) // a
		read(t, ask(1)) // b, which is next
		for range 3 {
			read(t, ask(1))
		}
		if len(fa.steps) != 10 || len(fb.steps) != 40 {
			t.Errorf("%d and %d steps", len(fa.steps), len(fb.steps))
		}
		fb.failWait = 45
		stream := ask(1)
		got, fin := read(t, stream)
		if len(got) != 4 || fin.Reason != Failed || len(fa.steps) != 10 {
			t.Errorf("%d tokens, %v; %d steps on the other", len(got), fin.Reason, len(fa.steps))
		}
		if got, fin := read(t, ask(1)); len(got) != 10 || fin.Reason != Length {
			t.Errorf("%d tokens, %v", len(got), fin)
		}
		time.Sleep(time.Second)
		if len(fb.steps) != 45 {
			t.Errorf("the failed replica was asked again: %d steps", len(fb.steps))
		}
	})
}

// slow is a replica whose leader takes its time to answer.
type slow struct {
	shelf
	asked, answer chan struct{}
}

func (s *slow) Submit(ctx context.Context, req Request) (*Stream, error) {
	close(s.asked)
	<-s.answer
	return s.shelf.Submit(ctx, req)
}

// A replica that has not answered yet counts the request as its own, and holds up
// nobody else's.
func TestSlowReplica(t *testing.T) {
	first, second := &slow{shelf{limit: 9}, make(chan struct{}), make(chan struct{})}, &shelf{limit: 9}
	r, err := NewRouter(0, first, second)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := r.Submit(context.Background(), Request{})
		done <- err
	}()
	<-first.asked
	if _, err := r.Submit(context.Background(), Request{}); err != nil || second.pending != 1 {
		t.Errorf("the other replica has %d requests, %v", second.pending, err)
	}
	close(first.answer)
	if err := <-done; err != nil || first.pending != 1 {
		t.Errorf("the slow replica has %d requests, %v", first.pending, err)
	}
}
