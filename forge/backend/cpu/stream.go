package cpu

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// streamFloats is the size of the array that [Stream.Run] reads, 128 MiB: several
// times what the last cache of one core's machine holds.
const streamFloats = 32 << 20

// streamChains is the number of vectors that are read side by side.
const streamChains = 8

// Stream measures how fast one core reads memory beyond the caches, in order.
type Stream struct {
	lib      *library
	function uintptr
	data     []float32
}

// NewStream compiles the loop and fills its array, which it keeps.
func (b *Backend) NewStream(ctx context.Context) (*Stream, error) {
	e := &emitter{target: b.Target}
	e.open("int forge_stream(const float *p)")
	for i := range streamChains {
		e.line("vf a%d = set(0);", i)
	}
	e.open("for (long i = 0; i < %d; i += %d)", streamFloats, streamChains*b.Target.Lanes)
	for i := range streamChains {
		e.line("a%d += load(p + i + %d);", i, i*b.Target.Lanes)
	}
	e.close()
	for i := 1; i < streamChains; i++ {
		e.line("a0 += a%d;", i)
	}
	e.line("return a0[0] == 0;")
	e.close()
	lib, err := b.build(ctx, b.Target.prelude()+e.String())
	if err != nil {
		return nil, err
	}
	f, err := lib.function("forge_stream")
	if err != nil {
		return nil, err
	}
	data := make([]float32, streamFloats)
	for i := range data { // pages that were never written share one of zeros
		data[i] = 1
	}
	return &Stream{lib: lib, function: f, data: data}, nil
}

// Run reads the array once and returns its size in bytes.
func (s *Stream) Run() float64 {
	p := unsafe.Pointer(unsafe.SliceData(s.data))
	purego.SyscallN(s.function, uintptr(p))
	runtime.KeepAlive(s.data)
	return 4 * streamFloats
}
