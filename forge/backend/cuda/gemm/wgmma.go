package gemm

import (
	"fmt"
	"slices"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

// wgmmaTile is how warpgroups share the results of a product of half precision whose
// operands the copy engine brings.
type wgmmaTile struct {
	bm, bn, bk, wm, wn, turns, stages, blocks int
	rate                                      float64 // see [tileTime]
}

// threads are those of the groups that multiply and of the warp that asks for boxes.
func (c wgmmaTile) threads() int { return c.turns*c.wm*c.wn*128 + 32 }

// shared is stages, with room to begin at a multiple of 1024 bytes, their barriers, and
// room for 16 x 32 results of each warp.
func (c wgmmaTile) shared() int {
	return c.stages*((c.bm+c.bn)*c.bk*2+16) + 1024 + c.turns*c.wm*c.wn*4*16*40*4
}

// wgmmaTiles are the candidates.
var wgmmaTiles = []wgmmaTile{
	{128, 128, 64, 1, 1, 2, 6, 1, 4.95},
	{64, 256, 64, 1, 1, 2, 5, 1, 5.05},
	{128, 256, 64, 2, 1, 1, 4, 1, 4.91},
	{256, 128, 64, 2, 1, 1, 4, 1, 5.64},
	{128, 128, 64, 2, 1, 1, 6, 1, 5.61},
	{64, 256, 64, 1, 1, 1, 5, 1, 4.65},
	{64, 128, 64, 1, 1, 2, 6, 1, 4.34},
	{64, 128, 64, 1, 1, 1, 4, 2, 3.06},
	{64, 64, 64, 1, 1, 1, 6, 2, 3.51},
}

// box describes an operand with k along step along and others along step across to the
// copy engine: in boxes of 64 neighbours by so many lines.
func (s *Shape) box(m *Matrix, along bool, size, bk, cols int) *driver.Boxes {
	b := &driver.Boxes{Kind: driver.ElementBF16}
	if m.Elem == tensor.F16 {
		b.Kind = driver.ElementF16
	}
	add := func(size, step, box int) {
		b.Sizes, b.Box = append(b.Sizes, uint64(size)), append(b.Box, uint32(box))
		if len(b.Sizes) > 1 {
			b.Steps = append(b.Steps, uint64(step*m.Elem.Size()))
		}
	}
	if along {
		add(s.K, 1, 64)
		add(size, max(m.Row, m.Column), cols)
	} else {
		add(size, 1, 64)
		add(s.K, max(m.Row, m.Column), bk)
	}
	for i, d := range s.Batch {
		if m.Batch[i] != 0 && d > 1 {
			add(d, m.Batch[i], 1)
		}
	}
	return b
}

// maxBoxes bounds the dimensions that [Shape.box] gives a matrix.
const maxBoxes = 4

// boxes are both operands as the copy engine brings them, if it can.
func (s *Shape) boxes(c wgmmaTile) (a, b *driver.Boxes, ok bool) {
	alongA, wholeA := s.walkA(units{8, 8})
	alongB, wholeB := s.walkB(units{8, 8})
	a = s.box(&s.A, alongA, s.M, c.bk, c.bm)
	b = s.box(&s.B, alongB, s.N, c.bk, c.bn)
	return a, b, wholeA && wholeB && brings(a) && brings(b)
}

// brings reports whether the copy engine can bring boxes of a matrix, whose lines do not
// overlap.
func brings(b *driver.Boxes) bool {
	for _, step := range b.Steps {
		if step%16 != 0 || step >= 1<<40 {
			return false
		}
	}
	return len(b.Sizes) <= maxBoxes && b.Steps[0] >= 2*b.Sizes[0] && slices.Max(b.Sizes) < 1<<31
}

// bring writes the function that asks for a box of an operand.
func (t *text) bring(name string, m *Matrix) {
	t.line("  INLINE_MEMBER static void bring_%s(unsigned to, const gemm::tensor_map *m, unsigned barrier, int x, int y, int z) {", name)
	count, where := 1, ""
	for i := len(t.shape.Batch) - 1; i >= 0; i-- {
		if m.Batch[i] != 0 && t.shape.Batch[i] > 1 {
			where = fmt.Sprintf(", z / %d %% %d", count, t.shape.Batch[i]) + where
		}
		count *= t.shape.Batch[i]
	}
	t.line("    gemm::bring(to, m, barrier, x, y%s);", where)
	t.line("  }")
}

// wgmma is a kernel for the tensor cores of sm_90a, whose operands the copy engine brings.
func (s *Shape) wgmma(c wgmmaTile, k split, sms int) Kernel {
	t := &text{shape: s, boxed: true}
	t.begin()
	t.walks(units{8, 8}, units{8, 8})
	t.bring("a", &s.A)
	t.bring("b", &s.B)
	t.constant("BM", c.bm)
	t.constant("BN", c.bn)
	t.constant("BK", c.bk)
	t.constant("WM", c.wm)
	t.constant("WN", c.wn)
	t.constant("turns", c.turns)
	t.constant("stages", c.stages)
	k = t.tiled(k, c.bk, c.bm, c.bn)
	t.end("wgmma", c.threads(), c.blocks, withExtra(s, Out, A, B, Scratch), true)
	made := s.tiled(fmt.Sprintf("%v %dx%dx%d tiles, wgmma of %dx%d groups in %d turns, %d stages", s.A.Elem, c.bm, c.bn, c.bk, c.wm, c.wn, c.turns, c.stages), k,
		Piece{Shared: []string{shared(common), wgmmaSteps(c.bn / c.wn), shared(wgmmaSource)}, Text: t.String(), Threads: [3]uint32{uint32(c.threads()), 1, 1}, SharedBytes: c.shared(), Specific: true}, c.bm, c.bn)
	a, b, _ := s.boxes(c)
	made.Pieces[0].Boxes = map[Arg]*driver.Boxes{A: a, B: b}
	grid := &made.Pieces[0].Grid
	*grid = [3]uint32{min(grid[0]*grid[1]*grid[2], uint32(sms*c.blocks)), 1, 1}
	return made
}
