package cache

import "forgekernel/forge/tensor"

// Stats counts blocks and tokens of a pool.
type Stats struct {
	Blocks    int // of the pool
	Used      int // held by at least one sequence
	Shared    int // of these, held by more than one
	Cached    int // held by none, kept for the chance of being shared
	Free      int // without content
	Evictions uint64
	Prompt    uint64 // tokens of all prompts that were opened
	Hit       uint64 // of these, tokens found in shared blocks
}

// HitRate returns the share of prompt tokens found in shared blocks, 0 to 1.
func (s Stats) HitRate() float64 {
	if s.Prompt == 0 {
		return 0
	}
	return float64(s.Hit) / float64(s.Prompt)
}

// Stats returns the counts as they stand.
func (p *Pool) Stats() Stats {
	s := p.stats
	s.Blocks, s.Free = p.cfg.Blocks, len(p.free)
	return s
}

// Geometry is what one rank keeps of a token: keys and values of its layers and
// heads. Splits may be uneven, so that it is the rank's own part and not a
// quotient.
type Geometry struct {
	Layers  int // of this rank's stage: L/P
	Heads   int // KV heads of this rank: h/T, at least one
	HeadDim int // d
	DType   tensor.DType
}

// Planned returns the bytes of keys and values for batch rows of tokens each:
// 2 * L/P * B * S * h/T * d * w. The pool of a paged cache is Planned(Blocks, BlockSize).
func (g Geometry) Planned(batch, tokens int) int64 {
	return 2 * int64(g.Layers) * int64(batch) * int64(tokens) * int64(g.Heads) * int64(g.HeadDim) * int64(g.DType.Size())
}
