package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/mesh"
)

// part is what a process of a test is told to do, in the environment.
type role struct {
	Name       string // of an entry of roles
	Job        string
	Rank, Size int
	Across     bool // every rank on a host of its own
	Timeout    time.Duration
	Buffer     int
	N          int
	Pin        bool
}

// roles are what processes of tests do. The result is reported as JSON.
var roles = map[string]func(r role, g Group, report func(any)) any{
	"conform": conformRole,
	"measure": measureRole,
}

const roleVariable = "NEBULA_TEST_ROLE"

func TestMain(m *testing.M) {
	if text := os.Getenv(roleVariable); text != "" {
		os.Exit(play(text))
	}
	os.Exit(m.Run())
}

// play is the main function of a process that is a rank.
func play(text string) int {
	go func() { // ends with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	out := json.NewEncoder(os.Stdout)
	report := func(v any) { _ = out.Encode(v) }
	err := func() error {
		var r role
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return err
		}
		c := mesh.Config{Job: r.Job, Token: []byte("test"), Epoch: 2, Rank: r.Rank, Size: r.Size}
		if r.Across {
			c.Address, c.Host = "127.0.0.1", fmt.Sprint("host ", r.Rank)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		m, err := mesh.Join(ctx, c)
		if err != nil {
			return err
		}
		defer m.Close()
		g, err := Over(m, Options{Timeout: r.Timeout, Buffer: r.Buffer})
		if err != nil {
			return err
		}
		defer g.Close()
		report(roles[r.Name](r, g, report))
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rank:", err)
		return 1
	}
	return 0
}

// process is a rank of a test in a process of its own.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	out *bufio.Reader
}

// start runs a role in as many processes as it has ranks. They end with the test.
func start(t testing.TB, r role) []*process {
	t.Helper()
	r.Job = fmt.Sprintf("%s/%d/%d", t.Name(), os.Getpid(), jobs.Add(1))
	list := make([]*process, r.Size)
	for i := range list {
		r.Rank = i
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		list[i] = &process{t, cmd, bufio.NewReader(out)}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	return list
}

// read takes the next thing that a process reports.
func read[T any](p *process) (v T) {
	p.t.Helper()
	text, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		p.t.Fatalf("a rank reports %q, %v", text, err)
	}
	return v
}

// reads takes the next thing of every process.
func reads[T any](list []*process) []T {
	all := make([]T, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { all[i] = read[T](p) })
	}
	wg.Wait()
	return all
}

func conformRole(r role, g Group, _ func(any)) any {
	for _, dtype := range dtypes {
		for _, n := range []int{0, 1, 100, 5000, 20_000} {
			if err := conform(g, dtype, n, uint64(n)); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

// Ranks that are processes get what ranks in one process get.
func TestProcesses(t *testing.T) {
	for _, c := range []struct {
		size   int
		across bool
	}{{2, false}, {3, false}, {2, true}} {
		for i, text := range reads[string](start(t, role{Name: "conform", Size: c.size, Across: c.across})) {
			if text != "" {
				t.Errorf("rank %d of %d: %s", i, c.size, text)
			}
		}
	}
}

// measured is the time of calls in nanoseconds.
type measured struct{ Median, P90, P99, Min int64 }

func measureRole(r role, g Group, _ func(any)) any {
	ctx, x := context.Background(), one(tensor.F32, r.N)
	if r.Pin { // a processor each, where the kernel would put both on the one that is less busy
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(r.Rank % runtime.NumCPU())
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return err.Error()
		}
	}
	const warm = 200
	count := warm + min(20_000, 1<<30/(r.N+1<<12))
	times := make([]int64, 0, count)
	for range count {
		begun := time.Now()
		if err := g.AllReduce(ctx, backend.Sum, x); err != nil {
			return err.Error()
		}
		times = append(times, int64(time.Since(begun)))
	}
	times = times[warm:]
	slices.Sort(times)
	n := len(times)
	return measured{times[n/2], times[n*9/10], times[n*99/100], times[0]}
}

// BenchmarkProcesses measures all-reduces between two processes. The time per
// operation that it reports is rank 0's median.
func BenchmarkProcesses(b *testing.B) {
	for _, c := range []struct {
		name        string
		across, pin bool
	}{{"shared", false, false}, {"pinned", false, true}, {"tcp", true, false}} {
		for _, n := range []int{16, 4096, 65536, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dB", c.name, n*4), func(b *testing.B) {
				for range b.N {
					m := reads[measured](start(b, role{Name: "measure", Size: 2, N: n, Across: c.across, Pin: c.pin}))[0]
					b.ReportMetric(float64(m.Median)/1e3, "median-us")
					b.ReportMetric(float64(m.Min)/1e3, "min-us")
					b.ReportMetric(float64(m.P99)/1e3, "p99-us")
				}
			})
		}
	}
}

// BenchmarkLocal is an all-reduce of 16 KiB between two goroutines.
func BenchmarkLocal(b *testing.B) {
	groups := closing(b, Local(2, Options{}))
	b.ReportAllocs()
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "procs")
	must(b, groups, func(g Group) error {
		x := sample(tensor.F32, 4096, 1, 1)
		for range b.N {
			if err := g.AllReduce(context.Background(), backend.Max, x); err != nil {
				return err
			}
		}
		return nil
	})
}
