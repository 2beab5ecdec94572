package nebula

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"forgekernel/display"
	"forgekernel/nebula/job"
)

// TestLayouts compares the ways to run a job.
func TestLayouts(t *testing.T) {
	one := begin(t)
	want, err := one.Run(t.Context(), "hello", MaxTokens(10))
	if err != nil || len(want.Tokens) != 10 || want.Reason != Length {
		t.Fatalf("%+v, %v", want, err)
	}
	for name, opts := range map[string][]Option{
		"processes": {TP(2)}, "stages": {TP(2), PP(2)}, "goroutines": {TP(3), InProcess()}, "replicas": {Replicas(2)}, "replicas of processes": {TP(2), Replicas(2)},
	} {
		t.Run(name, func(t *testing.T) {
			j := begin(t, append(opts, Name(name))...)
			got, err := j.Run(t.Context(), "hello", MaxTokens(10))
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) || got.Text != want.Text {
				t.Errorf("%v %q, not %v %q; %v", got.Tokens, got.Text, want.Tokens, want.Text, err)
			}
			s := j.Status()
			if s.State != "healthy" || len(s.Ranks) != j.Ranks() || s.Generated != 10 {
				t.Errorf("%+v", s)
			}
			for i, r := range s.Ranks {
				if r.Rank != i || r.KVPlanned != r.KVHeld || r.KVPlanned == 0 || r.State == "gone" {
					t.Errorf("%+v", r)
				}
				if d := j.Rank(i); d.Rank != i || d.Stage != r.Stage {
					t.Errorf("rank %d says that it is %d on stage %d", i, d.Rank, d.Stage)
				}
			}
		})
	}
}

// TestOneOfAName starts jobs over one another.
func TestOneOfAName(t *testing.T) {
	first := begin(t, TP(2))
	pids := first.replicas[0].(*job.Processes).Ranks()
	other := begin(t, Name("other"))
	second := begin(t)
	if s := first.Status(); s.State != "closed" || len(s.Ranks) != 2 {
		t.Errorf("%+v", s)
	}
	for i := range 2 {
		if pids.Process(i).Alive() {
			t.Errorf("rank %d of the earlier job runs", i)
		}
	}
	if _, err := first.Run(t.Context(), "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := first.Describe(t.Context(), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	for _, j := range []*Job{other, second} {
		if _, err := j.Run(t.Context(), "x", MaxTokens(2)); err != nil {
			t.Error(err)
		}
	}
	if err := CloseAll(); err != nil {
		t.Error(err)
	}
	for _, j := range []*Job{other, second} {
		if s := j.Status().State; s != "closed" {
			t.Errorf("job %q is %s", j.Name(), s)
		}
	}
	if len(Jobs()) > 0 {
		t.Error("closed jobs are kept")
	}
}

// TestSameNameAtOnce starts jobs of one name from many goroutines: one is left.
func TestSameNameAtOnce(t *testing.T) {
	m := Seeded(TinyDecoder(), 3)
	var group sync.WaitGroup
	list := make([]*Job, 5)
	for i := range list {
		group.Go(func() {
			var err error
			if list[i], err = Start(t.Context(), m, small(Name("race"))...); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	healthy := 0
	for _, j := range list {
		if j.Status().State == "healthy" {
			healthy++
		}
	}
	if healthy != 1 {
		t.Errorf("%d jobs of one name run", healthy)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("mine"))
	if _, err := Start(ctx, m, small(TP(2))...); err == nil || err.Error() != "mine" {
		t.Errorf("a start that nobody waits for: %v", err)
	}
	if err := CloseAll(); err != nil {
		t.Error(err)
	}
}

// TestFailure kills a rank in the middle of a request.
func TestFailure(t *testing.T) {
	j := beginEndless(t, TP(2), Name("frail"))
	next, stop := iter.Pull2(j.Generate(t.Context(), "hello"))
	defer stop()
	if _, err, _ := next(); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(j.replicas[0].(*job.Processes).Ranks().Process(1).PID, syscall.SIGKILL)
	var err error
	for ok := true; ok && err == nil; _, err, ok = next() {
	}
	var rank *RankError
	if !errors.As(err, &rank) || rank.Rank != 1 || rank.Op == "" || !strings.HasPrefix(err.Error(), "job frail: ") || hint(err) == "" {
		t.Errorf("the request ends with %v", err)
	}
	if _, again := j.Run(t.Context(), "hello"); !errors.As(again, &rank) {
		t.Errorf("a later request ends with %v", again)
	}
	s := j.Status()
	for s.Ranks[1].Exit == nil {
		s = j.Status() // the operating system tells in its own time
	}
	if s.State != "failed" || !errors.As(s.Err, &rank) || s.Ranks[1].State != "gone" {
		t.Errorf("%+v", s)
	}
	text := s.Display().Data["text/plain"].(string)
	for _, part := range []string{"failed", "rank 1", "SIGKILL", "nebula.Launch starts it again"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	if err := j.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	next2 := begin(t, TP(2), Name("frail"))
	if _, err := next2.Run(t.Context(), "hello", MaxTokens(3)); err != nil {
		t.Errorf("started again: %v", err)
	}
}

// TestReplicas loses one of two replicas.
func TestReplicas(t *testing.T) {
	j := begin(t, TP(2), Replicas(2))
	syscall.Kill(j.replicas[0].(*job.Processes).Ranks().Process(0).PID, syscall.SIGKILL)
	<-j.replicas[0].Over()
	for range 4 {
		if _, err := j.Run(t.Context(), "hello", MaxTokens(3)); err != nil {
			t.Error(err)
		}
	}
	if s := j.Status(); s.State != "failed" || len(s.Ranks) != 4 || s.Generated != 12 || j.Rank(3).Rank != 3 {
		t.Errorf("%+v", s)
	}
	if _, err := j.Describe(t.Context(), 4); err == nil {
		t.Error("there is a rank 4")
	}
}

// TestAffinity sends prompts that begin alike to two replicas that are processes: they go
// to the one that has the beginning, unless that has too many requests.
func TestAffinity(t *testing.T) {
	begins := []string{"the first of three beginnings, ", "another one, as long as that, ", "and one that is the last of all, "}
	cached := func(j *Job, ends string) (n int) {
		for _, end := range strings.Split(ends, "") {
			for _, b := range begins {
				c, err := j.Run(t.Context(), b+end, MaxTokens(2))
				if err != nil {
					t.Fatal(err)
				}
				if c.Usage.Cached > 0 {
					n++
				}
			}
		}
		return n
	}
	// Without affinity the requests take turns, so that the odd number of beginnings is
	// computed on both.
	for affinity, want := range map[int]int{0: 12 - 2*len(begins), 4: 12 - len(begins)} {
		j := begin(t, TP(2), Replicas(2), Affinity(affinity))
		if n := cached(j, "abcd"); n != want {
			t.Errorf("affinity %d: %d of 12 prompts are found in a cache, not %d", affinity, n, want)
		}
	}
	j := beginEndless(t, TP(2), Replicas(2), Affinity(1), BlockSize(8), Blocks(1<<12))
	cached(j, "a")
	var open []*generation
	for range 6 { // one more than the other, and then in turn
		g, err := j.openText(t.Context(), begins[0]+"x", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.stream.Close()
		open = append(open, g)
	}
	if a, b := j.replicas[0].Pending(), j.replicas[1].Pending(); a+b != len(open) || a-b > 2 || b-a > 2 {
		t.Errorf("%d requests with one beginning are divided into %d and %d", len(open), a, b)
	}
}

// TestNoLaunch checks the panics that a cell sees.
func TestNoLaunch(t *testing.T) {
	m := Seeded(TinyDecoder(), 3)
	for want, opts := range map[string][]Option{
		"TP 3": {TP(4)}, "int9": {DType("int9")}, "replicas": {Replicas(0)}, "abacus": {Backend("abacus")}, "blocks": {Blocks(-1)}, "affinity": {Affinity(-1)},
	} {
		func() {
			defer func() {
				e, ok := recover().(*Error)
				if !ok || !strings.Contains(e.Error(), want) || strings.Contains(e.Error(), "\n") {
					t.Errorf("%s: %v", want, e)
				}
			}()
			Launch(m, opts...)
		}()
	}
	defer func() {
		if e, ok := recover().(*Error); !ok || !errors.Is(e, fs.ErrNotExist) {
			t.Errorf("%v", e)
		}
	}()
	Load("no/such/model.gguf")
}

// sink keeps what is shown.
type sink struct {
	mu      sync.Mutex
	outputs []display.Output
	more    chan struct{}
}

func (s *sink) Show(o display.Output) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outputs = append(s.outputs, o)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return nil
}

func (s *sink) Clear(bool) error { return nil }

func TestWatch(t *testing.T) {
	j := begin(t)
	s := &sink{more: make(chan struct{}, 1)}
	stop := j.Watch(display.WithSink(t.Context(), s))
	<-s.more
	if _, err := j.Run(t.Context(), "hello", MaxTokens(7)); err != nil {
		t.Fatal(err)
	}
	<-s.more
	stop()
	stop()
	n := len(s.outputs)
	first, last := s.outputs[0], s.outputs[n-1]
	if first.Update || !last.Update || first.ID != last.ID || first.ID == "" {
		t.Errorf("%d outputs, from %+v to %+v", n, first, last)
	}
	if text := last.Bundle.Data["text/plain"].(string); !strings.Contains(text, "7 generated") {
		t.Error(text)
	}
	stop = j.Watch(display.WithSink(t.Context(), s))
	j.Close()
	for { // the end of the job ends it, too
		s.mu.Lock()
		text := s.outputs[len(s.outputs)-1].Bundle.Data["text/plain"].(string)
		s.mu.Unlock()
		if strings.Contains(text, "closed") {
			break
		}
		<-s.more
	}
	stop()
}
