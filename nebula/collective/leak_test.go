package collective

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// events collects what a trace is told.
type events struct {
	mu   sync.Mutex
	list []Event
}

func newEvents() *events { return &events{} }

func (e *events) add(v Event) {
	e.mu.Lock()
	e.list = append(e.list, v)
	e.mu.Unlock()
}

func (e *events) all() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list
}

// held is what this process has that a group could leave behind.
type held struct{ goroutines, files, maps, named int }

func holds(t *testing.T) held {
	files, err := os.ReadDir("/proc/self/fd") // sockets among them
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	named, err := filepath.Glob("/dev/shm/*nebula*")
	if err != nil {
		t.Fatal(err)
	}
	return held{runtime.NumGoroutine(), len(files), strings.Count(string(maps), "memfd:nebula"), len(named)}
}

// Groups that were closed, whether well or failed, leave nothing.
func TestNothingIsLeft(t *testing.T) {
	before := holds(t)
	for _, a := range arrangements {
		for _, fail := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", a.name, fail), func(t *testing.T) {
				groups := a.make(t, 3, Options{})
				must(t, groups, func(g Group) error {
					s, err := g.Sub("s", []int{2, 0, 1})
					if err != nil {
						return err
					}
					defer s.Close()
					if fail && g.Rank() == 1 {
						s.Abort(nil)
						return nil
					}
					if err := s.Barrier(t.Context()); err != nil && !fail {
						return err
					}
					return nil
				})
			})
		}
	}
	var after held
	for range 200 { // goroutines that have ended are counted for a moment
		if after = holds(t); after.goroutines <= before.goroutines && after.files <= before.files &&
			after.maps == 0 && after.named == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("there were %+v, there are %+v", before, after)
}

// Calls allocate nothing once the group is there.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, a := range arrangements {
		t.Run(a.name, func(t *testing.T) {
			groups := a.make(t, 3, Options{})
			const calls = 200
			run := func() {
				must(t, groups, func(g Group) error {
					ctx := context.Background()
					x, y, half := one(tensor.F32, 3000), one(tensor.F32, 9000), one(tensor.BF16, 3000)
					next, before := (g.Rank()+1)%3, (g.Rank()+2)%3
					for range calls {
						for _, err := range []error{
							g.AllReduce(ctx, backend.Sum, x), g.AllReduce(ctx, backend.Sum, y), g.AllReduce(ctx, backend.Max, half),
							g.AllGather(ctx, y, x), g.ReduceScatter(ctx, backend.Sum, x, y), g.Broadcast(ctx, 1, x), g.Barrier(ctx),
							g.Send(ctx, next, x), g.Recv(ctx, before, x),
						} {
							if err != nil {
								return err
							}
						}
					}
					return nil
				})
			}
			run()
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			run()
			runtime.ReadMemStats(&b)
			// The run itself makes tensors and goroutines; a call that allocated would show 600 times.
			if n := b.Mallocs - a.Mallocs; n > 300 {
				t.Errorf("%d allocations in %d rounds of calls", n, 3*calls)
			}
		})
	}
}
