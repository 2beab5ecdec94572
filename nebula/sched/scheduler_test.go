package sched

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forgekernel/nebula/engine"
)

// start runs a scheduler over a fake engine whose steps take a millisecond of
// the bubble's time.
func start(t testing.TB, in engine.Info, opts Options) (*Scheduler, *fakeEngine) {
	t.Helper()
	f := newFake(t, in)
	f.latency = time.Millisecond
	s, err := New(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

func submit(t testing.TB, s *Scheduler, ctx context.Context, req Request) *Stream {
	t.Helper()
	stream, err := s.Submit(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// tokens reads n tokens of a stream that has as many.
func tokens(t testing.TB, s *Stream, n int) {
	t.Helper()
	for range n {
		if e, err := s.Next(t.Context()); err != nil || e.Finish != nil {
			t.Fatalf("%+v, %v", e, err)
		}
	}
}

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestStreamsOfConcurrentRequests(t *testing.T) {
	for _, depth := range []int{1, 2, 3, 0} {
		bubble(t, func(t *testing.T) {
			in := info(4, 32, 40, 4, max(1, depth))
			s, f := start(t, in, Options{Chunk: 5})
			f.leads = depth == 0
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					time.Sleep(time.Duration(i*i%7) * time.Millisecond)
					req := ask(prompt(i%4, 1+i*3%40), 1+i%9)
					req.Params.LogProbs = i % 2 // which a lead does not do for
					stream, err := s.Submit(t.Context(), req)
					if err != nil {
						t.Error(err)
						return
					}
					got, fin := read(t, stream)
					if want, reason := sequential(req, in); !slices.Equal(got, want) || fin.Reason != reason {
						t.Errorf("request %d: %v, want %v", i, got, want)
					}
					if _, err := stream.Next(t.Context()); err != io.EOF {
						t.Errorf("after the end: %v", err)
					}
				})
			}
			wg.Wait()
			s.Close()
			checkClean(t, s.batch, f)
		})
	}
}

func TestEnds(t *testing.T) {
	gone := errors.New("the reader went away")
	for _, c := range []struct {
		name   string
		end    func(s *Stream, cancel context.CancelCauseFunc)
		reason Reason
		err    error
	}{
		{"consumer stops", func(s *Stream, _ context.CancelCauseFunc) { s.Stop() }, Stopped, nil},
		{"stream closed", func(s *Stream, _ context.CancelCauseFunc) { s.Close() }, Cancelled, context.Canceled},
		{"context cancelled", func(_ *Stream, cancel context.CancelCauseFunc) { cancel(gone) }, Cancelled, gone},
		{"deadline", func(*Stream, context.CancelCauseFunc) { time.Sleep(time.Second) }, Expired, context.DeadlineExceeded},
	} {
		for _, depth := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/depth%d", c.name, depth), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s, f := start(t, info(1, 32, 1000, 4, depth), Options{})
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					running := submit(t, s, ctx, Request{Prompt: prompt(0, 5), Deadline: time.Now().Add(time.Second)})
					waiting := make([]*Stream, 3)
					for i := range waiting {
						waiting[i] = submit(t, s, ctx, Request{Prompt: prompt(0, 5), Deadline: time.Now().Add(time.Second)})
					}
					tokens(t, running, 3)
					for _, stream := range append(waiting, running) {
						c.end(stream, cancel)
						synctest.Wait()
						stream.Stop() // too late to change anything
						fin := stream.Finish()
						if fin == nil || fin.Reason != c.reason || !errors.Is(fin.Err, c.err) {
							t.Fatalf("%+v", fin)
						}
					}
					time.Sleep(2 * time.Millisecond * time.Duration(depth)) // the step in flight comes back
					synctest.Wait()
					checkClean(t, s.batch, f)
					if f.released[1] != 1 {
						t.Errorf("released %d times", f.released[1])
					}
					if m := s.Metrics(); m.Finished[c.reason] != 4 {
						t.Errorf("%+v", m.Finished)
					}
					s.Close()
				})
			})
		}
	}
}

func TestTokensBeforeStopStay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := start(t, info(1, 32, 1000, 4, 1), Options{})
		defer s.Close()
		stream := submit(t, s, t.Context(), ask(prompt(0, 5), 0))
		time.Sleep(20*time.Millisecond + time.Microsecond)
		stream.Stop()
		got, fin := read(t, stream)
		if len(got) != 20 || fin.Usage.Generated != 20 || fin.Reason != Stopped {
			t.Errorf("%d tokens, %+v", len(got), fin)
		}
	})
}

func TestLeavingTheLoopCancels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := start(t, info(1, 32, 1000, 4, 1), Options{})
		defer s.Close()
		stream := submit(t, s, t.Context(), ask(prompt(0, 5), 0))
		for range stream.Events() {
			break
		}
		if fin := stream.Finish(); fin == nil || fin.Reason != Cancelled {
			t.Errorf("%+v", fin)
		}
	})
}

func TestNextEndsWithItsOwnContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, f := start(t, info(1, 32, 1000, 4, 1), Options{})
		defer s.Close()
		f.latency = time.Hour
		stream := submit(t, s, t.Context(), ask(prompt(0, 5), 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := stream.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if got, fin := read(t, stream); len(got) != 1 || fin.Reason != Length {
			t.Errorf("the request did not go on: %v, %+v", got, fin)
		}
	})
}

func TestAWindowEndsByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := start(t, info(4, 32, 100, 4, 1), Options{Batching: EqualLength{Window: time.Second}})
		defer s.Close()
		_, fin := read(t, submit(t, s, t.Context(), ask(prompt(0, 5), 1)))
		if got := fin.Usage.Queued(); got != time.Second {
			t.Errorf("began after %v", got)
		}
	})
}

func TestReadersShareAStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stream := newStream()
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[int]int{}
		for range 4 {
			wg.Go(func() {
				for e := range stream.Events() {
					mu.Lock()
					seen[e.Index]++
					mu.Unlock()
					time.Sleep(time.Second)
				}
			})
		}
		synctest.Wait() // all wait
		began := time.Now()
		for i := range 8 {
			stream.Push(Event{Index: i})
		}
		stream.Push(Event{Index: 8, Finish: &Finish{}})
		wg.Wait()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("4 readers took %v for 9 events of a second", took)
		}
		for i := range 9 {
			if seen[i] != 1 {
				t.Errorf("event %d was seen %d times", i, seen[i])
			}
		}
	})
}

func TestQueueFullIsExact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := start(t, info(2, 32, 1000, 4, 1), Options{Limit: 5})
		defer s.Close()
		var all []*Stream
		for range 5 {
			all = append(all, submit(t, s, t.Context(), ask(prompt(0, 5), 0)))
		}
		time.Sleep(10 * time.Millisecond)
		_, err := s.Submit(t.Context(), ask(prompt(0, 5), 0))
		if full := (*QueueFull)(nil); !errors.As(err, &full) || full.Pending != 5 || full.Limit != 5 {
			t.Fatalf("%v", err)
		}
		if m := s.Metrics(); m.Queued != 3 || m.Running != 2 || s.Pending() != 5 {
			t.Errorf("%d queued, %d running", m.Queued, m.Running)
		}
		all[4].Close()
		submit(t, s, t.Context(), ask(prompt(0, 5), 0))
	})
}

func TestEngineFailure(t *testing.T) {
	for _, depth := range []int{1, 3} {
		for _, where := range []string{"submit", "wait"} {
			t.Run(fmt.Sprintf("%s/depth%d", where, depth), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					in := info(2, 32, 1000, 4, depth)
					s, f := start(t, in, Options{})
					if where == "submit" {
						f.failSubmit = 9
					} else {
						f.failWait = 9
					}
					var all []*Stream
					for i := range 10 {
						all = append(all, submit(t, s, t.Context(), ask(prompt(i, 5), 50)))
					}
					for i, stream := range all {
						got, fin := read(t, stream)
						var failed *EngineError
						if fin.Reason != Failed || !errors.As(fin.Err, &failed) || !errors.Is(fin.Err, errBroken) {
							t.Fatalf("request %d: %+v", i, fin)
						}
						want, _ := sequential(ask(prompt(i, 5), 50), in)
						if failed.Generated != len(got) || fin.Usage.Generated != len(got) || !slices.Equal(got, want[:len(got)]) {
							t.Errorf("request %d: %d tokens given out, the error says %d", i, len(got), failed.Generated)
						}
					}
					_, err := s.Submit(t.Context(), ask(prompt(0, 5), 0))
					if !errors.Is(err, errBroken) || s.Err() == nil {
						t.Errorf("after the failure: %v, %v", err, s.Err())
					}
					steps := len(f.steps)
					s.Close()
					if len(f.steps) != steps {
						t.Error("a failed engine was asked again")
					}
					checkClean(t, s.batch, f)
				})
			})
		}
	}
}

func TestCloseEndsEverythingAndLeavesTheEngineClean(t *testing.T) {
	for _, depth := range []int{1, 2} {
		bubble(t, func(t *testing.T) {
			s, f := start(t, info(2, 32, 1000, 4, depth), Options{})
			var all []*Stream
			for i := range 6 {
				all = append(all, submit(t, s, t.Context(), ask(prompt(i, 5), 0)))
			}
			tokens(t, all[0], 2)
			s.Close()
			s.Close()
			for _, stream := range all {
				if _, fin := read(t, stream); fin.Reason != Failed || !errors.Is(fin.Err, ErrClosed) {
					t.Errorf("%+v", fin)
				}
			}
			checkClean(t, s.batch, f)
			if len(f.results) != 0 {
				t.Error("a step was left in flight")
			}
			if _, err := s.Submit(t.Context(), ask(prompt(0, 5), 0)); !errors.Is(err, ErrClosed) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSubmitWithADeadContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, f := start(t, info(2, 32, 1000, 4, 1), Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Submit(ctx, ask(prompt(0, 5), 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		s.Close()
		if len(f.steps) != 0 {
			t.Error("it ran all the same")
		}
	})
}

// TestFull sees that a request says when room ends it rather than what it asked for.
func TestFull(t *testing.T) {
	for most, full := range map[int]int{0: 400, 1000: 400, 392: 400, 391: 0, 3: 0} {
		bubble(t, func(t *testing.T) {
			s, _ := start(t, info(2, 32, 100, 4, 1), Options{})
			defer s.Close()
			_, end := read(t, submit(t, s, t.Context(), ask(prompt(0, 9), most)))
			want := 9 + most
			if full > 0 {
				want = full
			}
			if end.Reason != Length || end.Usage.Full != full || end.Usage.Prompt+end.Usage.Generated != want {
				t.Errorf("%d tokens asked for: %+v, want room for %d", most, end, full)
			}
		})
	}
}

func TestUsageAndMetrics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		s, _ := start(t, info(2, 32, 100, 4, 1), Options{})
		defer s.Close()
		var all []*Stream
		for range 3 {
			all = append(all, submit(t, s, t.Context(), ask(prompt(0, 9), 10)))
		}
		_, first := read(t, all[0])
		for _, stream := range all[1:] {
			read(t, stream)
		}
		want := Usage{Prompt: 9, Generated: 10, Submitted: began, Started: began, First: began.Add(time.Millisecond), Last: began.Add(10 * time.Millisecond)}
		if first.Usage != want || want.Queued() != 0 || want.TimeToFirst() != time.Millisecond || want.PerToken() != time.Millisecond {
			t.Errorf("%+v\nwant %+v", first.Usage, want)
		}
		third := all[2].Finish().Usage
		if third.Cached != 8 || third.Queued() != 10*time.Millisecond || third.TimeToFirst() != 11*time.Millisecond {
			t.Errorf("%+v", third)
		}
		m := s.Metrics()
		if m.Steps != 20 || m.StepTime != time.Millisecond || m.Generated != 30 || m.Prompt != 9+1+1 || m.Finished[Length] != 3 {
			t.Errorf("%+v", m)
		}
		if took := time.Since(began).Seconds(); m.Rate != 30/took {
			t.Errorf("%g tokens/s, want 30 in %g s", m.Rate, took)
		}
		if hit := m.KV.HitRate(); m.KV.Used != 0 || hit != 16.0/27 {
			t.Errorf("%+v", m.KV)
		}
		time.Sleep(time.Minute)
		if m := s.Metrics(); m.Rate != 0 {
			t.Errorf("%g tokens/s after a minute of nothing", m.Rate)
		}
	})
}

// Many clients at once, some of which go away, over a pool that is too small,
// and an engine that may fail.
func TestConcurrentStorm(t *testing.T) {
	for seed := range uint64(40) {
		bubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 4))
			in := info(1+rng.IntN(4), 16, 12+rng.IntN(20), 1+rng.IntN(4), 1+rng.IntN(3))
			s, f := start(t, in, Options{Chunk: 4})
			if seed%4 == 0 {
				f.failWait = engine.Ticket(20 + rng.IntN(100))
			}
			var wg sync.WaitGroup
			for range 30 {
				req := ask(prompt(rng.IntN(3), 1+rng.IntN(s.batch.longest()-1)), 1+rng.IntN(20))
				at, end := rng.IntN(60), rng.IntN(4)
				if end == 3 {
					req.Deadline = time.Now().Add(time.Duration(rng.IntN(80)) * time.Millisecond)
				}
				wg.Go(func() { client(t, s, req, in, at, end) })
			}
			wg.Wait()
			s.Close()
			checkClean(t, s.batch, f)
		})
	}
}

func client(t *testing.T, s *Scheduler, req Request, in engine.Info, at, end int) {
	time.Sleep(time.Duration(at) * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := s.Submit(ctx, req)
	if err != nil {
		if !errors.Is(err, errBroken) {
			t.Error(err)
		}
		return
	}
	if end == 1 {
		time.AfterFunc(time.Duration(at)*time.Millisecond, cancel)
	} else if end == 2 {
		time.AfterFunc(time.Duration(at)*time.Millisecond, stream.Stop)
	}
	got, fin := read(t, stream)
	want, reason := sequential(req, in)
	if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
		t.Errorf("%v is not a beginning of %v", got, want)
	}
	whole := fin.Reason == Length && len(got) == len(want) && reason == Length
	cut := map[Reason]bool{Cancelled: end == 1, Stopped: end == 2, Expired: end == 3, Failed: errors.Is(fin.Err, errBroken)}[fin.Reason]
	if !whole && !cut {
		t.Errorf("ended with %v (%v) after %d of %d tokens", fin.Reason, fin.Err, len(got), len(want))
	}
}
