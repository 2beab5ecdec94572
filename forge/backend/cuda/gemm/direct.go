package gemm

import "fmt"

// directCut is how the threads of a block share the results of a small product: lanes lie
// in lm rows, each for tm x tn results, and warps divide k.
type directCut struct{ tm, tn, lm, warps, unroll int }

func (c directCut) size() (bm, bn int) { return c.tm * c.lm, c.tn * 32 / c.lm }

// directCuts are the candidates.
var directCuts = []directCut{
	{4, 2, 2, 16, 2}, {4, 2, 2, 8, 4}, // 8x32
	{4, 2, 4, 16, 2},                  // 16x16
	{2, 2, 4, 16, 2}, {2, 2, 4, 8, 4}, // 8x16
	{2, 1, 4, 8, 4},                    // 8x8
	{4, 4, 4, 16, 1}, {4, 4, 4, 16, 2}, // 16x32
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
	t.constant("enters", s.Early)
	t.end("direct", threads, 1, withExtra(s, Out, A, B), true)
	return Kernel{
		Name: fmt.Sprintf("direct %dx%d tiles, %dx%d for each thread, k in %d warps, unroll %d", bm, bn, c.tm, c.tn, c.warps, c.unroll),
		Pieces: []Piece{{
			Shared: []string{shared(common), shared(directSource)}, Text: t.String(),
			Grid:    [3]uint32{uint32(ceil(s.N, bn) * ceil(s.M, bm)), 1, uint32(s.batches())},
			Threads: [3]uint32{uint32(threads), 1, 1}, SharedBytes: c.warps * bm * bn * 4,
			Args: withExtra(s, Out, A, B), Enters: s.Early,
		}},
	}
}

// maxDirect bounds the operations of a direct product: larger ones read operands too often.
const maxDirect = 1 << 27

// The model of direct products: a launch, a pass of one load of each thread and what each
// more adds to it, the loads of a warp that a multiprocessor does in a microsecond, and what
// a result's sums of warps take.
const (
	directTime  = 0.0579
	directWait  = 0.313
	directMore  = 0.27
	directLoads = 235.0
	directHalf  = 1.17 // of half precision, which has to be converted
	joinWarps   = 0.00239
)

// directGuesses are the direct kernels of a small product. A multiprocessor does so many
// loads of a warp in a microsecond; each of A and B serves a few results only.
func (s *Shape) directGuesses(t Target) []guess {
	if s.Window != nil || 2*s.M*s.N*s.K*s.batches() > maxDirect {
		return nil
	}
	var list []guess
	for _, c := range directCuts {
		bm, bn := c.size()
		waves := ceil(ceil(s.M, bm)*ceil(s.N, bn)*s.batches(), t.SMs)
		step := max(directWait+directMore*float64(c.unroll), float64(c.warps*c.unroll*(c.tm+4))/directLoads)
		if s.half(t) {
			step *= directHalf
		}
		steps := ceil(s.K, 4*c.warps*c.unroll)
		time := directTime + float64(waves)*(float64(steps)*step+joinWarps*float64(bm*bn))
		list = append(list, guess{time, func() Kernel { return s.direct(c) }})
	}
	return list
}
