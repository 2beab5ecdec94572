package collective

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// one is a tensor for calls that fail.
func one(dtype tensor.DType, shape ...int) *tensor.Tensor {
	t, err := tensor.Zeros(dtype, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

// A call of one rank, for ranks that do not make the same.
type action func(ctx context.Context, g Group) error

func allReduce(how backend.Reduction, dtype tensor.DType, shape ...int) action {
	return func(ctx context.Context, g Group) error { return g.AllReduce(ctx, how, one(dtype, shape...)) }
}

func allGather(dtype tensor.DType, n int) action {
	return func(ctx context.Context, g Group) error {
		return g.AllGather(ctx, one(dtype, n*g.Size()), one(dtype, n))
	}
}

func broadcast(root, n int) action {
	return func(ctx context.Context, g Group) error { return g.Broadcast(ctx, root, one(tensor.F32, n)) }
}

func barrier(ctx context.Context, g Group) error { return g.Barrier(ctx) }

func sendTo(peer, n int) action {
	return func(ctx context.Context, g Group) error {
		for { // a send alone does not see what the other rank does
			if err := g.Send(ctx, peer, one(tensor.F32, n)); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func recvFrom(peer, n int) action {
	return func(ctx context.Context, g Group) error { return g.Recv(ctx, peer, one(tensor.F32, n)) }
}

func TestDivergence(t *testing.T) {
	for _, c := range []struct {
		name      string
		zero, one action
		want      string // in the error of both
	}{
		{"shape", allReduce(backend.Sum, tensor.F32, 8, 64), allReduce(backend.Sum, tensor.F32, 8, 32),
			"rank 0 calls all_reduce sum f32[8,64] as number 2, rank 1 calls all_reduce sum f32[8,32] as number 2"},
		{"dtype", allReduce(backend.Sum, tensor.F32, 8), allReduce(backend.Sum, tensor.BF16, 8),
			"rank 0 calls all_reduce sum f32[8] as number 2, rank 1 calls all_reduce sum bf16[8] as number 2"},
		{"reduction", allReduce(backend.Sum, tensor.F32, 8), allReduce(backend.Max, tensor.F32, 8),
			"rank 0 calls all_reduce sum f32[8] as number 2, rank 1 calls all_reduce max f32[8] as number 2"},
		{"operation", allReduce(backend.Sum, tensor.F32, 8), allGather(tensor.F32, 8),
			"rank 0 calls all_reduce sum f32[8] as number 2, rank 1 calls all_gather f32[8] as number 2"},
		{"large", allReduce(backend.Sum, tensor.F32, 1<<20), allGather(tensor.F32, 1<<20),
			"rank 0 calls all_reduce sum f32[1048576] as number 2, rank 1 calls all_gather f32[1048576] as number 2"},
		{"root", broadcast(0, 8), broadcast(1, 8),
			"rank 0 calls broadcast f32[8] of rank 0 as number 2, rank 1 calls broadcast f32[8] of rank 1 as number 2"},
		{"barrier", barrier, broadcast(1, 0),
			"rank 0 calls barrier as number 2, rank 1 calls broadcast f32[0] of rank 1 as number 2"},
		{"send", sendTo(1, 8), allReduce(backend.Sum, tensor.F32, 8),
			"rank 0 calls send f32[8] to rank 1 as number 1, rank 1 calls all_reduce sum f32[8] as number 2"},
		{"message", recvFrom(1, 16), sendTo(0, 8),
			"rank 0 calls recv f32[16] from rank 1 as number 1, rank 1 calls send f32[8] to rank 0 as number 1"},
		{"recv", recvFrom(1, 16), barrier,
			"rank 0 calls recv f32[16] from rank 1 as number 1, rank 1 calls barrier as number 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
				groups := make(2, Options{})
				must(t, groups, func(g Group) error { return g.Barrier(t.Context()) })
				errs := each(groups, func(g Group) error { return []action{c.zero, c.one}[g.Rank()](t.Context(), g) })
				for i, err := range errs {
					var e *Error
					if !errors.As(err, &e) || !errors.Is(err, ErrDiverged) || e.Rank != i || !strings.Contains(err.Error(), c.want) {
						t.Errorf("rank %d: %v, want %s", i, err, c.want)
					}
					if again := groups[i].Barrier(t.Context()); again != err {
						t.Errorf("rank %d: %v after %v", i, again, err)
					}
				}
			})
		})
	}
}

// A rank that makes one call less is found out by the number of the next.
func TestDivergenceByNumber(t *testing.T) {
	groups := closing(t, Local(3, Options{}))
	errs := each(groups, func(g Group) error {
		for i := range 3 {
			if i == 1 && g.Rank() == 2 {
				continue
			}
			if err := g.AllReduce(t.Context(), backend.Sum, one(tensor.F32, 1+i%2)); err != nil {
				return err
			}
		}
		return nil
	})
	for i, err := range errs {
		if !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), "all_reduce sum f32[1] as number 2") {
			t.Errorf("rank %d: %v", i, err)
		}
	}
}

func TestGroupsDisagree(t *testing.T) {
	for _, a := range arrangements[1:] {
		t.Run(a.name, func(t *testing.T) {
			groups := a.make(t, 3, Options{Timeout: 2 * time.Second})
			errs := each(groups[:2], func(g Group) error {
				_, err := g.Sub("tp", [][]int{{0, 1}, {1, 0}}[g.Rank()])
				return err
			})
			for i, err := range errs {
				if err == nil || i == 0 && !strings.Contains(err.Error(), "rank 0 makes group world/tp of ranks [0 1] in epoch 5 with rings of 1048576 bytes, rank 1 makes group world/tp of ranks [1 0]") {
					t.Errorf("rank %d: %v", i, err)
				}
			}
		})
	}
	t.Run("local", func(t *testing.T) {
		groups := closing(t, Local(3, Options{}))
		if _, err := groups[0].Sub("tp", []int{0, 1}); err != nil {
			t.Fatal(err)
		}
		_, err := groups[1].Sub("tp", []int{1, 2})
		if want := "group world/tp: rank 1 wants ranks [1 2] in it, another wants [0 1]"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	})
}

// failed checks a failure that all given ranks see, one of them first.
func failed(t *testing.T, errs []error, kind error, peer int, text string) {
	t.Helper()
	for i, err := range errs {
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, kind) || e.Peer != peer || !strings.Contains(err.Error(), text) {
			t.Errorf("rank %d: %v, want a failure of rank %d: %v, %s", i, err, peer, kind, text)
		}
	}
}

// untilFailure repeats a call that may still find what the others wrote before
// they failed.
func untilFailure(f func() error) error {
	for {
		if err := f(); err != nil {
			return err
		}
	}
}

// patient starts a call of a rank that fails when another one does, and returns when
// it waits.
func patient(t *testing.T, g Group, call func() error) <-chan error {
	t.Helper()
	g.(*group).options.Timeout = time.Hour
	done := background(call)
	for g.(*group).waiting.Load() == 0 {
		select {
		case err := <-done:
			t.Fatalf("rank %d does not wait: %v", g.Rank(), err)
		case <-time.After(time.Millisecond):
		}
	}
	return done
}

func TestTimeout(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		t.Run("option", func(t *testing.T) {
			groups := make(3, Options{Timeout: 60 * time.Millisecond})
			reduce := func(g Group) error { return g.AllReduce(t.Context(), backend.Sum, one(tensor.F32, 5000)) }
			done := patient(t, groups[1], func() error { return reduce(groups[1]) })
			errs := []error{reduce(groups[0]), <-done}
			failed(t, errs, ErrTimeout, 2, "at all_reduce number 1:")
			failed(t, errs, ErrTimeout, 2, "rank 2 did not come within 60ms")
			err := untilFailure(func() error { return reduce(groups[2]) })
			if !errors.Is(err, ErrAborted) || !errors.Is(err, ErrTimeout) {
				t.Errorf("rank 2, too late: %v", err)
			}
		})
		t.Run("context", func(t *testing.T) {
			groups := make(4, Options{})
			done := patient(t, groups[1], func() error { return groups[1].Barrier(t.Context()) })
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
			defer cancel()
			failed(t, []error{groups[0].Barrier(ctx), <-done}, ErrTimeout, 2, "ranks 2 and 3 did not come within")
		})
		t.Run("recv", func(t *testing.T) {
			groups := make(2, Options{Timeout: 30 * time.Millisecond})
			err := groups[1].Recv(t.Context(), 0, one(tensor.F32, 4))
			failed(t, []error{err}, ErrTimeout, 0, "rank 0 did not come within 30ms")
		})
	})
}

// Of the time in which a rank cannot look little counts, but where its context ends.
func TestLimit(t *testing.T) {
	begun := time.Now()
	g := closing(t, Local(2, Options{Timeout: time.Minute}))[0].(*group)
	g.begun, g.looked, g.ctx = begun, begun, t.Context()
	for _, c := range []struct{ looked, now, want time.Duration }{
		{0, nap, time.Minute},
		{nap, nap + time.Minute/share, time.Minute},
		{nap, nap + time.Minute/share + time.Hour, time.Minute + time.Hour},
		{2 * time.Hour, 2*time.Hour + nap, time.Minute + time.Hour},
		{2 * time.Hour, 3*time.Hour + time.Minute/share, time.Minute + 2*time.Hour},
	} {
		g.looked = begun.Add(c.looked)
		g.sees(begun.Add(c.now))
		if got := g.limit().Sub(begun); got != c.want {
			t.Errorf("between looks at %v and %v the limit is %v, want %v", c.looked, c.now, got, c.want)
		}
	}
	end := begun.Add(30 * time.Second)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	g.ctx = ctx
	if got := g.limit(); !got.Equal(end) {
		t.Errorf("the limit is %v, after the end of the context, %v", got, end)
	}
}

// A rank tells for whom it waits, as the job numbers it, while it does.
func TestWaits(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(3, Options{Timeout: time.Minute})
		pair := []Group{nil, nil}
		must(t, groups[1:], func(g Group) error {
			sub, err := g.Sub("pair", []int{2, 1})
			if err == nil {
				pair[sub.Rank()] = sub
			}
			return err
		})
		closing(t, pair)
		awaits := func(want int) {
			t.Helper()
			for pair[1].Stats().Waits != want {
				time.Sleep(time.Millisecond) // the test's time limit is the only one
			}
		}
		awaits(-1)
		received := patient(t, pair[1], func() error { return pair[1].Recv(t.Context(), 0, one(tensor.F32, 1)) })
		awaits(2)
		if got := pair[0].Stats().Waits; got != -1 {
			t.Errorf("a rank that does nothing waits for rank %d", got)
		}
		if err := pair[0].Send(t.Context(), 1, one(tensor.F32, 1)); err != nil {
			t.Error(err)
		}
		if err := <-received; err != nil {
			t.Error(err)
		}
		awaits(-1)
	})
}

// A rank that waits for one that waits names the latter, also if that one has more
// time.
func TestTimeoutAtSecondHand(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(4, Options{Timeout: 60 * time.Millisecond})
		next := func(g Group) error { return g.Recv(t.Context(), g.Rank()+1, one(tensor.F32, 1)) }
		second := patient(t, groups[2], func() error { return next(groups[2]) })
		first := patient(t, groups[1], func() error { return next(groups[1]) })
		failed(t, []error{next(groups[0]), <-first, <-second}, ErrTimeout, 3, "rank 3 did not come within 60ms")
	})
}

// Ranks that wait for each other say so.
func TestDeadlock(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(2, Options{Timeout: 60 * time.Millisecond})
		recv := func(g Group) error { return g.Recv(t.Context(), 1-g.Rank(), one(tensor.F32, 1)) }
		done := patient(t, groups[1], func() error { return recv(groups[1]) })
		for i, err := range []error{recv(groups[0]), <-done} {
			if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "did not come within 60ms: it waits for this rank") {
				t.Errorf("rank %d: %v", i, err)
			}
		}
	})
}

// A sender whose messages nobody takes waits when the ring is full.
func TestSendTimeout(t *testing.T) {
	groups := closing(t, Local(2, Options{Timeout: 30 * time.Millisecond, Buffer: leastBuffer}))
	var err error
	for i := 0; i < 3 && err == nil; i++ {
		err = groups[0].Send(t.Context(), 1, one(tensor.F32, 10_000))
	}
	failed(t, []error{err}, ErrTimeout, 1, "at send number 2: rank 1 did not take what is sent to it within 30ms")
}

func TestAbort(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(3, Options{})
		cause := errors.New("the disk is full")
		errs := each(groups, func(g Group) error {
			if g.Rank() != 1 {
				return g.Barrier(t.Context())
			}
			g.Abort(cause)
			return g.Barrier(t.Context())
		})
		failed(t, errs, ErrAborted, -1, cause.Error())
		if !errors.Is(errs[1], cause) {
			t.Errorf("%v does not wrap the cause", errs[1])
		}
		groups[1].Abort(errors.New("another"))
		for i, g := range groups {
			if err := g.Send(t.Context(), (i+1)%3, one(tensor.F32, 1)); err != errs[i] {
				t.Errorf("rank %d: %v after %v", i, err, errs[i])
			}
			if _, err := g.Sub("tp", []int{i}); err != errs[i] {
				t.Errorf("rank %d: a sub-group gives %v after %v", i, err, errs[i])
			}
		}
	})
}

func TestInterrupt(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(2, Options{})
		cause := errors.New("the cell was interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		err := groups[0].Barrier(ctx)
		failed(t, []error{err}, cause, -1, "it was interrupted: the cell was interrupted")
		err = untilFailure(func() error { return groups[1].Barrier(t.Context()) })
		failed(t, []error{err}, ErrAborted, -1, "aborted by rank 0: barrier number 1: it was interrupted")
	})
	t.Run("before", func(t *testing.T) {
		groups := closing(t, Local(2, Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		failed(t, []error{groups[0].Barrier(ctx)}, context.Canceled, -1, "it was interrupted")
		failed(t, []error{groups[1].Barrier(t.Context())}, ErrAborted, -1, "aborted by rank 0")
	})
}

// A rank that closes its group leaves what it has sent, and ends who waits for more.
func TestClose(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(2, Options{})
		want := sample(tensor.F32, 50_000, 1, 1)
		if err := groups[0].Send(t.Context(), 1, want); err != nil {
			t.Fatal(err)
		}
		if err := groups[0].Close(); err != nil {
			t.Fatal(err)
		}
		got := one(tensor.F32, 50_000)
		if err := groups[1].Recv(t.Context(), 0, got); err != nil {
			t.Fatal(err)
		}
		if err := same("recv", got, want); err != nil {
			t.Error(err)
		}
		failed(t, []error{groups[1].Recv(t.Context(), 0, got)}, ErrClosed, 0, "rank 0 has closed the group")
		failed(t, []error{groups[0].Barrier(t.Context())}, ErrClosed, -1, "the group is closed")
	})
}

// Close ends a call of the same rank.
func TestCloseDuringCall(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(2, Options{})
		done := background(func() error { return groups[0].Barrier(t.Context()) })
		for groups[0].Stats().Last.Seq == 0 {
			time.Sleep(time.Millisecond)
		}
		if err := groups[0].Close(); err != nil {
			t.Fatal(err)
		}
		failed(t, []error{<-done}, ErrClosed, -1, "the group is closed")
		err := untilFailure(func() error { return groups[1].Barrier(t.Context()) })
		failed(t, []error{err}, ErrClosed, 0, "rank 0 has closed the group")
	})
}

// slowPost takes its time to tell of an abort.
type slowPost struct {
	begun, end chan struct{}
	said       []string
}

func (p *slowPost) abort(*Error) {
	close(p.begun)
	<-p.end
	p.said = append(p.said, "abort")
}
func (p *slowPost) late(int) {}
func (p *slowPost) leave()   { p.said = append(p.said, "leave") }

// A rank that fails tells why before it says that it leaves, also if it is closed
// meanwhile: who hears that it leaves hears nothing after.
func TestLeavesLast(t *testing.T) {
	g := closing(t, Local(2, Options{}))[0].(*group)
	p := &slowPost{begun: make(chan struct{}), end: make(chan struct{})}
	g.links[1].post = p
	aborted := background(func() error { g.Abort(errors.New("the disk is full")); return nil })
	<-p.begun
	closed := background(g.Close)
	for !g.closed.Load() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond) // in which it should not leave
	close(p.end)
	<-aborted
	<-closed
	if want := "[abort leave]"; fmt.Sprint(p.said) != want {
		t.Errorf("the other rank hears %v, want %s", p.said, want)
	}
}

func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func TestStats(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		events := newEvents()
		groups := make(2, Options{Trace: events.add})
		must(t, groups, func(g Group) error {
			for range 3 {
				if err := g.AllReduce(t.Context(), backend.Sum, one(tensor.F32, 10)); err != nil {
					return err
				}
			}
			if g.Rank() == 0 {
				return g.Send(t.Context(), 1, one(tensor.F64, 10))
			}
			return g.Recv(t.Context(), 0, one(tensor.F64, 10))
		})
		for i, g := range groups {
			s := g.Stats()
			op := []Op{Send, Recv}[i]
			if r := s.Ops[AllReduce]; r.Count != 3 || r.Bytes != 120 || r.Total < r.Wait || r.Total == 0 {
				t.Errorf("rank %d: %+v", i, r)
			}
			if r := s.Ops[op]; r.Count != 1 || r.Bytes != 80 || s.Last.Op != op || s.Last.Seq != 1 || !s.Last.Done {
				t.Errorf("rank %d: %+v, %+v", i, r, s.Last)
			}
		}
		got := map[string]int{}
		for _, e := range events.all() {
			got[fmt.Sprintf("%s %v %d %d %d %v", e.Group, e.Op, e.Seq, e.Peer, e.Bytes, e.Err)]++
		}
		for text, n := range map[string]int{
			"world all_reduce 1 -1 40 <nil>": 2, "world all_reduce 2 -1 40 <nil>": 2, "world all_reduce 3 -1 40 <nil>": 2,
			"world send 1 1 80 <nil>": 1, "world recv 1 0 80 <nil>": 1,
		} {
			if got[text] != n {
				t.Errorf("%d events %q, want %d: %v", got[text], text, n, got)
			}
		}
	})
}
