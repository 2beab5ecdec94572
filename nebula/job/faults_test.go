package job

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
)

const (
	// faultDeadline is that of jobs in which something happens.
	faultDeadline = time.Second
	// faultEpoch has to be in every error.
	faultEpoch = 7
	// patience bounds what must happen; tests that pass do not wait for it.
	patience = 5 * time.Minute
	// atOnce is how many jobs are hurt at once: most of their time they wait.
	atOnce = 4
)

// layouts are those in which things happen.
var layouts = []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}, {TP: 2, PP: 2}, {TP: 4, PP: 1}}

// fault is a row of the matrix.
type fault struct {
	what   string
	across bool // hosts, as the ranks believe
	leader bool // rank 0 it is
	// anybody says that ranks cannot tell which end of a way did it, and corrupt that
	// results before that may be wrong.
	anybody, corrupt bool
	events           int // of which one is drawn; 0 means 60
	// says is how the process has ended, which the error has to tell.
	says string
}

var matrix = []fault{
	{what: "exits", says: "exited with status 3"},
	{what: "panics", says: "exited with status 2: panic: a mistake in a goroutine"},
	{what: "panics in a kernel", events: 30, says: "panic: index out of range"},
	{what: "is killed", says: "was ended by SIGKILL"},
	{what: "is killed", leader: true, says: "was ended by SIGKILL"},
	{what: "is killed", across: true, says: "was ended by SIGKILL"},
	{what: "is stopped"},
	{what: "is stopped", leader: true},
	{what: "is stopped", across: true},
	{what: "is stopped and goes on"},
	{what: "is told to end"},
	{what: "is slow in a kernel", events: 30},
	{what: "is slow in a call", events: 40},
	{what: "spoils a command", events: 30},
	{what: "spoils a stream", anybody: true},
	{what: "spoils a stream", across: true, anybody: true, corrupt: true},
	{what: "spoils memory", anybody: true, corrupt: true},
	{what: "spoils the control channel", leader: true},
	{what: "has no model"},
	{what: "is another version", anybody: true},
	{what: "does not come"},
	{what: "is stopped before it comes", says: "was stopped for 1s, and ended"},
}

func (f fault) String() string {
	s := "rank " + f.what
	if f.leader {
		s = "leader " + f.what
	}
	if f.across {
		s += ", across hosts"
	}
	return s
}

// faultPoints is how many random moments of a fault are tried, and in how many
// layouts each: the full matrix has all in all.
func faultPoints() (points, in int) {
	if n, err := strconv.Atoi(os.Getenv("NEBULA_FAULT_POINTS")); err == nil && n > 0 {
		return n, len(layouts)
	}
	if testing.Short() {
		return 1, 1
	}
	return 3, 1
}

// TestFaults hurts a rank at random moments. Whatever happens, all requests end once,
// with an error that names the rank, nothing is left, and the next job is well.
func TestFaults(t *testing.T) {
	points, in := faultPoints()
	var log record
	queue := make(chan func())
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for run := range queue {
				run()
			}
		})
	}
	for row, f := range matrix {
		for point := range points {
			for i := range in {
				l := layouts[(row+point+i)%len(layouts)]
				queue <- func() {
					t.Run(fmt.Sprintf("%v/%dx%d/%d", f, l.TP, l.PP, point), func(t *testing.T) {
						for tries := 3; !f.happens(t, l, point, &log, tries == 1); tries-- {
							t.Log("the machine was too busy: again")
						}
					})
				}
			}
		}
	}
	close(queue)
	all.Wait()
	t.Log(log.String())
}

// injury draws the moment of a fault, and the rank.
func (f fault) injury(t *testing.T, l shard.Layout, point int) injury {
	h := fnv.New64a()
	h.Write([]byte(f.String() + l.String()))
	random := rand.New(rand.NewPCG(h.Sum64(), uint64(point)))
	in := injury{What: f.what, Across: f.across, Note: filepath.Join(t.TempDir(), "note"), Seed: random.Uint64()}
	if f.events == 0 {
		f.events = 60
	}
	if in.Event = random.IntN(f.events); !f.leader {
		in.Rank = random.IntN(l.Ranks())
	}
	return in
}

// happens is one point of the matrix. It reports false when the deadline passed before
// anything has happened, which says nothing but that others keep the machine busy; that
// is a failure if it is the last try.
func (f fault) happens(t *testing.T, l shard.Layout, point int, log *record, last bool) bool {
	in := f.injury(t, l, point)
	s := spec(l.TP, l.PP)
	s.Deadline = faultDeadline
	if f.what == "does not come" {
		s.Assembly = 3 * faultDeadline // in which the others come
	}
	mark := "JOB_TEST_MARK=" + t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := start(ctx, seeded(t, small), s, launch.Spec{
		Command: Command, Grace: grace, Epoch: faultEpoch, Env: append(in.environment(), mark),
	})
	failures := []error{err}
	var left holdings
	if err == nil {
		left = holdingsOf(p)
		failures = work(ctx, t, p, len(prompts), 1<<30, f.corrupt)
	}
	seen := time.Now()
	if in.What == "is stopped and goes on" && p != nil {
		syscall.Kill(p.Ranks().Process(in.Rank).PID, syscall.SIGCONT)
	}
	if len(failures) == 0 || ctx.Err() != nil {
		t.Fatalf("%+v: nothing has happened", in)
	}
	if p != nil {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := len(p.Exits()); n != l.Ranks() {
			t.Errorf("%d of %d ranks have ended", n, l.Ranks())
		}
	}
	nothingOf(t, mark, left)
	if !last && in.early(p, failures[0]) {
		return false
	}
	right := true
	for _, err := range failures {
		right = f.judge(t, in, err) && right
	}
	log.add(f.String(), l, in.since(t, seen, failures[0]), time.Since(seen), right, failures[0])
	if !testing.Short() {
		again(t, l)
	}
	return true
}

// overdue are the errors of deadlines.
var overdue = regexp.MustCompile("did not come within|no sign of life|silent for|timeout|deadline exceeded")

// early reports whether a job has failed before anything has happened to it, since the
// deadline of a rank passed: of one that tells, or of one that left for that. Where a rank
// does not come the leader may not have, yet.
func (in injury) early(p *Processes, failure error) bool {
	if in.happened() {
		return in.What == "does not come" && strings.Contains(failure.Error(), "silent for")
	}
	said := []string{failure.Error()}
	for _, e := range exits(p) {
		said = append(said, e.Error())
	}
	return slices.ContainsFunc(said, overdue.MatchString)
}

func (in injury) happened() bool {
	_, err := os.Stat(in.Note)
	return err == nil
}

// since is how long before it was seen it has happened.
func (in injury) since(t *testing.T, seen time.Time, failure error) time.Duration {
	raw, err := os.ReadFile(in.Note)
	if err != nil {
		t.Errorf("%+v: it has not happened (%v), but: %v", in, err, failure)
		return 0
	}
	at, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return seen.Sub(time.Unix(0, at))
}

// judge checks what is said of a fault. It reports whether the right rank is blamed.
func (f fault) judge(t *testing.T, in injury, err error) bool {
	t.Helper()
	cause := (*engine.Error)(nil)
	if !errors.As(err, &cause) {
		t.Errorf("%+v: the error is no %T but %v", in, cause, err)
		return false
	}
	if cause.Epoch != faultEpoch || cause.Op == "" || strings.HasSuffix(err.Error(), "EOF") || !strings.Contains(err.Error(), f.says) {
		t.Errorf("%+v: it is said too little: %v", in, err)
	}
	if cause.Rank != in.Rank && !f.anybody {
		t.Errorf("%+v: rank %d is blamed: %v", in, cause.Rank, err)
	}
	return cause.Rank == in.Rank
}

// prompts are those of requests that run at the same time.
var prompts = [][]int32{{5, 3, 9, 1, 1, 2}, {1, 2}, {8, 8, 8, 4, 7, 6, 5, 4, 3, 2, 1, 9}, {3}}

const answered = 24 // tokens of an answer

// right are the answers to the prompts.
var right = sync.OnceValue(func() [][]int32 {
	var list [][]int32
	for _, prompt := range prompts {
		answer, err := reference(prompt)
		if err != nil {
			panic(err)
		}
		list = append(list, answer)
	}
	return list
})

// ask has one request answered, which has to end once. It returns why it did not
// end well.
func ask(ctx context.Context, t *testing.T, s serve.Service, i int, corrupt bool) error {
	stream, err := s.Submit(ctx, sched.Request{Prompt: prompts[i], Params: sample.Params{MaxTokens: answered}})
	if err != nil {
		return err
	}
	var list []int32
	var end *sched.Finish
	for e := range stream.Events() {
		if end != nil {
			t.Errorf("request %d goes on after its end, %+v", i, end)
		}
		if end = e.Finish; end == nil {
			list = append(list, e.Token)
		}
	}
	switch want := right()[i]; {
	case end == nil:
		t.Errorf("request %d does not end", i)
	case !corrupt && !slices.Equal(list, want[:min(len(want), len(list))]):
		t.Errorf("request %d is answered by %v, not by %v", i, list, want)
	case end.Reason == sched.Length && len(list) != len(want):
		t.Errorf("request %d ends after %v", i, list)
	case end.Reason == sched.Failed || end.Err != nil:
		return end.Err
	case end.Reason != sched.Length:
		t.Errorf("request %d ends with %+v", i, end)
	}
	return nil
}

// work has requests answered, some at a time, each so often or until the job fails.
// It returns all errors.
func work(ctx context.Context, t *testing.T, s serve.Service, atOnce, rounds int, corrupt bool) (failures []error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for range rounds {
				if err := ask(ctx, t, s, i%len(prompts), corrupt); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failures = append(failures, err)
					return
				}
			}
		})
	}
	all.Wait()
	return failures
}

// again starts a job as it should be, and asks it.
func again(t *testing.T, l shard.Layout) {
	p := running(t, seeded(t, small), spec(l.TP, l.PP))
	for i := range prompts {
		if err := ask(t.Context(), t, p, i, false); err != nil {
			t.Errorf("the next job: %v", err)
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("the next job: %v", err)
	}
}

// record is what was measured.
type record struct {
	mu   sync.Mutex
	rows map[string]*outcomes
}

// outcomes are those of one fault in one layout.
type outcomes struct {
	seen, gone []time.Duration
	right      int
	said       string
}

func (r *record) add(what string, l shard.Layout, seen, gone time.Duration, right bool, said error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = make(map[string]*outcomes)
	}
	key := fmt.Sprintf("%-42s %dx%d", what, l.TP, l.PP)
	o := r.rows[key]
	if o == nil {
		o = &outcomes{said: said.Error()}
		r.rows[key] = o
	}
	o.seen, o.gone = append(o.seen, seen), append(o.gone, gone)
	if right {
		o.right++
	}
}

// String is a table: of each fault and layout the time until all requests had ended,
// median and longest, that until nothing was left, how often the right rank was
// blamed, and what was said.
func (r *record) String() string {
	var b strings.Builder
	keys := make([]string, 0, len(r.rows))
	for key := range r.rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	fmt.Fprintf(&b, "%-46s %8s %8s %8s  %s\n", "", "seen", "at most", "gone", "blamed")
	for _, key := range keys {
		o := r.rows[key]
		slices.Sort(o.seen)
		ms := func(d time.Duration) int64 { return d.Milliseconds() }
		fmt.Fprintf(&b, "%-46s %5d ms %5d ms %5d ms  %d/%d  %s\n", key, ms(o.seen[len(o.seen)/2]), ms(o.seen[len(o.seen)-1]), ms(slices.Max(o.gone)), o.right, len(o.seen), o.said)
	}
	return b.String()
}
