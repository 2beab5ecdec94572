package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
)

// device is the first GPU, without which a test is skipped.
func device(t testing.TB) *Device {
	t.Helper()
	l, err := Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Skip("there is no GPU")
	}
	return list[0]
}

// open gives a context that ends with the test.
func openDevice(t testing.TB) *Context {
	t.Helper()
	c, err := device(t).Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// on runs a test on the thread of a context, with a stream.
func on(t testing.TB, c *Context, f func(s *Stream) error) {
	t.Helper()
	err := c.Do(t.Context(), func() error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		return errors.Join(f(s), s.Synchronize(), s.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

const kernels = `
extern "C" __global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + 1;
}
extern "C" __global__ void nothing(int *p) {}
extern "C" __global__ void spin(long long clocks) {
  long long start = clock64();
  while (clock64() - start < clocks) {}
}
`

// load compiles the kernels for the device.
func load(t testing.TB, c *Context) *Module {
	t.Helper()
	return loadText(t, c, kernels)
}

// loadText compiles a file for the device.
func loadText(t testing.TB, c *Context, text string) *Module {
	t.Helper()
	compiler, err := nvrtc.Open()
	if err != nil {
		t.Skip("there is no NVRTC: ", err)
	}
	cubin, err := compiler.Compile(nvrtc.Source{Name: "kernels.cu", Text: text, Arch: c.Capability.Arch()})
	if err != nil {
		t.Fatal(err)
	}
	var m *Module
	if err := c.Do(t.Context(), func() (err error) { m, err = c.Load(cubin); return err }); err != nil {
		t.Fatal(err)
	}
	return m
}

func function(t testing.TB, m *Module, name string) *Function {
	t.Helper()
	f, err := m.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDevices(t *testing.T) {
	d := device(t)
	t.Logf("CUDA %v by %s\n%v", d.lib.Version, d.lib.Path, Devices{d}.Display().Data["text/plain"])
	if d.Name == "" || d.Memory < 1<<28 || d.SMs < 1 || d.Capability < 30 || !strings.HasPrefix(d.UUID, "GPU-") || strings.Count(d.PCI, ":") != 2 {
		t.Errorf("%+v", d)
	}
}

func TestNoDevices(t *testing.T) {
	if text := (Devices{}).Display().Data["text/plain"]; !strings.Contains(text.(string), "no GPU") {
		t.Error(text)
	}
	table := Devices{{Name: "a GPU", Capability: 75, Memory: 16 << 30, SMs: 40, PCI: "0000:00:04.0", UUID: "GPU-1"}}.Display().Data["text/plain"].(string)
	for _, part := range []string{"a GPU", "7.5", "40", "GPU-1"} {
		if !strings.Contains(table, part) {
			t.Errorf("the table lacks %q:\n%s", part, table)
		}
	}
}

func TestCopies(t *testing.T) {
	c := openDevice(t)
	on(t, c, func(s *Stream) error {
		const n = 1 << 20
		m, err := s.Alloc(n)
		if err != nil {
			return err
		}
		other, err := s.Alloc(2 * n)
		if err != nil {
			return err
		}
		host, err := c.NewHost(n)
		if err != nil {
			return err
		}
		for i := range host.Bytes {
			host.Bytes[i] = byte(i * 7)
		}
		back := make([]byte, n)
		err = errors.Join(s.Fill(other, 0, other.Bytes, 0xee), s.Upload(m, 0, host.Bytes), s.Copy(other, n/2, m, 0, n), s.Download(back, other, n/2), s.Synchronize())
		for i := range back {
			if back[i] != byte(i*7) {
				t.Fatalf("byte %d is %d", i, back[i])
			}
		}
		edge := make([]byte, 2)
		err = errors.Join(err, s.Download(edge, other, n/2-1))
		if edge[0] != 0xee || edge[1] != 0 {
			t.Errorf("at the edge %x", edge)
		}
		for _, wrong := range []error{s.Upload(m, 1, host.Bytes), s.Download(back, m, -1), s.Copy(m, 0, other, n+1, n)} {
			if wrong == nil || !strings.Contains(wrong.Error(), "are beyond the") {
				t.Errorf("a copy beyond the end gives %v", wrong)
			}
		}
		st, failed := c.Statistics()
		if failed != nil || st.Used != 3*n || st.UsedHigh < st.Used || st.Reserved < st.Used || st.Pinned != n || st.Free > st.Total || st.Total <= 0 {
			t.Errorf("statistics %+v, %v", st, failed)
		}
		err = errors.Join(err, s.Free(m), s.Free(other), s.Synchronize(), host.Free(), c.Trim())
		if st, failed = c.Statistics(); failed != nil || st.Used != 0 || st.Reserved != 0 || st.Pinned != 0 {
			t.Errorf("after freeing: %+v, %v", st, failed)
		}
		return err
	})
}

func TestOutOfMemory(t *testing.T) {
	c := openDevice(t)
	on(t, c, func(s *Stream) error {
		_, err := s.Alloc(4 * c.Memory)
		if !errors.Is(err, OutOfMemory) {
			t.Fatalf("error %v", err)
		}
		t.Log(err)
		for _, part := range []string{"cuMemAllocFromPoolAsync", "CUDA_ERROR_OUT_OF_MEMORY", "on device 0", "are free", "out of memory"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error lacks %q", part)
			}
		}
		if _, err := s.Alloc(0); err == nil {
			t.Error("0 bytes were allocated")
		}
		return nil
	})
}

// floats are the bytes of numbers.
func floats(x []float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, x) // which cannot fail for these
	return b
}

func TestLaunch(t *testing.T) {
	c := openDevice(t)
	m := load(t, c)
	on(t, c, func(s *Stream) error {
		f := function(t, m, "scale")
		r, err := f.Resources()
		if err != nil || r.Registers < 1 || r.Threads < 256 {
			t.Errorf("resources %+v, %v", r, err)
		}
		const n = 1000
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		in, err := s.Alloc(4 * n)
		if err != nil {
			return err
		}
		out, err := s.Alloc(4 * n)
		if err != nil {
			return err
		}
		args := NewArguments(out.Address, in.Address, uint64(math.Float32bits(0.5)), n)
		work := func() error {
			return errors.Join(s.Launch(f, Grid{Blocks: [3]uint32{4, 1, 1}, Threads: [3]uint32{256, 1, 1}}, args), s.Copy(in, 0, out, 0, 4*n))
		}
		if err := errors.Join(s.Upload(in, 0, floats(x)), work()); err != nil {
			return err
		}
		g, err := s.Capture(work)
		if err != nil {
			return err
		}
		if g.Nodes != 2 {
			t.Errorf("%d nodes", g.Nodes)
		}
		back := make([]byte, 4*n)
		if err := errors.Join(g.Launch(s), g.Launch(s), s.Download(back, out, 0), s.Synchronize(), g.Close()); err != nil {
			return err
		}
		for i := range x { // three times
			want := float32(i)/8 + 1.75
			if got := math.Float32frombits(binary.LittleEndian.Uint32(back[4*i:])); got != want {
				t.Fatalf("element %d is %g, want %g", i, got, want)
			}
		}
		err = s.Launch(f, Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{4096, 1, 1}}, args)
		if err == nil || !strings.Contains(err.Error(), "cuLaunchKernel (scale in [1 1 1] blocks of [4096 1 1] threads") {
			t.Errorf("a block that is too large gives %v", err)
		}
		if _, err := m.Function("no_such"); err == nil || !strings.Contains(err.Error(), "no_such") || !strings.Contains(err.Error(), "CUDA_ERROR_NOT_FOUND") {
			t.Errorf("a function that is not there gives %v", err)
		}
		return errors.Join(s.Free(in), s.Free(out))
	})
}

// TestCaptureFails sees that a stream is fit for use after a capture that failed.
func TestCaptureFails(t *testing.T) {
	c := openDevice(t)
	on(t, c, func(s *Stream) error {
		mine := errors.New("mine")
		if _, err := s.Capture(func() error { return mine }); !errors.Is(err, mine) {
			t.Errorf("error %v", err)
		}
		if _, err := s.Capture(s.Synchronize); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_STREAM_CAPTURE") {
			t.Errorf("to wait in a capture gives %v", err)
		}
		m, err := s.Alloc(64)
		if err != nil {
			return err
		}
		return errors.Join(s.Fill(m, 0, m.Bytes, 1), s.Free(m), s.Synchronize())
	})
}

func TestEventsAndWait(t *testing.T) {
	c := openDevice(t)
	m := load(t, c)
	var start, end *Event
	long := NewArguments(50e6) // of the SM's clock, some 25 ms
	var s *Stream
	err := c.Do(t.Context(), func() (err error) {
		if s, err = c.NewStream(); err != nil {
			return err
		}
		if start, err = c.NewEvent(true); err != nil {
			return err
		}
		if end, err = c.NewEvent(true); err != nil {
			return err
		}
		f := function(t, m, "spin")
		one := [3]uint32{1, 1, 1}
		err = errors.Join(s.Record(start), s.Launch(f, Grid{Blocks: one, Threads: one}, long), s.Record(end))
		if past, failed := end.Query(); past || failed != nil {
			t.Errorf("at once past is %v, %v", past, failed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("no time"))
	defer cancel()
	if err := c.Wait(ended, end); err == nil || err.Error() != "no time" {
		t.Errorf("a wait that is given up gives %v", err)
	}
	if err := c.Wait(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	on(t, c, func(*Stream) error {
		d, err := end.Since(start)
		if d < 5*time.Millisecond || d > time.Second {
			t.Errorf("it took %v", d)
		}
		empty, failed := s.Query()
		if !empty {
			t.Error("the stream is not empty")
		}
		return errors.Join(err, failed, start.Close(), end.Close(), s.Close())
	})
}

func TestDo(t *testing.T) {
	c, err := device(t).Open()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var counter atomic.Int64
	for range 64 {
		wg.Go(func() {
			if err := c.Do(t.Context(), func() error { counter.Add(1); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := counter.Load(); n != 64 {
		t.Errorf("%d of 64 ran", n)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if err := c.Do(t.Context(), func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	c := openDevice(t)
	on(t, c, func(*Stream) error {
		for _, b := range [][]byte{nil, []byte("#include"), append([]byte("\x7fELF"), make([]byte, 4096)...)} {
			if m, err := c.Load(b); err == nil {
				t.Errorf("%d bytes became a module %v", len(b), m)
			}
		}
		return nil
	})
}
