package gemm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/tensor"
)

// device is the first GPU, without which a test is skipped.
var device = sync.OnceValues(func() (*driver.Context, error) {
	lib, err := driver.Open()
	if err != nil {
		return nil, err
	}
	list, err := lib.Devices()
	if err != nil {
		return nil, err
	}
	return list[0].Open()
})

func gpu(t testing.TB) *driver.Context {
	t.Helper()
	c, err := device()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bench is one product on the device, with several copies of B so that a cache does not
// hold it.
type bench struct {
	t      testing.TB
	c      *driver.Context
	s      *driver.Stream
	shape  *Shape
	a, b   []float32 // as they are on the device
	memA   *driver.Memory
	memB   []*driver.Memory
	out    *driver.Memory
	part   *driver.Memory
	marks  *driver.Memory
	checks []int // of the results
	want   []float64
}

func bytesOf(d tensor.DType, x []float32) []byte {
	out := make([]byte, 0, len(x)*d.Size())
	for i, v := range x {
		b := math.Float32bits(v)
		switch d {
		case tensor.F32:
			out = append(out, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
		case tensor.BF16:
			b += 0x7fff + b>>16&1
			out = append(out, byte(b>>16), byte(b>>24))
			x[i] = math.Float32frombits(b &^ 0xffff)
		case tensor.F16:
			h := tensor.Scalar(tensor.F16, float64(v)).Bits16()[0]
			out = append(out, byte(h), byte(h>>8))
			x[i] = float32(tensor.Scalar(tensor.F16, float64(v)).Elem(0))
		}
	}
	return out
}

func number(d tensor.DType, b []byte, i int) float64 {
	switch d {
	case tensor.F32:
		b = b[i*4:]
		return float64(math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
	case tensor.BF16:
		b = b[i*2:]
		return float64(math.Float32frombits(uint32(b[0])<<16 | uint32(b[1])<<24))
	}
	b = b[i*2:]
	h := uint16(b[0]) | uint16(b[1])<<8
	sign := 1 - 2*float64(h>>15)
	e, f := int(h>>10&31), float64(h&1023)
	if e == 0 {
		return sign * f * math.Pow(2, -24)
	}
	return sign * (1 + f/1024) * math.Pow(2, float64(e-15))
}

// random fills with numbers of a distribution like the normal one; long ones repeat.
func random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	const period = 1<<20 + 7
	for i := range x {
		if i >= period {
			x[i] = x[i-period]
			continue
		}
		x[i] = float32(r.Float64()+r.Float64()+r.Float64()-1.5) * 1.5
	}
	return x
}

func newBench(t testing.TB, c *driver.Context, shape *Shape, copies int) *bench {
	b := &bench{t: t, c: c, shape: shape}
	b.a, b.b = random(shape.M*shape.K, 1), random(shape.K*shape.N, 2)
	rawA, rawB := bytesOf(shape.A.Elem, b.a), bytesOf(shape.B.Elem, b.b)
	b.do(func() error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		b.s = s
		alloc := func(n int) *driver.Memory {
			m, e := s.Alloc(int64(max(n, 256)))
			err = errors.Join(err, e)
			return m
		}
		b.memA = alloc(len(rawA))
		for range copies {
			b.memB = append(b.memB, alloc(len(rawB)))
		}
		b.out = alloc(shape.M * shape.N * 4)
		b.marks = alloc(1 << 20)
		if err != nil {
			return err
		}
		err = errors.Join(s.Upload(b.memA, 0, rawA), s.Fill(b.marks, 0, b.marks.Bytes, 0))
		for _, m := range b.memB {
			err = errors.Join(err, s.Upload(m, 0, rawB))
		}
		return errors.Join(err, s.Synchronize())
	})
	r := rand.New(rand.NewPCG(3, 3))
	n := shape.M * shape.N
	for i := range min(n, 3000) {
		if n > 3000 {
			i = r.IntN(n)
		}
		b.checks = append(b.checks, i)
		m, col := i/shape.N, i%shape.N
		var sum float64
		for k := range shape.K {
			sum += float64(b.a[m*shape.A.Row+k*shape.A.Column]) * float64(b.b[k*shape.B.Row+col*shape.B.Column])
		}
		b.want = append(b.want, sum)
	}
	return b
}

func (b *bench) do(f func() error) {
	b.t.Helper()
	if err := b.c.Do(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) close() {
	b.do(func() error {
		err := errors.Join(b.s.Free(b.memA), b.s.Free(b.out), b.s.Free(b.marks))
		for _, m := range b.memB {
			err = errors.Join(err, b.s.Free(m))
		}
		return errors.Join(err, b.s.Close())
	})
}

type built struct {
	k     Kernel
	cubin []byte
	err   error
}

func build(t testing.TB, arch string, list []Kernel) []built {
	c := compiler(t)
	out := make([]built, len(list))
	var wg sync.WaitGroup
	limit := make(chan bool, 12)
	for i, k := range list {
		wg.Go(func() {
			limit <- true
			cubin, err := c.Compile(source(arch, []Kernel{k}))
			out[i] = built{k, cubin, err}
			<-limit
		})
	}
	wg.Wait()
	return out
}

// try runs a kernel and returns its worst error, relative to the size of a sum, and the
// time of a run.
func (b *bench) try(k built, rounds int) (worst float64, at int, each time.Duration, err error) {
	if k.err != nil {
		return 0, 0, 0, k.err
	}
	raw := make([]byte, b.shape.M*b.shape.N*b.shape.Out.Elem.Size())
	err = b.c.Do(b.t.Context(), func() error {
		m, err := b.c.Load(k.cubin)
		if err != nil {
			return err
		}
		defer m.Close()
		part, err := b.s.Alloc(max(256, k.k.Scratch))
		if err != nil {
			return err
		}
		defer b.s.Free(part)
		var functions []*driver.Function
		for j, p := range k.k.Pieces {
			f, err := m.Function(fmt.Sprintf("k0_%d", j))
			if err != nil {
				return err
			}
			if err := f.AllowShared(p.SharedBytes); err != nil {
				return err
			}
			functions = append(functions, f)
		}
		run := func(i int) error {
			for j, p := range k.k.Pieces {
				var words []uint64
				for _, a := range p.Args {
					words = append(words, map[Arg]uint64{Out: b.out.Address, A: b.memA.Address, B: b.memB[i%len(b.memB)].Address, Scratch: part.Address, Counters: b.marks.Address}[a])
				}
				words = append(words, b.marks.Address, 0)
				g := driver.Grid{Blocks: p.Grid, Threads: p.Threads, Shared: uint32(p.SharedBytes)}
				if err := b.s.Launch(functions[j], g, driver.NewArguments(words...)); err != nil {
					return err
				}
			}
			return nil
		}
		if err := errors.Join(b.s.Fill(b.out, 0, b.out.Bytes, 0xff), b.s.Fill(part, 0, part.Bytes, 0xff), run(0), b.s.Synchronize(), b.s.Download(raw, b.out, 0), b.s.Synchronize()); err != nil {
			return err
		}
		for i, c := range b.checks {
			got := number(b.shape.Out.Elem, raw, c)
			e := math.Abs(got-b.want[i]) / math.Sqrt(float64(b.shape.K))
			if !(e <= worst) {
				worst, at = e, c
			}
		}
		if rounds == 0 {
			return nil
		}
		g, err := b.s.Capture(func() error {
			for i := range rounds {
				if err := run(i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		defer g.Close()
		start, err := b.c.NewEvent(true)
		if err != nil {
			return err
		}
		end, err := b.c.NewEvent(true)
		if err != nil {
			return err
		}
		var times []time.Duration
		for range 7 {
			if err := errors.Join(b.s.Record(start), g.Launch(b.s), b.s.Record(end), b.s.Synchronize()); err != nil {
				return err
			}
			d, err := end.Since(start)
			if err != nil {
				return err
			}
			times = append(times, d/time.Duration(rounds))
		}
		slices.Sort(times)
		each = times[3]
		return errors.Join(start.Close(), end.Close())
	})
	return worst, at, each, err
}

// target is the device of the benchmarks.
var target = Target{Capability: 90, SMs: 132, Shared: 227 << 10}

// kernels are all candidates of a shape of a kind.
func (s *Shape) kernels(kind string) []Kernel {
	var list []Kernel
	switch kind {
	case "simt":
		for _, x := range simtTiles {
			list = append(list, s.simt(x, 1))
		}
	case "mma":
		for _, x := range mmaTiles {
			list = append(list, s.mma(x, 1))
		}
	case "wgmma":
		for _, x := range wgmmaTiles {
			list = append(list, s.wgmma(x, 1, target.SMs))
		}
	case "direct":
		for _, x := range directCuts {
			list = append(list, s.direct(x))
		}
	case "split":
		if s.A.Elem == tensor.F32 {
			list = append(list, s.simt(simtTiles[8], 4))
		} else {
			list = append(list, s.mma(mmaTiles[8], 4), s.wgmma(wgmmaTiles[3], 2, target.SMs))
		}
	case "rows":
		for _, x := range s.rowsOf(target) {
			list = append(list, s.rows(x, target.SMs))
		}
	case "model":
		list = Candidates(s, target)
	}
	return list
}

func TestBench(t *testing.T) {
	c := gpu(t)
	arch := c.Capability.Arch()
	if arch == "sm_90" {
		arch = "sm_90a"
	}
	f, h, q := tensor.F32, tensor.BF16, tensor.F16
	type work struct {
		shape  *Shape
		kinds  string
		copies int
		rounds int
	}
	sets := map[string][]work{
		"correct": {
			{dense(f, f, f, 100, 70, 52, false), "simt split", 1, 0}, {dense(f, f, f, 100, 70, 52, true), "simt split", 1, 0}, {dense(f, h, f, 131, 77, 133, false), "simt split", 1, 0}, {dense(f, q, f, 131, 77, 133, true), "simt", 1, 0},
			{dense(h, h, h, 200, 136, 104, false), "mma wgmma split", 1, 0}, {dense(h, h, h, 200, 136, 104, true), "mma wgmma split", 1, 0}, {dense(q, q, q, 131, 77, 133, false), "mma wgmma split", 1, 0}, {dense(h, h, h, 131, 77, 133, true), "mma wgmma split", 1, 0},
			{dense(f, f, f, 19, 77, 52, false), "direct", 1, 0}, {dense(f, h, f, 8, 72, 133, true), "direct", 1, 0}, {dense(q, q, q, 33, 256, 128, true), "direct", 1, 0},
			{dense(h, h, h, 3, 200, 1096, true), "rows", 1, 0}, {dense(h, h, h, 11, 200, 1096, false), "rows", 1, 0}, {dense(q, q, q, 16, 1000, 520, true), "rows", 1, 0}, {dense(f, h, f, 3, 200, 1096, true), "rows", 1, 0}, {dense(f, h, f, 2, 200, 1096, false), "rows", 1, 0}, {dense(h, h, h, 5, 200, 997, false), "rows", 1, 0}, {dense(q, q, q, 1, 1000, 4096, false), "rows", 1, 0}, {dense(h, h, h, 600, 520, 1096, false), "wgmma", 1, 0}, {dense(f, f, f, 1, 200, 1096, true), "rows", 1, 0}, {dense(f, f, f, 1, 200, 1096, false), "rows", 1, 0},
		},
		"small": {
			{dense(f, f, f, 8, 128, 64, false), "direct", 1, 200}, {dense(f, f, f, 8, 32, 128, false), "direct", 1, 200}, {dense(f, f, f, 32, 256, 128, false), "direct simt", 1, 200}, {dense(f, f, f, 64, 512, 256, false), "direct simt split", 1, 200},
			{dense(f, f, f, 64, 128, 512, false), "direct", 1, 200}, {dense(f, f, f, 96, 256, 128, false), "direct", 1, 200}, {dense(f, f, f, 96, 384, 128, false), "direct", 1, 200}, {dense(q, q, q, 64, 512, 256, false), "direct mma", 1, 200}, {dense(f, f, f, 64, 3072, 768, false), "direct simt split", 1, 100}, {dense(f, f, f, 64, 768, 3072, false), "direct simt split", 1, 100},
		},
		"big": {
			{dense(h, h, h, 4096, 4096, 4096, true), "wgmma", 1, 10}, {dense(h, h, h, 4096, 4096, 4096, false), "wgmma", 1, 10},
			{dense(f, f, f, 4096, 4096, 4096, false), "simt", 1, 3}, {dense(f, f, f, 4096, 4096, 4096, true), "simt", 1, 3},
		},
		"rows": {
			{dense(f, h, f, 1, 4096, 4096, false), "rows", 10, 20}, {dense(f, h, f, 1, 14336, 4096, false), "rows", 4, 8}, {dense(f, h, f, 1, 4096, 14336, false), "rows", 4, 8},
			{dense(f, h, f, 1, 2048, 2048, false), "rows", 40, 80}, {dense(f, h, f, 1, 8192, 2048, false), "rows", 10, 20}, {dense(f, h, f, 1, 2048, 8192, false), "rows", 10, 20}, {dense(f, h, f, 1, 512, 2048, false), "rows", 100, 100}, {dense(f, h, f, 1, 32064, 2048, false), "rows", 2, 4},
			{dense(f, h, f, 1, 1024, 4096, false), "rows", 50, 100}, {dense(f, h, f, 4, 4096, 4096, false), "rows", 10, 20}, {dense(f, h, f, 8, 4096, 14336, false), "rows", 4, 8},
			{dense(h, h, h, 1, 4096, 4096, false), "rows", 10, 20}, {dense(h, h, h, 8, 4096, 4096, false), "rows", 10, 20}, {dense(f, f, f, 1, 4096, 4096, false), "rows", 6, 12},
			{dense(f, h, f, 1, 4096, 4096, true), "rows", 10, 20}, {dense(h, h, h, 1, 4096, 14336, true), "rows", 4, 8}, {dense(f, h, f, 1, 2048, 2048, true), "rows", 40, 80}, {dense(f, h, f, 1, 512, 2048, true), "rows", 100, 100},
		},
		"model": {
			{dense(f, h, f, 16, 4096, 4096, false), "model", 10, 20}, {dense(h, h, h, 32, 4096, 4096, false), "model", 10, 20}, {dense(h, h, h, 128, 4096, 4096, false), "model", 10, 20}, {dense(h, h, h, 512, 4096, 4096, true), "model", 4, 8}, {dense(f, h, f, 128, 4096, 4096, false), "model", 4, 4},
			{dense(f, f, f, 512, 512, 512, false), "model", 1, 20}, {dense(f, f, f, 256, 1024, 1024, false), "model", 1, 20}, {dense(h, h, h, 1024, 1024, 1024, false), "model", 1, 20}, {dense(f, f, f, 1024, 1024, 1024, false), "model", 1, 10}, {dense(f, f, f, 2048, 2048, 2048, false), "model", 1, 5}, {dense(h, h, h, 2048, 2048, 2048, false), "model", 1, 10},
		},
	}
	for _, w := range sets[os.Getenv("GEMM_SET")] {
		s := w.shape
		fmt.Printf("%v x %v, %dx%dx%d, B along k: %v\n", s.A.Elem, s.B.Elem, s.M, s.N, s.K, s.B.Row == 1)
		var list []Kernel
		for _, kind := range strings.Fields(w.kinds) {
			list = append(list, s.kernels(kind)...)
		}
		ready := build(t, arch, list)
		b := newBench(t, c, s, w.copies)
		for _, k := range ready {
			worst, at, each, err := b.try(k, w.rounds)
			if err != nil {
				fmt.Printf("  %-80s %v\n", k.k.Name, err)
				t.Fail()
				continue
			}
			rate := ""
			if w.rounds > 0 {
				bytes := s.M*s.K*s.A.Elem.Size() + s.N*s.K*s.B.Elem.Size() + s.M*s.N*s.Out.Elem.Size()
				rate = fmt.Sprintf("%8.2f us %7.1f TFLOP/s %7.0f GB/s", float64(each.Nanoseconds())/1e3, 2*float64(s.M)*float64(s.N)*float64(s.K)/each.Seconds()/1e12, float64(bytes)/each.Seconds()/1e9)
			}
			note := ""
			if !(worst < 2e-2) {
				note = "WRONG"
			}
			fmt.Printf("  %-80s err %.1e at %d,%d %s %s\n", k.k.Name, worst, at/s.N, at%s.N, rate, note)
		}
		b.close()
	}
}
