package gemm

import "fmt"

// mmaTile is how warps share the results of a product of half precision.
type mmaTile struct {
	bm, bn, bk, wm, wn, stages, blocks int
	rate                               float64 // see [tileTime]
}

func (c mmaTile) threads() int { return c.wm * c.wn * 32 }

func (c mmaTile) shared() int {
	return max(c.stages*(c.bm+c.bn)*c.bk*2, c.wm*c.wn*16*(c.bn/c.wn+8)*4)
}

// mmaTiles are the candidates.
var mmaTiles = []mmaTile{
	{128, 128, 32, 2, 2, 4, 2, 4.06},
	{128, 256, 64, 2, 4, 3, 1, 3.98},
	{128, 128, 32, 2, 4, 4, 2, 3.25},
	{128, 64, 64, 2, 2, 4, 2, 3.07},
	{64, 128, 64, 2, 2, 4, 2, 2.58},
	{64, 64, 64, 2, 2, 4, 3, 2.79},
	{64, 32, 64, 2, 2, 4, 4, 1.21},
	{32, 64, 64, 2, 2, 4, 4, 1.55},
	{16, 64, 64, 1, 4, 4, 4, 1.02},
}

// mma is a kernel for tensor cores that threads feed by way of registers.
func (s *Shape) mma(c mmaTile, k split) Kernel {
	t := &text{shape: s}
	t.begin()
	t.walks(units{8, 8}, units{8, 8})
	t.constant("BM", c.bm)
	t.constant("BN", c.bn)
	t.constant("BK", c.bk)
	t.constant("WM", c.wm)
	t.constant("WN", c.wn)
	t.constant("stages", c.stages)
	t.constant("threads", c.threads())
	k = t.tiled(k, c.bk, c.bm, c.bn)
	t.end("mma", c.threads(), c.blocks, withExtra(s, Out, A, B, Scratch), true)
	return s.tiled(fmt.Sprintf("%v %dx%dx%d tiles, mma of %dx%d warps, %d stages", s.A.Elem, c.bm, c.bn, c.bk, c.wm, c.wn, c.stages), k,
		Piece{Shared: []string{shared(common), shared(mmaSource)}, Text: t.String(), Threads: [3]uint32{uint32(c.threads()), 1, 1}, SharedBytes: max(c.shared(), k.shared(c.bm, c.bn))}, c.bm, c.bn)
}
