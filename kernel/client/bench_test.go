package client

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
)

// BenchmarkIPykernel measures the reference kernel through this client.
func BenchmarkIPykernel(b *testing.B) { benchmarkKernel(b, ipykernel(b)) }

// BenchmarkKernelspec measures the kernel of FORGE_KERNELSPEC, a kernel.json,
// to stand beside BenchmarkIPykernel in one run.
func BenchmarkKernelspec(b *testing.B) {
	path := os.Getenv("FORGE_KERNELSPEC")
	if path == "" {
		b.Skip("FORGE_KERNELSPEC does not name a kernel.json")
	}
	cmd, err := ReadKernelspec(path)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkKernel(b, cmd)
}

// BenchmarkFake is the floor: what the client, the sockets and the signatures
// cost with a kernel that does nothing.
func BenchmarkFake(b *testing.B) { benchmarkKernel(b, fakeCommand(b, "")) }

// benchmarkKernel reports the time from starting a process to ready, of
// kernel_info, and of a trivial cell to its reply and to idle.
func benchmarkKernel(b *testing.B, cmd Command) {
	b.Run("start", func(b *testing.B) {
		var ready samples
		for b.Loop() {
			begin := time.Now()
			c, err := Start(testContext(b), cmd, Options{})
			if err != nil {
				b.Fatal(err)
			}
			ready.add(begin)
			c.Close()
		}
		ready.report(b, "ready")
	})
	c := start(b, cmd, Options{})
	ctx := context.Background()
	b.Run("kernel-info", func(b *testing.B) {
		var info samples
		for b.Loop() {
			begin := time.Now()
			if _, err := c.KernelInfo(ctx); err != nil {
				b.Fatal(err)
			}
			info.add(begin)
		}
		info.report(b, "info")
	})
	b.Run("cell", func(b *testing.B) {
		var reply, idle samples
		for b.Loop() {
			begin := time.Now()
			e, err := c.Execute(ctx, "1+1", ExecuteOptions{})
			if err != nil {
				b.Fatal(err)
			}
			replied := make(chan error, 1)
			go func() {
				_, err := e.Reply(ctx)
				reply.add(begin)
				replied <- err
			}()
			for range e.Outputs() {
			}
			idle.add(begin)
			if err := <-replied; err != nil {
				b.Fatal(err)
			}
		}
		reply.report(b, "reply")
		idle.report(b, "idle")
	})
}

// samples are durations in milliseconds.
type samples []float64

func (s *samples) add(begin time.Time) {
	*s = append(*s, float64(time.Since(begin).Microseconds())/1000)
}

func (s samples) report(b *testing.B, name string) {
	slices.Sort(s)
	b.ReportMetric(stat.Quantile(0.5, stat.Empirical, s, nil), name+"-p50-ms")
	b.ReportMetric(stat.Quantile(0.95, stat.Empirical, s, nil), name+"-p95-ms")
}
