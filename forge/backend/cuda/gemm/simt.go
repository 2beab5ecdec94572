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
	{2, 2, 16, 8, 4, 8, 2, 0.35}, // 128x128
	{2, 4, 8, 8, 8, 8, 2, 0.33},
	{4, 2, 8, 8, 4, 8, 2, 0.345},
	{2, 2, 8, 8, 4, 16, 3, 0.32},  // 64x128
	{2, 2, 8, 8, 8, 16, 3, 0.31},  // 128x64
	{1, 2, 8, 8, 8, 16, 4, 0.29},  // 64x64
	{2, 4, 4, 4, 8, 16, 3, 0.25},  // 64x64 of 256 threads
	{1, 2, 4, 4, 8, 16, 6, 0.21},  // 32x32
	{1, 4, 4, 4, 4, 16, 4, 0.205}, // 16x128
}

// simt is a kernel in f32.
func (s *Shape) simt(c simtTile, slices int) Kernel {
	bm, bn := c.size()
	t := &text{shape: s}
	t.begin()
	t.walks(units{4, 4}, units{4, 4})
	slice, count := slicing(s.K, slices, c.bk)
	t.constant("BM", bm)
	t.constant("BN", bn)
	t.constant("BK", c.bk)
	t.constant("TM", c.tm)
	t.constant("TN", c.tn)
	t.constant("LM", c.lm)
	t.constant("threads", c.threads())
	t.tiled(slice, count, bm, bn)
	t.constant("enters", s.Early)
	bytes := max(2*c.bk*(bm+bn+8), c.warpsM*c.warpsN*c.lm*4*(32/c.lm*c.tn+4)) * 4
	t.end("simt", c.threads(), c.blocks, withExtra(s, Out, A, B, Scratch), true)
	return s.tiled(fmt.Sprintf("f32 %dx%dx%d tiles, %dx%d for each of %d threads", bm, bn, c.bk, c.tm, c.tn, c.threads()), count,
		Piece{Shared: []string{shared(common), shared(simtSource)}, Text: t.String(), Threads: [3]uint32{uint32(c.threads()), 1, 1}, SharedBytes: bytes, Enters: s.Early}, bm, bn)
}

// edge is a number that blocks of k divide when they divide each slice.
func edge(k, slice int) int {
	if k%slice == 0 {
		return slice
	}
	return k%slice | 1 // no block divides it
}

// band is the rows of blocks that are neighbours in time.
const band = 16

// tiled writes the order of blocks and the slices.
func (t *text) tiled(slice, count, bm, bn int) {
	t.constant("band", min(band, ceil(t.shape.M, bm)))
	t.constant("slice", slice)
	t.constant("slices", count)
	t.constant("slice_k", edge(t.shape.K, slice))
}

// tiled is a kernel of one block for each tile, and one that joins slices of k.
func (s *Shape) tiled(name string, slices int, p Piece, bm, bn int) Kernel {
	p.Grid = [3]uint32{uint32(ceil(s.M, bm) * ceil(s.N, bn)), uint32(slices), uint32(s.batches())}
	p.Args = withExtra(s, Out, A, B, Scratch)
	k := Kernel{Name: name, Pieces: []Piece{p}}
	if slices > 1 {
		k.Name += fmt.Sprintf(", k in %d slices", slices)
		k.Scratch = int64(slices) * int64(s.batches()) * int64(s.M) * int64(s.N) * 4
		k.Pieces = append(k.Pieces, s.join(slices))
	}
	return k
}

// join adds up slices.
func (s *Shape) join(slices int) Piece {
	const threads = 256
	t := &text{shape: s}
	t.begin()
	t.constant("slices", slices)
	t.end("join_slices", threads, 1, withExtra(s, Out, Scratch), false)
	blocks := min(1<<16, ceil(s.batches()*s.M*s.N, threads))
	return Piece{Shared: []string{shared(common)}, Text: t.String(), Grid: [3]uint32{uint32(blocks), 1, 1}, Threads: [3]uint32{threads, 1, 1}, Args: withExtra(s, Out, Scratch)}
}
