package collective

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

func init() { roles["measure"] = measureRole }

// moments are the beginning and the end of a call in nanoseconds, on the clock that
// all processes of a host share.
type moments struct{ Begun, Ended int64 }

func clock() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// warm calls are made before those that are measured.
const warm = 200

// measureRole reduces tensors, and computes in between if it is told to, as a program
// does whose layers are divided. How long ranks compute differs by up to a tenth.
func measureRole(r role, g Group, _ func(any)) any {
	ctx, x := context.Background(), one(tensor.F32, r.N)
	if r.Pin { // the kernel would put both on the processor that is less busy
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(r.Rank % runtime.NumCPU())
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return err.Error()
		}
	}
	count := warm + min(20_000, 1<<30/(r.N+1<<12))
	if r.Work > 0 {
		count = min(count, warm+int(time.Second/r.Work))
	}
	random := rand.New(rand.NewPCG(1, uint64(r.Rank)))
	list := make([]moments, 0, count)
	for range count {
		if r.Work > 0 {
			compute(x.Float32(), int64(float64(r.Work)*(0.95+random.Float64()/10)))
		}
		m := moments{Begun: clock()}
		if err := g.AllReduce(ctx, backend.Sum, x); err != nil {
			return err.Error()
		}
		m.Ended = clock()
		list = append(list, m)
	}
	return list[warm:]
}

// compute changes elements for some nanoseconds.
func compute(x []float32, nanoseconds int64) {
	for begun := clock(); clock()-begun < nanoseconds; {
		for i, v := range x {
			x[i] = v/2 + 1
		}
	}
}

// taken are the times from when the last of two ranks had come to when the last was
// done, and by how much one came later, both sorted.
func taken(ranks [][]moments) (transfer, apart []int64) {
	for i, a := range ranks[0] {
		b := ranks[1][i]
		last := max(a.Begun, b.Begun)
		transfer = append(transfer, max(a.Ended, b.Ended)-last)
		apart = append(apart, last-min(a.Begun, b.Begun))
	}
	slices.Sort(transfer)
	slices.Sort(apart)
	return transfer, apart
}

// BenchmarkProcesses measures all-reduces between two processes, from when the last
// rank has come: one after another, and with work of a millisecond in between.
func BenchmarkProcesses(b *testing.B) {
	for _, c := range []struct {
		name string
		role role
	}{
		{"shared", role{}}, {"pinned", role{Pin: true}}, {"work", role{Work: time.Millisecond}},
		{"pinned work", role{Work: time.Millisecond, Pin: true}}, {"tcp", role{Across: true}},
	} {
		for _, n := range []int{16, 4096, 16384, 98304, 1 << 18, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dKiB", c.name, n*4>>10), func(b *testing.B) {
				r := c.role
				r.Name, r.Size, r.N = "measure", 2, n
				for range b.N {
					transfer, apart := taken(reads[[]moments](start(b, r)))
					k := len(transfer)
					b.ReportMetric(float64(transfer[0])/1e3, "min-us")
					b.ReportMetric(float64(transfer[k/2])/1e3, "median-us")
					b.ReportMetric(float64(transfer[k*9/10])/1e3, "p90-us")
					b.ReportMetric(float64(apart[k/2])/1e3, "apart-us")
					b.ReportMetric(float64(n*4)/float64(transfer[k/2]), "GB/s")
				}
			})
		}
	}
}

// BenchmarkLocal measures all-reduces between two goroutines.
func BenchmarkLocal(b *testing.B) {
	for _, n := range []int{4096, 98304, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", n*4>>10), func(b *testing.B) {
			groups := closing(b, Local(2, Options{}))
			b.ReportAllocs()
			b.SetBytes(int64(n * 4))
			must(b, groups, func(g Group) error {
				x := sample(tensor.F32, n, 1, 1)
				for range b.N {
					if err := g.AllReduce(context.Background(), backend.Max, x); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkCopy copies as many bytes as an all-reduce sends, which no exchange through
// memory can be faster than.
func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{4096, 98304, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", n*4>>10), func(b *testing.B) {
			from, to := make([]byte, n*4), make([]byte, n*4)
			b.SetBytes(int64(n * 4))
			for range b.N {
				copy(to, from)
			}
		})
	}
}
