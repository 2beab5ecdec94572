package job

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"forgekernel/nebula/launch"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// TestSoak starts one job after another, with 16 requests at a time. In most of them
// something happens, at some time or too late. Requests that end well have the right
// answer, and this process holds no more at the end than at the beginning.
func TestSoak(t *testing.T) {
	n, _ := faultPoints()
	random := rand.New(rand.NewPCG(uint64(n), 4))
	m := seeded(t, small)
	right()
	before := heldHere()
	counts := make(map[bool]int)
	for i := range n {
		f := matrix[random.IntN(len(matrix))]
		f.events = 2000
		l := layouts[random.IntN(len(layouts))]
		failed, told := f.soak(t, m, l, i, false)
		for tries := 2; !told; tries-- {
			t.Log("the machine was too busy: again")
			failed, told = f.soak(t, m, l, i, tries == 1)
		}
		counts[failed]++
	}
	t.Logf("%d jobs failed, %d did not", counts[true], counts[false])
	for limit := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now := heldHere()
		if now.goroutines <= before.goroutines && now.files <= before.files {
			return
		}
		if time.Now().After(limit) {
			buf := make([]byte, 1<<20)
			t.Fatalf("there were %+v, there are %+v:\n%s", before, now, buf[:runtime.Stack(buf, true)])
		}
	}
}

// soak is one of these jobs: whether it failed, and whether that tells something: as
// with [fault.happens], a deadline that passed before anything has happened does not.
func (f fault) soak(t *testing.T, m *model.Model, l shard.Layout, point int, last bool) (failed, told bool) {
	in := f.injury(t, l, point)
	s := spec(l.TP, l.PP)
	s.Deadline, s.Assembly = faultDeadline, 3*faultDeadline
	mark := "JOB_TEST_MARK=" + t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := start(ctx, m, s, launch.Spec{Command: Command, Grace: grace, Epoch: faultEpoch, Env: append(in.environment(), mark)})
	failures := []error{err}
	var left holdings
	if err == nil {
		left = holdingsOf(p)
		failures = work(ctx, t, p, 16, 3, f.corrupt)
		if err := p.Close(); err != nil {
			t.Errorf("%+v: Close: %v", in, err)
		}
	}
	if ctx.Err() != nil {
		t.Errorf("%+v: it takes too long", in)
	}
	nothingOf(t, mark, left)
	if len(failures) == 0 {
		return false, true
	}
	if !last && in.early(p, failures[0]) {
		return true, false
	}
	if !in.happened() {
		t.Errorf("%+v: it has not happened, but %v; the ranks: %v", in, failures[0], exits(p))
	}
	for _, err := range failures {
		f.judge(t, in, err)
	}
	return true, true
}

// exits tells how the ranks of a job have ended, if it had any.
func exits(p *Processes) []launch.Exit {
	if p == nil {
		return nil
	}
	return p.Exits()
}

// held is what this process holds.
type held struct{ goroutines, files int }

func heldHere() held {
	files, _ := filepath.Glob("/proc/self/fd/*")
	return held{runtime.NumGoroutine(), len(files)}
}
