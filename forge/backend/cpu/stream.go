package cpu

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// streamFloats is the size of the array of a [Stream], 128 MiB: several times what the
// last cache of one core's machine holds.
const streamFloats = 32 << 20

// streamChains is the number of vectors that are read side by side.
const streamChains = 8

// Stream measures how fast one core moves data in order, from memory or within a cache.
type Stream struct {
	lib       *library
	read, add uintptr
	chunk     int // elements that one round of a loop moves
	data      []float32
}

// NewStream compiles the loops and fills the array, which it keeps.
func (b *Backend) NewStream(ctx context.Context) (*Stream, error) {
	e := &emitter{target: b.Target}
	e.streamRead()
	e.streamAdd()
	lib, err := b.build(ctx, b.Target.prelude()+e.String())
	if err != nil {
		return nil, err
	}
	s := &Stream{lib: lib, chunk: streamChains * b.Target.Lanes, data: make([]float32, streamFloats)}
	if s.read, err = lib.function("forge_stream_read"); err != nil {
		return nil, err
	}
	if s.add, err = lib.function("forge_stream_add"); err != nil {
		return nil, err
	}
	for i := range s.data { // pages that were never written share one of zeros
		s.data[i] = 1
	}
	return s, nil
}

// streamRead writes the function that reads n elements, several times over.
func (e *emitter) streamRead() {
	lanes := e.target.Lanes
	e.Open("int forge_stream_read(const float *p, long n, long rounds)")
	for i := range streamChains {
		e.Line("vf a%d = set(0);", i)
	}
	e.Open("for (long r = 0; r < rounds; r++)")
	e.Open("for (long i = 0; i < n; i += %d)", streamChains*lanes)
	for i := range streamChains {
		e.Line("a%d += load(p + i + %d);", i, i*lanes)
	}
	e.Close()
	e.Close()
	for i := 1; i < streamChains; i++ {
		e.Line("a0 += a%d;", i)
	}
	e.Line("return a0[0] == 0;")
	e.Close()
}

// streamAdd writes the function that adds two arrays of n elements into a third, several
// times over. They are a chunk apart, so that they do not fall on the same lines of a cache.
func (e *emitter) streamAdd() {
	lanes := e.target.Lanes
	e.Open("int forge_stream_add(float *p, long n, long rounds)")
	e.Line("const float *a = p + n + %d, *b = a + n + %d;", streamChains*lanes, streamChains*lanes)
	e.Open("for (long r = 0; r < rounds; r++)")
	e.Open("for (long i = 0; i < n; i += %d)", streamChains*lanes)
	for i := range streamChains {
		e.Line("store(p + i + %[1]d, load(a + i + %[1]d) + load(b + i + %[1]d));", i*lanes)
	}
	e.Close()
	e.Close()
	e.Line("return 0;")
	e.Close()
}

// Run reads the array once, which no cache holds, and returns its size in bytes.
func (s *Stream) Run() float64 { return s.Read(4 * streamFloats) }

// streamBytes is what a run within a cache moves, so that a call is nothing beside it.
const streamBytes = 4 << 20

// Read reads the first bytes of the array until it has read a few megabytes, and returns
// how many bytes it read. The size is at most that of the array.
func (s *Stream) Read(size int) float64 { return s.call(s.read, size/4, 1) }

// Add does the same with two arrays that it adds into a third, all of them together of
// the size, and returns how many bytes it read and wrote.
func (s *Stream) Add(size int) float64 { return s.call(s.add, size/12-s.chunk, 3) }

// call moves n elements of some arrays several times.
func (s *Stream) call(function uintptr, n, arrays int) float64 {
	n = max(n/s.chunk, 1) * s.chunk
	moved := 4 * arrays * n
	rounds := max(streamBytes/moved, 1)
	p := unsafe.Pointer(unsafe.SliceData(s.data))
	purego.SyscallN(function, uintptr(p), uintptr(n), uintptr(rounds))
	runtime.KeepAlive(s.data)
	return float64(moved * rounds)
}
