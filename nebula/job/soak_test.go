package job

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"forgekernel/nebula/launch"
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
		in := f.injury(t, l, i)
		s := spec(l.TP, l.PP)
		s.Deadline, s.Assembly = faultDeadline, faultDeadline
		mark := "JOB_TEST_MARK=" + t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
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
		cancel()
		for _, err := range failures {
			f.judge(t, in, err)
		}
		_, happened := os.Stat(in.Note)
		if len(failures) > 0 && happened != nil {
			t.Errorf("%+v: it has not happened, but %v", in, failures[0])
		}
		counts[len(failures) > 0]++
		nothingOf(t, mark, left)
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

// held is what this process holds.
type held struct{ goroutines, files int }

func heldHere() held {
	files, _ := filepath.Glob("/proc/self/fd/*")
	return held{runtime.NumGoroutine(), len(files)}
}
