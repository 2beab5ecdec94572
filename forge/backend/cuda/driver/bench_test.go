package driver

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend/cuda/nvrtc"
)

var single = Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{32, 1, 1}}

// timed measures with events what f puts into a stream b.N times.
func timed(b *testing.B, c *Context, s *Stream, f func() error) time.Duration {
	start, err := c.NewEvent(true)
	if err != nil {
		b.Fatal(err)
	}
	end, err := c.NewEvent(true)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(f(), s.Synchronize(), s.Record(start)); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(s.Record(end), end.Synchronize()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	d, err := end.Since(start)
	if err := errors.Join(err, start.Close(), end.Close()); err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkLaunch is the time of one kernel that does nothing, launched by itself.
func BenchmarkLaunch(b *testing.B) {
	c := openDevice(b)
	m := load(b, c)
	on(b, c, func(s *Stream) error {
		f, args := function(b, m, "nothing"), NewArguments(0)
		d := timed(b, c, s, func() error { return s.Launch(f, single, args) })
		b.ReportMetric(float64(d.Nanoseconds())/float64(b.N), "device-ns/kernel")
		return nil
	})
}

// BenchmarkRoundTrip is a launch and a wait for its end.
func BenchmarkRoundTrip(b *testing.B) {
	c := openDevice(b)
	m := load(b, c)
	on(b, c, func(s *Stream) error {
		f, args := function(b, m, "nothing"), NewArguments(0)
		timed(b, c, s, func() error { return errors.Join(s.Launch(f, single, args), s.Synchronize()) })
		return nil
	})
}

// BenchmarkGraph is the time of one kernel that does nothing in a graph of many.
func BenchmarkGraph(b *testing.B) {
	for _, n := range []int{1, 30, 300} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := openDevice(b)
			m := load(b, c)
			on(b, c, func(s *Stream) error {
				f, args := function(b, m, "nothing"), NewArguments(0)
				g, err := s.Capture(func() error {
					for range n {
						if err := s.Launch(f, single, args); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
				d := timed(b, c, s, func() error { return g.Launch(s) })
				b.ReportMetric(float64(d.Nanoseconds())/float64(b.N*n), "device-ns/kernel")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/kernel")
				return g.Close()
			})
		})
	}
}

// BenchmarkDo is the way to the thread of a context and back.
func BenchmarkDo(b *testing.B) {
	c := openDevice(b)
	for b.Loop() {
		if err := c.Do(b.Context(), func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCopy moves memory within the device, where bytes read and written count,
// and between pinned memory of the host and the device.
func BenchmarkCopy(b *testing.B) {
	for _, bytes := range []int{1 << 20, 64 << 20, 2 << 30} {
		for _, way := range []string{"within", "upload", "download"} {
			b.Run(way+"/"+display.FormatBytes(int64(bytes)), func(b *testing.B) {
				if way != "within" && bytes > 1<<30 {
					b.Skip("pinned memory of that size says nothing more")
				}
				c := openDevice(b)
				on(b, c, func(s *Stream) error {
					from, err := s.Alloc(int64(bytes))
					if err != nil {
						return err
					}
					to, err := s.Alloc(int64(bytes))
					if err != nil {
						return err
					}
					host, err := c.NewHost(min(bytes, 1<<30))
					if err != nil {
						return err
					}
					moved := 1
					work := func() error { return s.Upload(to, 0, host.Bytes) }
					switch way {
					case "within":
						work, moved = func() error { return s.Copy(to, 0, from, 0, bytes) }, 2
					case "download":
						work = func() error { return s.Download(host.Bytes, from, 0) }
					}
					if err := s.Fill(from, 0, from.Bytes, 0x5a); err != nil {
						return err
					}
					d := timed(b, c, s, work)
					b.ReportMetric(float64(moved*bytes)*float64(b.N)/d.Seconds()/1e9, "GB/s")
					return errors.Join(s.Free(from), s.Free(to), s.Synchronize(), host.Free())
				})
			})
		}
	}
}

// BenchmarkCompile is NVRTC's time for the small kernels of the tests.
func BenchmarkCompile(b *testing.B) {
	compiler, err := nvrtc.Open()
	if err != nil {
		b.Skip("there is no NVRTC: ", err)
	}
	for _, arch := range nvrtc.Architectures {
		b.Run(arch, func(b *testing.B) {
			for b.Loop() {
				if _, err := compiler.Compile(nvrtc.Source{Name: "kernels.cu", Text: kernels, Arch: arch}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
