package gemm

import "fmt"

// simtTile is how threads share the results of a product in f32: warps lie in rows and
// columns, lanes in lm rows, and a thread has tm x tn results.
type simtTile struct {
	warpsM, warpsN, tm, tn, lm, bk int
	blocks                         int     // that should fit a multiprocessor
	rate                           float64 // see [tileTime]
}

func (c simtTile) size() (bm, bn int) { return c.warpsM * c.lm * c.tm, c.warpsN * 32 / c.lm * c.tn }

func (c simtTile) threads() int { return c.warpsM * c.warpsN * 32 }

// simtTiles are the candidates.
var simtTiles = []simtTile{
	{2, 2, 16, 8, 4, 8, 2, 0.403}, // 128x128
	{2, 4, 8, 8, 8, 8, 2, 0.561},
	{4, 2, 8, 8, 4, 8, 2, 0.616},
	{2, 2, 8, 8, 4, 16, 3, 0.391}, // 64x128
	{2, 2, 8, 8, 8, 16, 3, 0.311}, // 128x64
	{1, 2, 8, 8, 8, 16, 4, 0.265}, // 64x64
	{2, 4, 4, 4, 8, 16, 3, 0.309}, // 64x64 of 256 threads
	{1, 2, 4, 4, 8, 16, 6, 0.321}, // 32x32
	{1, 4, 4, 4, 4, 16, 4, 0.341}, // 16x128
	{2, 4, 4, 4, 8, 32, 3, 0.263}, // 64x64 of 256 threads
	{1, 2, 8, 8, 8, 32, 4, 0.187}, // 64x64
	{1, 6, 8, 4, 8, 16, 2, 0.333}, // 64x96
	{1, 6, 8, 4, 8, 32, 2, 0.288},
	{1, 3, 8, 4, 8, 32, 4, 0.219}, // 64x48
	{2, 2, 4, 4, 8, 32, 4, 0.231}, // 64x32
	{1, 2, 4, 4, 8, 32, 6, 0.241}, // 32x32
	{1, 4, 4, 4, 8, 32, 4, 0.286}, // 32x64
	{1, 4, 4, 4, 4, 32, 4, 0.181}, // 16x128
	{1, 2, 4, 4, 4, 32, 6, 0.165}, // 16x64
}

// simt is a kernel in f32.
func (s *Shape) simt(c simtTile, k split) Kernel {
	bm, bn := c.size()
	t := &text{shape: s}
	t.begin()
	t.walks(units{4, 4}, units{4, 4})
	t.constant("BM", bm)
	t.constant("BN", bn)
	t.constant("BK", c.bk)
	t.constant("TM", c.tm)
	t.constant("TN", c.tn)
	t.constant("LM", c.lm)
	t.constant("threads", c.threads())
	k = t.tiled(k, c.bk, bm, bn)
	t.constant("enters", s.Early)
	bytes := max(2*c.bk*(bm+bn+8)*4, c.warpsM*c.warpsN*c.lm*4*(32/c.lm*c.tn+4)*4, k.shared(bm, bn))
	t.end("simt", c.threads(), c.blocks, withExtra(s, Out, A, B, Scratch), true)
	return s.tiled(fmt.Sprintf("f32 %dx%dx%d tiles, %dx%d for each of %d threads", bm, bn, c.bk, c.tm, c.tn, c.threads()), k,
		Piece{Shared: []string{shared(common), shared(simtSource)}, Text: t.String(), Threads: [3]uint32{uint32(c.threads()), 1, 1}, SharedBytes: bytes, Enters: s.Early}, bm, bn)
}
