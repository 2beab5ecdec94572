package gemm

import "fmt"

// edge is a number that blocks of k divide when they divide each slice.
func edge(k, slice int) int {
	if k%slice == 0 {
		return slice
	}
	return k%slice | 1 // no block divides it
}

// band is the rows of blocks that are neighbours in time.
const band = 16

// split says how k is cut: into so many slices of so many elements, whose sums a second
// kernel adds up, or the blocks of a cluster.
type split struct {
	slices, each int
	clustered    bool
}

// shared is the bytes of shared memory that the sums of a block need for those of its cluster.
func (k split) shared(bm, bn int) int {
	if !k.clustered {
		return 0
	}
	return bm * (bn + 4) * 4
}

// String is empty for a single slice.
func (k split) String() string {
	switch {
	case k.slices == 1:
		return ""
	case k.clustered:
		return fmt.Sprintf(", k in clusters of %d blocks", k.slices)
	}
	return fmt.Sprintf(", k in %d slices", k.slices)
}

// tiled writes the order of blocks and the slices, and tells these as they are.
func (t *text) tiled(k split, unit, bm, bn int) split {
	k.each, k.slices = slicing(t.shape.K, k.slices, unit)
	k.clustered = k.clustered && k.slices > 1
	slices, cluster := k.slices, 1
	if k.clustered {
		slices, cluster, t.cluster = 1, k.slices, k.slices
	}
	t.constant("band", min(band, ceil(t.shape.M, bm)))
	t.constant("slice", k.each)
	t.constant("slices", slices)
	t.constant("cluster", cluster)
	t.constant("slice_k", edge(t.shape.K, k.each))
	return k
}

// tiled is a kernel of one block for each tile, and one that joins slices of k.
func (s *Shape) tiled(name string, k split, p Piece, bm, bn int) Kernel {
	p.Grid = [3]uint32{uint32(ceil(s.M, bm) * ceil(s.N, bn)), uint32(k.slices), uint32(s.batches())}
	p.Args = withExtra(s, Out, A, B, Scratch)
	made := Kernel{Name: name + k.String(), Pieces: []Piece{p}}
	if k.slices > 1 && !k.clustered {
		made.Scratch = int64(k.slices) * int64(s.batches()) * int64(s.M) * int64(s.N) * 4
		made.Pieces = append(made.Pieces, s.join(k.slices))
	}
	return made
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

// slicing divides k into slices that are multiples of unit, and gives their number.
func slicing(k, slices, unit int) (slice, count int) {
	slice = max(unit, ceil(ceil(k, slices), unit)*unit)
	return slice, max(1, ceil(k, slice))
}
