package collective

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// outcome is how a rank's calls ended.
type outcome struct {
	Kinds            []string // of the error, by errors.Is
	Rank, Peer       int
	Epoch            uint32
	Op, Text         string
	After            time.Duration // from the last call's begin
	MemoryLeftMapped int
}

func init() {
	roles["loop"] = loopRole
	roles["ahead"] = aheadRole
}

// loopRole makes calls of all kinds until one fails, and reports that.
func loopRole(r role, g Group, report func(any)) any {
	ctx := context.Background()
	plan := rand.New(rand.NewPCG(1, 2)) // the same on all ranks
	next, before := (g.Rank()+1)%g.Size(), (g.Rank()+g.Size()-1)%g.Size()
	var err error
	var begun time.Time
	for i := 0; err == nil; i++ {
		if i == 3 {
			g.(*group).options.Timeout = r.Timeout
			report("ready")
		}
		n := plan.IntN(20_000)
		x, all := one(tensor.F32, n), one(tensor.F32, n*g.Size())
		begun = time.Now()
		switch i % 5 {
		case 0:
			err = g.AllReduce(ctx, backend.Sum, x)
		case 1:
			err = g.AllGather(ctx, all, x)
		case 2:
			err = g.Broadcast(ctx, i%g.Size(), x)
		case 3:
			err = errors.Join(g.Send(ctx, next, one(tensor.F32, 8000)), g.Recv(ctx, before, one(tensor.F32, 8000)))
		case 4:
			err = g.ReduceScatter(ctx, backend.Max, x, all)
		}
	}
	o := outcome{Text: err.Error(), After: time.Since(begun)}
	for name, kind := range map[string]error{"dead": ErrDead, "timeout": ErrTimeout, "aborted": ErrAborted, "diverged": ErrDiverged} {
		if errors.Is(err, kind) {
			o.Kinds = append(o.Kinds, name)
		}
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		o.Rank, o.Peer, o.Epoch, o.Op = e.Rank, e.Peer, e.Epoch, e.Op
	}
	g.Close()
	maps, _ := os.ReadFile("/proc/self/maps")
	o.MemoryLeftMapped = strings.Count(string(maps), "memfd:nebula")
	return o
}

func (o *outcome) is(kind string) bool { return strings.Contains(fmt.Sprint(o.Kinds), kind) }

// points is how many moments of a fault are tried; the full matrix sets it.
func points() int {
	if n, err := strconv.Atoi(os.Getenv("NEBULA_FAULT_POINTS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return 1
	}
	return 3
}

// faulty starts ranks that work, and returns when they do, at some moment.
func faulty(t *testing.T, size, point int, across bool, timeout time.Duration) []*process {
	t.Helper()
	list := start(t, role{Name: "loop", Size: size, Across: across, Timeout: timeout, Buffer: leastBuffer})
	for i, text := range reads[string](list) {
		if text != "ready" {
			t.Fatalf("rank %d says %q", i, text)
		}
	}
	time.Sleep(time.Duration(rand.New(rand.NewPCG(uint64(point), 7)).IntN(20_000)) * time.Microsecond)
	return list
}

func kill(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// A rank is killed: the others know at once, long before the deadline.
func TestKilledRank(t *testing.T) {
	for _, across := range []bool{false, true} {
		for point := range points() {
			t.Run(fmt.Sprintf("across=%v/%d", across, point), func(t *testing.T) {
				list := faulty(t, 3, point, across, time.Hour)
				victim := point % 3
				kill(t, list[victim], syscall.SIGKILL)
				for i, p := range list {
					if i == victim {
						continue
					}
					if o := read[outcome](p); !o.is("dead") || o.Rank != i || o.Peer != victim || o.Epoch != 2 || o.Op == "" || o.MemoryLeftMapped != 0 {
						t.Errorf("rank %d after rank %d was killed: %+v", i, victim, o)
					}
				}
			})
		}
	}
}

// A rank is stopped: the others know by their deadline, and it when it goes on.
func TestStoppedRank(t *testing.T) {
	for _, across := range []bool{false, true} {
		for point := range points() {
			t.Run(fmt.Sprintf("across=%v/%d", across, point), func(t *testing.T) {
				list := faulty(t, 3, point, across, time.Second)
				victim := point % 3
				kill(t, list[victim], syscall.SIGSTOP)
				for i, p := range list {
					if i == victim {
						continue
					}
					if o := read[outcome](p); !o.is("timeout") || o.Rank != i || o.Peer != victim || o.Op == "" {
						t.Errorf("rank %d after rank %d was stopped: %+v", i, victim, o)
					}
				}
				kill(t, list[victim], syscall.SIGCONT)
				if o := read[outcome](list[victim]); !o.is("timeout") && !o.is("dead") && !o.is("aborted") || o.Rank != victim {
					t.Errorf("rank %d when it goes on: %+v", victim, o)
				}
			})
		}
	}
}

// aheadRole has rank 0 send and exit at once; rank 1 comes later.
func aheadRole(r role, g Group, report func(any)) any {
	x := sample(tensor.F32, 12_000, 3, 3)
	if g.Rank() == 0 {
		return fmt.Sprint(g.Send(context.Background(), 1, x))
	}
	for g.(*group).links[0].ends.Load() > 0 && len(g.(*group).links[0].in.span()) < 12_000*4 {
		time.Sleep(time.Millisecond)
	}
	got := one(tensor.F32, 12_000)
	if err := g.Recv(context.Background(), 0, got); err != nil {
		return err.Error()
	}
	return fmt.Sprint(same("recv", got, x))
}

// What a process sent before it closed the group arrives after its end.
func TestSenderHasEnded(t *testing.T) {
	for _, across := range []bool{false, true} {
		list := start(t, role{Name: "ahead", Size: 2, Across: across})
		for i, text := range reads[string](list) {
			if text != "<nil>" {
				t.Errorf("across=%v, rank %d: %s", across, i, text)
			}
		}
	}
}
