package gemm

import "fmt"

// wgmmaTile is how warpgroups share the results of a product of half precision.
type wgmmaTile struct {
	bm, bn, bk, wm, wn, stages, blocks int
	rate                               float64 // see [tileTime]
}

func (c wgmmaTile) threads() int { return c.wm * c.wn * 128 }

// shared has room to begin at a multiple of 1024 bytes.
func (c wgmmaTile) shared() int { return c.stages*(c.bm+c.bn)*c.bk*2 + 1024 }

// wgmmaTiles are the candidates.
var wgmmaTiles = []wgmmaTile{
	{128, 256, 64, 2, 1, 4, 1, 4.15},
	{192, 256, 64, 3, 1, 4, 1, 3.9},
	{256, 128, 64, 2, 1, 4, 1, 3.8},
	{128, 128, 64, 2, 1, 6, 1, 3.2},
	{128, 128, 64, 1, 1, 6, 1, 3.0},
	{64, 256, 64, 1, 1, 5, 1, 3.0},
	{64, 128, 64, 1, 1, 4, 2, 3.0},
	{64, 64, 64, 1, 1, 6, 2, 2.35},
}

// wgmma is a kernel for the tensor cores of sm_90a, which read shared memory themselves.
func (s *Shape) wgmma(c wgmmaTile, slices, sms int) Kernel {
	t := &text{shape: s}
	t.begin()
	t.walks(units{8, 8}, units{8, 8})
	slice, count := slicing(s.K, slices, c.bk)
	t.constant("BM", c.bm)
	t.constant("BN", c.bn)
	t.constant("BK", c.bk)
	t.constant("WM", c.wm)
	t.constant("WN", c.wn)
	t.constant("stages", c.stages)
	t.constant("threads", c.threads())
	t.tiled(slice, count, c.bm, c.bn)
	t.end("wgmma", c.threads(), c.blocks, withExtra(s, Out, A, B, Scratch), true)
	k := s.tiled(fmt.Sprintf("%v %dx%dx%d tiles, wgmma of %dx%d groups, %d stages", s.A.Elem, c.bm, c.bn, c.bk, c.wm, c.wn, c.stages), count,
		Piece{Shared: []string{shared(common), wgmmaSteps(c.bn / c.wn), shared(wgmmaSource)}, Text: t.String(), Threads: [3]uint32{uint32(c.threads()), 1, 1}, SharedBytes: c.shared(), Specific: true}, c.bm, c.bn)
	grid := &k.Pieces[0].Grid
	*grid = [3]uint32{min(grid[0]*grid[1]*grid[2], uint32(sms*c.blocks)), 1, 1}
	return k
}
