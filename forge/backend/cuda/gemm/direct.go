package gemm

import "fmt"

// directCut is how the threads of a block share the results of a small product: lanes lie
// in lm rows, each for tm x tn results, and warps divide k.
type directCut struct{ tm, tn, lm, warps, unroll int }

func (c directCut) size() (bm, bn int) { return c.tm * c.lm, c.tn * 32 / c.lm }

// directCuts are the candidates.
var directCuts = []directCut{
	{4, 4, 4, 8, 2}, {4, 4, 4, 8, 4}, {4, 4, 4, 16, 1}, {4, 4, 4, 16, 2}, {4, 4, 4, 4, 4}, // 16x32
	{4, 2, 4, 8, 4}, {4, 2, 4, 16, 2}, {4, 2, 4, 4, 4}, // 16x16
	{4, 2, 2, 8, 4}, {4, 2, 2, 16, 2}, {2, 2, 4, 8, 4}, {2, 2, 4, 16, 2}, {2, 4, 4, 8, 2}, // 8x32, 8x16, 8x32
	{8, 4, 4, 8, 2}, {8, 4, 4, 16, 1}, {8, 8, 4, 4, 1}, {8, 8, 4, 8, 1}, // 32x32, 32x64
	{1, 4, 8, 8, 4}, {2, 1, 4, 8, 4}, // 8x16, 8x8
}

// direct is a kernel whose operands come straight to registers.
func (s *Shape) direct(c directCut) Kernel {
	bm, bn := c.size()
	threads := c.warps * 32
	t := &text{shape: s}
	t.begin()
	t.walks(units{4, min(4, c.tm)}, units{4, min(4, c.tn)})
	t.constant("BM", bm)
	t.constant("BN", bn)
	t.constant("TM", c.tm)
	t.constant("TN", c.tn)
	t.constant("LM", c.lm)
	t.constant("threads", threads)
	t.constant("unroll", c.unroll)
	t.constant("slices", 1)
	t.end("direct", threads, 1, withExtra(s, Out, A, B), true)
	return Kernel{
		Name: fmt.Sprintf("direct %dx%d tiles, %dx%d for each thread, k in %d warps, unroll %d", bm, bn, c.tm, c.tn, c.warps, c.unroll),
		Pieces: []Piece{{
			Shared: []string{shared(common), shared(directSource)}, Text: t.String(),
			Grid:    [3]uint32{uint32(ceil(s.N, bn)), uint32(ceil(s.M, bm)), uint32(s.batches())},
			Threads: [3]uint32{uint32(threads), 1, 1}, SharedBytes: c.warps * bm * bn * 4,
			Args: withExtra(s, Out, A, B),
		}},
	}
}
