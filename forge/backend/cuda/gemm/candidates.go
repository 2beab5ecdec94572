package gemm

import (
	"cmp"
	"math"
	"slices"

	"forgekernel/forge/tensor"
)

// Target is the device that kernels are made for.
type Target struct {
	Capability int // 90 is 9.0
	SMs        int // streaming multiprocessors
	Shared     int // bytes of shared memory that a block may ask for
}

// The model of time, in microseconds. Its numbers were fitted to times of about 130 shapes
// on an H200, those of [works] in the tests; only their ratios matter for the order.
const (
	bytesTime     = 4e6    // bytes of device memory in a microsecond
	joinTime      = 2.38   // a second kernel, which adds up slices
	joinRate      = 3.67e6 // bytes of slices that are written and read in a microsecond
	arriveTime    = 4.39   // the last block adds up slices
	clusterTime   = 0.694  // the blocks of a cluster do
	clusterRate   = 2.76e4 // bytes that a block reads of the others of its cluster in a microsecond
	clusterSpread = 0.75   // of the multiprocessors, that clusters of more than two blocks are spread over
)

// pace is what kinds of tiles have in common.
type pace struct {
	start float64 // from the launch to the first product, and from the last to the end
	edge  float64 // 64 x 64 results that are stored
	wait  float64 // a step of a block that nothing else hides
	more  float64 // what each 32 of k in a step add to that
	soft  float64 // how sharply a step is the longer one of its wait and its work
}

var (
	simtPace  = pace{0.542, 0.287, 0.741, 0.148, 1.4}
	mmaPace   = pace{0.93, 0.82, 0.02, 0.1, 1.54}
	wgmmaPace = pace{1.66, 0.334, 0.0108, 0.0331, 2.08}
)

// guess is a kernel with the time that the model gives it.
type guess struct {
	time float64
	make func() Kernel
}

// The most kernels of a shape, and of one kind of tiles, and the most slices of k.
const (
	maxCandidates = 12
	maxSplits     = 2
	maxSlices     = 24
)

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
	var kernels []Kernel
	for _, g := range quickest(list, maxCandidates) {
		kernels = append(kernels, g.make())
	}
	return kernels
}

// quickest are so many guesses at most, in order.
func quickest(list []guess, most int) []guess {
	slices.SortStableFunc(list, func(a, b guess) int { return cmp.Compare(a.time, b.time) })
	return list[:min(most, len(list))]
}

// half reports whether the tensor cores of a device multiply the operands.
func (s *Shape) half(t Target) bool {
	d := s.A.Elem
	return d == s.B.Elem && (d == tensor.F16 || d == tensor.BF16 && t.Capability >= 80)
}

// bytes is what device memory moves at least.
func (s *Shape) bytes() float64 {
	b := s.K * s.N
	if w := s.Window; w != nil {
		b = s.K / (w.V.Taps * w.H.Taps) * w.V.In * w.H.In
	}
	n := s.M*s.K*s.A.Elem.Size() + b*s.B.Elem.Size() + s.M*s.N*s.Out.Elem.Size()
	return float64(n) * float64(s.batches())
}

// tile is what the model knows of a kernel of tiles.
type tile struct {
	bm, bn, bk int
	blocks     int     // that fit a multiprocessor
	rate       float64 // millions of operations that a full multiprocessor does in a microsecond
	pace
	clusters bool // its blocks can be clusters
}

// longer is the time of two things at once: the longer one where soft is large, and more
// where they get in each other's way.
func longer(a, b, soft float64) float64 {
	return math.Pow(math.Pow(a, soft)+math.Pow(b, soft), 1/soft)
}

// blockTime is the time of so many blocks together on a multiprocessor.
func (c *tile) blockTime(steps, together int) float64 {
	wait := c.wait + c.more*float64(c.bk)/32
	work := float64(together) * 2 * float64(c.bm*c.bn*c.bk) / (c.rate * 1e6)
	return float64(steps)*longer(wait, work, c.soft) + c.edge*float64(together*c.bm*c.bn)/4096
}

// tileTime is the time of a product in tiles, whose blocks run in waves.
func (s *Shape) tileTime(t Target, c tile, k split) float64 {
	blocks := ceil(s.M, c.bm) * ceil(s.N, c.bn) * s.batches() * k.slices
	sms := t.SMs
	if k.clustered && k.slices > 2 {
		sms = int(float64(sms) * clusterSpread)
	}
	steps, slots := ceil(ceil(s.K, k.slices), c.bk), sms*c.blocks
	time := float64(blocks/slots) * c.blockTime(steps, c.blocks)
	if rest := blocks % slots; rest > 0 {
		time += c.blockTime(steps, ceil(rest, sms))
	}
	time = c.start + max(time, s.bytes()/bytesTime)
	switch {
	case k.clustered:
		time += clusterTime + 4*float64(c.bm*c.bn)/clusterRate
	case k.slices > 1:
		time += joinTime + 8*float64(k.slices*s.M*s.N*s.batches())/joinRate
	}
	return time
}

// splits are the ways to cut k for tiles of so much of it at once, in clusters too where
// a target has them and a block's sums have room. Some of them fill the device once.
func (s *Shape) splits(t Target, c tile) []split {
	counts := []int{1, 2, 3, 4, 6, 8, 12, 16}
	tiles := ceil(s.M, c.bm) * ceil(s.N, c.bn) * s.batches()
	for b := range c.blocks {
		if n := t.SMs * (b + 1) / tiles; n > 1 && n <= maxSlices && !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
	}
	var list []split
	for _, n := range counts {
		if n > 1 && s.K < 2*n*c.bk {
			continue
		}
		list = append(list, split{slices: n})
		if k := (split{slices: n, clustered: true}); n > 1 && n <= maxCluster && c.clusters && t.Capability >= 90 && k.shared(c.bm, c.bn) <= t.Shared {
			list = append(list, k)
		}
	}
	return list
}

// tileGuesses are the kernels of tiles, each with the splits of k that should be quickest.
func (s *Shape) tileGuesses(t Target) []guess {
	var list []guess
	s.eachTile(t, func(c tile, make func(k split) Kernel) {
		var own []guess
		for _, k := range s.splits(t, c) {
			own = append(own, guess{s.tileTime(t, c, k), func() Kernel { return make(k) }})
		}
		list = append(list, quickest(own, maxSplits)...)
	})
	return list
}

// eachTile calls a function with all tiles that fit the target.
func (s *Shape) eachTile(t Target, add func(c tile, make func(k split) Kernel)) {
	if !s.half(t) {
		for _, c := range simtTiles {
			bm, bn := c.size()
			add(tile{bm, bn, c.bk, c.blocks, c.rate, simtPace, true}, func(k split) Kernel { return s.simt(c, k) })
		}
		return
	}
	for _, c := range mmaTiles {
		if c.shared() <= t.Shared {
			add(tile{c.bm, c.bn, c.bk, min(c.blocks, t.Shared/c.shared()), c.rate, mmaPace, true}, func(k split) Kernel { return s.mma(c, k) })
		}
	}
	for _, c := range wgmmaTiles {
		if _, _, ok := s.boxes(c); ok && t.Capability == 90 && c.shared() <= t.Shared {
			add(tile{c.bm, c.bn, c.bk, min(c.blocks, t.Shared/c.shared()), c.rate, wgmmaPace, false}, func(k split) Kernel { return s.wgmma(c, k, t.SMs) })
		}
	}
}
