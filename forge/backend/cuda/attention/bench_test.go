package attention

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/tensor"
)

// workload is an attention to measure, with the positions of its tokens.
type workload struct {
	name string
	Shape
	pos int // of the first token of each batch, with a cache
}

// workloads are prefill and decoding as decoders have them.
func workloads() []workload {
	var list []workload
	add := func(name string, s Shape, pos int) { list = append(list, workload{name, s, pos}) }
	causal := func(s Shape) Shape {
		s.Causal, s.Scale = true, 1/math.Sqrt(float64(s.D))
		return s
	}
	add("prefill bf16 1x32x4096x128 causal", causal(plain(tensor.BF16, 1, 32, 32, 4096, 4096, 128)), 0)
	add("prefill bf16 1x32/8x4096x128 causal", causal(plain(tensor.BF16, 1, 32, 8, 4096, 4096, 128)), 0)
	add("prefill f16 4x16x2048x64 causal", causal(plain(tensor.F16, 4, 16, 16, 2048, 2048, 64)), 0)
	add("chunk bf16 1x32/8x256 at 3840 x128 paged", pagedShape(tensor.BF16, 1, 32, 8, 256, 8192, 128), 3840)
	for _, n := range []int{256, 1024, 4095, 8191} {
		add(fmt.Sprintf("decode bf16 1x32/8 at %d x128 paged", n), pagedShape(tensor.BF16, 1, 32, 8, 1, 8192, 128), n)
	}
	add("decode bf16 8x32/8 at 4095 x128 paged", pagedShape(tensor.BF16, 8, 32, 8, 1, 8192, 128), 4095)
	add("decode bf16 1x32/8 at 1024 x64 paged", pagedShape(tensor.BF16, 1, 32, 8, 1, 8192, 64), 1024)
	add("decode f32 1x32/8 at 1024 x64 paged", pagedShape(tensor.F32, 1, 32, 8, 1, 8192, 64), 1024)
	add("sdpa f32 1x8x128x64 causal", causal(plain(tensor.F32, 1, 8, 8, 128, 128, 64)), 0)
	add("sdpa f16 1x8x128x64 causal", causal(plain(tensor.F16, 1, 8, 8, 128, 128, 64)), 0)
	add("sdpa f32 1x16x1024x64 causal", causal(plain(tensor.F32, 1, 16, 16, 1024, 1024, 64)), 0)
	return list
}

// flops counts both products over the pairs that there are.
func (w workload) flops() float64 {
	pairs := float64(w.Queries) * float64(w.Keys)
	switch {
	case w.Cache != nil:
		pairs = float64(w.Queries) * (float64(w.pos) + float64(w.Queries+1)/2)
	case w.Causal:
		pairs = float64(w.Queries) * float64(w.Queries+1) / 2
	}
	return 2 * float64(w.D+w.E) * pairs * float64(w.Batches*w.Heads)
}

// bytes are those of the keys and values that are seen.
func (w workload) bytes() float64 {
	keys := w.Keys
	if w.Cache != nil {
		keys = w.pos + w.Queries
	}
	return float64(w.Batches*w.Groups*keys*(w.D+w.E)) * float64(w.DType.Size())
}

// gpu is the first device, without which a benchmark is skipped.
func gpu(b *testing.B) (*driver.Context, *nvrtc.Compiler) {
	b.Helper()
	var missing *library.Missing
	lib, err := driver.Open()
	if errors.As(err, &missing) {
		b.Skip("there is no driver: ", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	list, err := lib.Devices()
	if err != nil || len(list) == 0 {
		b.Skip("there is no GPU: ", err)
	}
	compiler, err := nvrtc.Open()
	if err != nil {
		b.Fatal(err)
	}
	c, err := list[0].Open()
	if err != nil {
		b.Fatal(err)
	}
	return c, compiler
}

// BenchmarkCandidates measures every candidate of each workload, and compares it with the
// one that goes row by row.
func BenchmarkCandidates(b *testing.B) {
	c, compiler := gpu(b)
	device := Device{Capability: int(c.Capability), SMs: c.SMs, Shared: c.SharedPerBlock}
	compiled := compileAll(b, c, compiler, device)
	for _, w := range workloads() {
		list, err := Candidates(w.Shape, device)
		if err != nil {
			b.Fatal(err)
		}
		data := w.data()
		var want []float32
		for i := len(list) - 1; i >= 0; i-- { // the last goes row by row
			k := list[i]
			if w.flops() > 1e11 && want == nil && !strings.HasPrefix(k.Name, "flash") {
				continue // it takes too long
			}
			b.Run(fmt.Sprintf("%s/%s", w.name, k.Name), func(b *testing.B) {
				err := c.Do(b.Context(), func() error {
					got, took, err := w.run(c, compiled[k.Text](), k, data, b.N)
					if err != nil {
						return err
					}
					if want == nil {
						want = got
					}
					b.ReportMetric(float64(took.Nanoseconds())/1e3, "device-µs")
					b.ReportMetric(w.flops()/float64(took.Nanoseconds())/1e3, "TFLOP/s")
					b.ReportMetric(w.bytes()/float64(took.Nanoseconds()), "GB/s")
					b.ReportMetric(distance(got, want), "error")
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// compileAll compiles the kernels of all workloads side by side, by text.
func compileAll(b *testing.B, c *driver.Context, compiler *nvrtc.Compiler, device Device) map[string]func() []byte {
	compiled := make(map[string]func() []byte)
	for _, w := range workloads() {
		list, err := Candidates(w.Shape, device)
		if err != nil {
			b.Fatal(err)
		}
		for _, k := range list {
			if compiled[k.Text] != nil {
				continue
			}
			compiled[k.Text] = sync.OnceValue(func() []byte {
				arch := c.Capability.Arch()
				if k.Specific {
					arch += "a"
				}
				text := strings.Join(k.Shared, "") + strings.ReplaceAll(k.Text, "@kernel@", "attend")
				cubin, err := compiler.Compile(nvrtc.Source{Name: "attention.cu", Arch: arch, Text: text})
				if err != nil {
					b.Error(err)
				}
				return cubin
			})
			go compiled[k.Text]()
		}
	}
	return compiled
}

// distance is the norm of the difference relative to that of want.
func distance(got, want []float32) float64 {
	var d, n float64
	for i, y := range want {
		d += float64(got[i]-y) * float64(got[i]-y)
		n += float64(y) * float64(y)
	}
	return math.Sqrt(d / n)
}

// run gives the result of a kernel, and the time of one of n launches, in graphs of ten.
func (w workload) run(c *driver.Context, cubin []byte, k Kernel, data [][]byte, n int) ([]float32, time.Duration, error) {
	m, err := c.Load(cubin)
	if err != nil {
		return nil, 0, err
	}
	f, err := m.Function("attend")
	if err != nil {
		return nil, 0, err
	}
	if err := f.AllowShared(k.Dynamic); err != nil {
		return nil, 0, err
	}
	s, err := c.NewStream()
	if err != nil {
		return nil, 0, err
	}
	memory, words, err := operands(s, k, data)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		for _, x := range memory {
			err = errors.Join(err, s.Free(x))
		}
		err = errors.Join(err, s.Close(), m.Close())
	}()
	args := driver.NewArguments(append(words, 0, 0)...)
	grid := driver.Grid{Blocks: k.Grid, Threads: k.Threads, Shared: uint32(k.Dynamic)}
	best, err := fastest(c, s, n, func() error { return s.Launch(f, grid, args) })
	if err != nil {
		return nil, 0, err
	}
	raw := make([]byte, w.elements(Out)*w.DType.Size())
	if err := errors.Join(s.Download(raw, memory[Out], 0), s.Synchronize()); err != nil {
		return nil, 0, err
	}
	return w.floats(raw), best, nil
}

// fastest is the least time of what launch puts into the stream: in graphs of ten, but for
// what takes long.
func fastest(c *driver.Context, s *driver.Stream, n int, launch func() error) (time.Duration, error) {
	start, err := c.NewEvent(true)
	if err != nil {
		return 0, err
	}
	end, err := c.NewEvent(true)
	if err != nil {
		return 0, err
	}
	took := func(f func() error) (time.Duration, error) {
		if err := errors.Join(s.Record(start), f(), s.Record(end), end.Synchronize()); err != nil {
			return 0, err
		}
		return end.Since(start)
	}
	best, err := took(launch)
	if err != nil || best > 2*time.Millisecond {
		return best, err
	}
	const each = 10
	graph, err := s.Capture(func() error {
		for range each {
			if err := launch(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for range max(4, min(n, 8)) {
		d, err := took(func() error { return graph.Launch(s) })
		if err != nil {
			return 0, err
		}
		best = min(best, d/each)
	}
	return best, errors.Join(graph.Close(), start.Close(), end.Close())
}

// elements is the number of those of an operand.
func (w workload) elements(o Operand) int {
	blocks, rows := w.Batches, w.Keys
	if w.Cache != nil && w.Cache.Table != nil {
		blocks, rows = w.Cache.Table.Blocks, w.Cache.Table.Block
	}
	switch o {
	case Q:
		return w.Batches * w.Heads * w.Queries * w.D
	case K:
		return blocks * w.Groups * rows * w.D
	case V:
		return blocks * w.Groups * rows * w.E
	}
	return w.Batches * w.Heads * w.Queries * w.E
}

// floats reads elements in memory.
func (w workload) floats(raw []byte) []float32 {
	if w.DType == tensor.F32 {
		return unsafe.Slice((*float32)(unsafe.Pointer(&raw[0])), len(raw)/4)
	}
	list := make([]float32, len(raw)/2)
	tensor.WidenHalf(w.DType, list, unsafe.Slice((*uint16)(unsafe.Pointer(&raw[0])), len(raw)/2))
	return list
}

// data are random numbers, positions, and a table in a random order.
func (w workload) data() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([][]byte, Operands)
	for _, o := range []Operand{Q, K, V, Out} {
		x := make([]float32, w.elements(o))
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		list[o] = unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x))
		if w.DType != tensor.F32 {
			half := make([]uint16, len(x))
			tensor.NarrowHalf(w.DType, half, x)
			list[o] = unsafe.Slice((*byte)(unsafe.Pointer(&half[0])), 2*len(half))
		}
	}
	if w.Cache == nil {
		return list
	}
	var table, pos, length []int32
	for _, i := range r.Perm(w.Cache.Table.Blocks)[:w.Batches*w.Cache.Table.Row] {
		table = append(table, int32(i))
	}
	for range w.Batches {
		pos, length = append(pos, int32(w.pos)), append(length, int32(w.pos+w.Queries))
	}
	for o, x := range map[Operand][]int32{TableOf: table, PosOf: pos, LengthOf: length} {
		list[o] = unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x))
	}
	return list
}

// operands puts data on the device; words are the addresses, 0 for what there is not.
func operands(s *driver.Stream, k Kernel, data [][]byte) (memory []*driver.Memory, words []uint64, err error) {
	data = slices.Clone(data)
	data[Scratch], data[Counters] = make([]byte, k.Scratch), make([]byte, k.Counters)
	for _, raw := range data {
		if len(raw) == 0 {
			words = append(words, 0)
			continue
		}
		m, err := s.Alloc(int64(len(raw)))
		if err != nil {
			return memory, nil, err
		}
		memory, words = append(memory, m), append(words, m.Address)
		if err := s.Upload(m, 0, raw); err != nil {
			return memory, nil, err
		}
	}
	return memory, words, s.Synchronize()
}
