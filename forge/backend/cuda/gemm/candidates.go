package gemm

import (
	"cmp"
	"slices"

	"forgekernel/forge/tensor"
)

// Target is the device that kernels are made for.
type Target struct {
	Capability int // 90 is 9.0
	SMs        int // streaming multiprocessors
	Shared     int // bytes of shared memory that a block may ask for
}

// The model of time, in microseconds; its numbers were measured on an H200, and only their
// ratios matter for the order of candidates.
const (
	startTime   = 1.5     // from the launch to the first product, and from the last to the end
	joinTime    = 1.2     // a second kernel, which adds up slices
	arriveTime  = 2       // the last block adds up slices
	clusterTime = 1       // the blocks of a cluster do
	bytesTime   = 4e6     // bytes of device memory in a microsecond
	stepTime    = 0.27    // a step of a block of which several are under way
	waitTime    = 0.6     // a step that waits for memory
	directTime  = 0.9     // a direct product but for its loads
	joinWarps   = 0.00125 // the sums of a result's warps
)

// guess is a kernel with the time that the model gives it.
type guess struct {
	time float64
	make func() Kernel
}

// maxCandidates bounds the kernels of a shape.
const maxCandidates = 10

// MaxBatches bounds the products of a shape, which lie in one dimension of a grid.
const MaxBatches = 1<<16 - 1

// Candidates are kernels for a shape, the one that should be the quickest first. There are
// none for a shape of more than [MaxBatches] products.
func Candidates(s *Shape, t Target) []Kernel {
	if s.batches() > MaxBatches {
		return nil
	}
	list := s.rowsGuesses(t)
	if s.Begin.Body == nil {
		list = slices.Concat(list, s.directGuesses(t), s.tileGuesses(t))
	}
	slices.SortStableFunc(list, func(a, b guess) int { return cmp.Compare(a.time, b.time) })
	var kernels []Kernel
	for _, g := range list[:min(maxCandidates, len(list))] {
		kernels = append(kernels, g.make())
	}
	return kernels
}

// half reports whether the tensor cores of a device multiply the operands.
func (s *Shape) half(t Target) bool {
	d := s.A.Elem
	return d == s.B.Elem && (d == tensor.F16 || d == tensor.BF16 && t.Capability >= 80)
}

// bytes is what device memory moves at least.
func (s *Shape) bytes() float64 {
	n := s.M*s.K*s.A.Elem.Size() + s.K*s.N*s.B.Elem.Size() + s.M*s.N*s.Out.Elem.Size()
	return float64(n) * float64(s.batches())
}

// tile is what the model knows of a kernel of tiles.
type tile struct {
	bm, bn, bk, blocks int
	warps              int     // of a block
	rate               float64 // millions of operations that a full multiprocessor does in a microsecond
	step               float64 // the least time of a step
}

// tileTime is the time of a product in tiles with k in slices. Blocks run in waves; in
// each a multiprocessor's blocks share its rate, of which a few warps get less than all, and
// no step is shorter than its latency.
func (s *Shape) tileTime(t Target, c tile, slices int) float64 {
	blocks := ceil(s.M, c.bm) * ceil(s.N, c.bn) * s.batches() * slices
	waves := ceil(blocks, t.SMs*c.blocks)
	together := min(c.blocks, ceil(blocks, t.SMs))
	steps := ceil(ceil(s.K, slices), c.bk)
	rate := c.rate * min(1, 0.66+0.035*float64(together*c.warps)) * 1e6
	each := max(c.step, float64(together)*2*float64(c.bm*c.bn*c.bk)/rate)
	time := startTime + max(float64(waves*steps)*each, s.bytes()/bytesTime)
	if slices > 1 {
		time += joinTime + 8*float64(slices*s.M*s.N*s.batches())/bytesTime
	}
	return time
}

// tileGuesses are the kernels of tiles, with k in one slice or more.
func (s *Shape) tileGuesses(t Target) []guess {
	var list []guess
	add := func(c tile, make func(slices int) Kernel) {
		best := guess{}
		for _, slices := range []int{1, 2, 3, 4, 6, 8, 12, 16} {
			if slices > 1 && s.K < 2*slices*c.bk {
				break
			}
			if time := s.tileTime(t, c, slices); best.make == nil || time < best.time {
				best = guess{time, func() Kernel { return make(slices) }}
			}
		}
		list = append(list, best)
	}
	if !s.half(t) {
		for _, c := range simtTiles {
			bm, bn := c.size()
			add(tile{bm, bn, c.bk, c.blocks, c.threads() / 32, c.rate, waitTime}, func(slices int) Kernel { return s.simt(c, slices) })
		}
		return list
	}
	for _, c := range mmaTiles {
		if c.shared() <= t.Shared {
			add(tile{c.bm, c.bn, c.bk, min(c.blocks, t.Shared/c.shared()), c.threads() / 32, c.rate, stepTime}, func(slices int) Kernel { return s.mma(c, slices) })
		}
	}
	for _, c := range wgmmaTiles {
		if t.Capability == 90 && c.shared() <= t.Shared {
			add(tile{c.bm, c.bn, c.bk, min(c.blocks, t.Shared/c.shared()), c.threads() / 32, c.rate, stepTime}, func(slices int) Kernel { return s.wgmma(c, slices, t.SMs) })
		}
	}
	return list
}
