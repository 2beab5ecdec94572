package nccl

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

// A child process of this test binary is a rank: the variable has what it does, its
// rank and the size of the group. On standard input it gets the ID in hexadecimal, and
// it tells what it has found on standard output.
const rankVariable = "NCCL_TEST_RANK"

func TestMain(m *testing.M) {
	if as := os.Getenv(rankVariable); as != "" {
		if err := beRank(as); err != nil {
			fmt.Println("FAILED", strings.ReplaceAll(err.Error(), "\n", "; "))
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beRank(as string) error {
	f := strings.Fields(as)
	rank, _ := strconv.Atoi(f[1])
	size, _ := strconv.Atoi(f[2])
	raw, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	var id ID
	if _, err := hex.Decode(id[:], []byte(strings.TrimSpace(raw))); err != nil {
		return err
	}
	lib, err := Open()
	if err != nil {
		return err
	}
	cuda, err := driver.Open()
	if err != nil {
		return err
	}
	list, err := cuda.Devices()
	if err != nil {
		return err
	}
	device, err := list[rank].Open()
	if err != nil {
		return err
	}
	ctx, begun := context.Background(), time.Now()
	comm, err := lib.Join(ctx, device, id, rank, size)
	if err != nil {
		return err
	}
	fmt.Println("joined within", time.Since(begun).Round(time.Millisecond), "by NCCL", lib.Version)
	r, err := newRig(ctx, device, comm, 16<<20)
	if err != nil {
		return err
	}
	return roles[f[0]](r, ctx)
}

var roles = map[string]func(*rig, context.Context) error{
	"operations": (*rig).operations,
	"times":      (*rig).times,
	"endless":    (*rig).endless,
	"missing":    (*rig).missing,
}

// operations checks all of them.
func (r *rig) operations(ctx context.Context) error {
	for _, op := range append(slices.Clone(operations), passing) {
		for _, n := range []int{2, elements, 300_000} {
			if err := r.check(ctx, op, n); err != nil {
				return err
			}
		}
	}
	fmt.Println("all operations are right")
	return r.Close(ctx)
}

// times measures all-reduces in graphs of many and one by one, on the device and by the
// clock of the host.
func (r *rig) times(ctx context.Context) error {
	const rounds, graphed = 200, 20
	err := r.device.Do(ctx, func() error {
		for _, bytes := range []int{512, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20} {
			one := func() error {
				return r.AllReduce(ctx, r.stream, backend.Sum, tensor.BF16, r.from.Address, r.from.Address, bytes/2)
			}
			g, err := r.stream.Capture(func() error {
				for range graphed {
					if err := one(); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			single, err := r.measure(rounds, one)
			if err != nil {
				return err
			}
			many, err := r.measure(rounds/graphed*4, func() error { return g.Launch(r.stream) })
			if err != nil {
				return err
			}
			fmt.Printf("all_reduce of %8d bytes in bf16: %7.2f µs on the device in a graph, %7.2f µs one by one\n", bytes,
				many.Seconds()*1e6/graphed, single.Seconds()*1e6)
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, r.Close(ctx))
}

// measure is the time of one call by events, in the quickest of five rounds.
func (r *rig) measure(n int, f func() error) (time.Duration, error) {
	start, err := r.device.NewEvent(true)
	if err != nil {
		return 0, err
	}
	end, err := r.device.NewEvent(true)
	if err != nil {
		return 0, err
	}
	best := time.Hour
	for range 5 {
		if err := errors.Join(f(), r.stream.Synchronize(), r.stream.Record(start)); err != nil {
			return 0, err
		}
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		if err := errors.Join(r.stream.Record(end), end.Synchronize()); err != nil {
			return 0, err
		}
		d, err := end.Since(start)
		if err != nil {
			return 0, err
		}
		best = min(best, d/time.Duration(n))
	}
	return best, errors.Join(start.Close(), end.Close())
}

// endless launches a graph of all-reduces again and again, until one does not end within
// a second: then the other rank is gone, and this one gives up.
func (r *rig) endless(ctx context.Context) error {
	var g *driver.Graph
	var done *driver.Event
	err := r.device.Do(ctx, func() (err error) {
		g, err = r.stream.Capture(func() error {
			return r.AllReduce(ctx, r.stream, backend.Sum, tensor.F32, r.from.Address, r.from.Address, 1<<20)
		})
		if err != nil {
			return err
		}
		done, err = r.device.NewEvent(false)
		return err
	})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := r.device.Do(ctx, func() error { return errors.Join(g.Launch(r.stream), r.stream.Record(done)) }); err != nil {
			return err
		}
		limited, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("a collective takes longer than 1s"))
		err := r.device.Wait(limited, done)
		cancel()
		if err != nil {
			return r.giveUp(ctx, err, g)
		}
		if i == 100 {
			fmt.Println("running")
		}
	}
}

// giveUp aborts and sees that the device is free.
func (r *rig) giveUp(ctx context.Context, cause error, graphs ...*driver.Graph) error {
	fmt.Printf("NCCL says %v\n", r.Check())
	begun := time.Now()
	r.Abort(cause)
	limited, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("the device still waits"))
	defer cancel()
	if err := r.stream.Wait(limited); err != nil {
		return err
	}
	fmt.Println("the device is free after", time.Since(begun).Round(time.Millisecond))
	err := r.device.Do(ctx, func() error {
		for _, g := range graphs {
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, r.Close(limited)); err != nil {
		return err
	}
	fmt.Println("aborted within", time.Since(begun).Round(time.Millisecond))
	fmt.Println("given up:", cause)
	err = r.device.Do(ctx, func() error {
		return r.AllReduce(ctx, r.stream, backend.Sum, tensor.F32, r.from.Address, r.from.Address, 1)
	})
	if !errors.Is(err, cause) {
		return fmt.Errorf("a call after the abort: %v", err)
	}
	return nil
}

// missing is a collective that the other rank never calls: whether its ranks are connected
// before, or would be by it, the call or the wait for the device ends by the deadline.
func (r *rig) missing(ctx context.Context) error {
	if r.Rank > 0 {
		time.Sleep(6 * time.Second)
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, 2*time.Second, errors.New("a collective takes longer than 2s"))
	defer cancel()
	var done *driver.Event
	err := r.device.Do(limited, func() (err error) {
		if done, err = r.device.NewEvent(false); err != nil {
			return err
		}
		return errors.Join(r.AllReduce(limited, r.stream, backend.Sum, tensor.F32, r.from.Address, r.from.Address, 1000), r.stream.Record(done))
	})
	if err == nil {
		err = r.device.Wait(limited, done)
	}
	if err == nil {
		return errors.New("it ended without the other rank")
	}
	fmt.Println("the call says", err)
	return r.giveUp(ctx, context.Cause(limited))
}

// ranks starts a process for each of two ranks.
func ranks(t *testing.T, role string) []*rankProcess {
	t.Helper()
	l := nccl(t)
	devices(t, 2)
	id, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	var list []*rankProcess
	for rank := range 2 {
		p := &rankProcess{cmd: exec.Command(os.Args[0]), lines: make(chan string, 1000)}
		p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d 2", rankVariable, role, rank))
		p.cmd.Stdin = strings.NewReader(hex.EncodeToString(id[:]) + "\n")
		p.cmd.Stderr = os.Stderr
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
		go p.read(out)
		list = append(list, p)
	}
	return list
}

// rankProcess is a rank.
type rankProcess struct {
	cmd   *exec.Cmd
	lines chan string
}

func (p *rankProcess) read(out io.Reader) {
	defer close(p.lines)
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		p.lines <- scan.Text()
	}
}

// until reads what a rank tells up to a line that begins so, or to the end.
func (p *rankProcess) until(t *testing.T, prefix string) bool {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return false
			}
			t.Log(line)
			if strings.HasPrefix(line, "FAILED") {
				t.Error(line)
			}
			if prefix != "" && strings.HasPrefix(line, prefix) {
				return true
			}
		case <-limit:
			t.Fatalf("a rank does not end or say %q", prefix)
		}
	}
}

func TestOperations(t *testing.T) {
	for _, p := range ranks(t, "operations") {
		if !p.until(t, "all operations are right") {
			t.Error("a rank says nothing")
		}
		p.until(t, "")
	}
}

func TestTimes(t *testing.T) {
	list := ranks(t, "times")
	list[0].until(t, "")
	list[1].until(t, "")
}

// TestKill ends a rank by force: the other one gives up by its deadline, and the memory
// of both devices is free once both processes have ended.
func TestKill(t *testing.T) {
	list := ranks(t, "endless")
	for _, p := range list {
		if !p.until(t, "running") {
			t.Fatal("a rank does not run")
		}
	}
	begun := time.Now()
	if err := list[1].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !list[0].until(t, "given up") {
		t.Error("the other rank does not give up")
	}
	list[0].until(t, "")
	if err := list[0].cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("the other rank ended %v after the kill", time.Since(begun).Round(time.Millisecond))
	out, err := exec.Command("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader").CombinedOutput()
	t.Logf("processes on devices: %q, %v", out, err)
	for _, p := range list {
		if strings.Contains(string(out), fmt.Sprint(p.cmd.Process.Pid)+",") {
			t.Errorf("process %d still holds a device", p.cmd.Process.Pid)
		}
	}
}

// TestMissing is a collective of which one rank knows nothing.
func TestMissing(t *testing.T) {
	if list := ranks(t, "missing"); !list[0].until(t, "given up") {
		t.Error("the rank does not give up")
	}
}
