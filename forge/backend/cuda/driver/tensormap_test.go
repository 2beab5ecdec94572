package driver

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// TestBoxesShape sees that what is no tensor of the copy engine is refused with what it is.
func TestBoxesShape(t *testing.T) {
	for _, b := range []Boxes{
		{Sizes: []uint64{64}, Box: []uint32{64}},
		{Sizes: []uint64{64, 8}, Box: []uint32{64, 8}},
		{Sizes: []uint64{64, 8}, Steps: []uint64{128}, Box: []uint32{64}},
		{Sizes: make([]uint64, 6), Steps: make([]uint64, 5), Box: make([]uint32, 6)},
	} {
		m, err := new(Context).encode(&b, 256)
		if err == nil || !strings.Contains(err.Error(), "no tensor of 2 to 5 dimensions") {
			t.Errorf("%v: %v, %v", b, m, err)
		}
	}
}

// boxSource copies a box of 64 x 8 elements as it lies in shared memory.
const boxSource = `
struct alignas(64) map { unsigned long long words[16]; };
extern "C" __global__ void box(unsigned short *out, const __grid_constant__ map m, int x, int y) {
  __shared__ __align__(1024) unsigned short at[8 * 64];
  __shared__ __align__(8) unsigned long long barrier;
  const unsigned b = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(at);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&m), "r"(b), "r"(x), "r"(y) : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@p bra over;\nbra again;\nover:\n}" ::"r"(b) : "memory");
  for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) out[i] = at[i];
}`

// TestBoxes brings a box that is partly beyond a matrix of 100 x 12 elements in lines of 104:
// there it has zeros, and units of 8 elements are exchanged within a line by its number.
func TestBoxes(t *testing.T) {
	c := openDevice(t)
	if c.Capability < 90 {
		t.Skip("capability ", c.Capability, " has no copy engine for boxes")
	}
	const width, height, step, x, y = 100, 12, 104, 64, 7
	m := loadText(t, c, boxSource)
	on(t, c, func(s *Stream) error {
		f := function(t, m, "box")
		in, err := s.Alloc(2 * step * height)
		if err != nil {
			return err
		}
		out, err := s.Alloc(2 * 8 * 64)
		if err != nil {
			return err
		}
		raw := make([]byte, 2*step*height)
		for i := range step * height {
			binary.LittleEndian.PutUint16(raw[2*i:], uint16(i+1))
		}
		if err := s.Upload(in, 0, raw); err != nil {
			return err
		}
		args := NewArguments(out.Address, in.Address, x, y)
		if err := args.Describe(c, 1, &Boxes{Kind: ElementBF16, Sizes: []uint64{width, height}, Steps: []uint64{2 * step}, Box: []uint32{64, 8}}); err != nil {
			return err
		}
		if err := s.Launch(f, Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{128, 1, 1}}, args); err != nil {
			return err
		}
		got := make([]byte, 2*8*64)
		if err := s.Download(got, out, 0); err != nil {
			return err
		}
		if err := s.Synchronize(); err != nil {
			return err
		}
		for l := range 8 {
			for i := range 64 {
				want := uint16(0)
				if x+i < width && y+l < height {
					want = uint16((y+l)*step + x + i + 1)
				}
				at := l*64 + (i/8^l)*8 + i%8
				if have := binary.LittleEndian.Uint16(got[2*at:]); have != want {
					t.Fatalf("element %d of line %d is %d, not %d", i, l, have, want)
				}
			}
		}
		return errors.Join(s.Free(in), s.Free(out))
	})
}
