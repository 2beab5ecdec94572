package cpu

import "forgekernel/forge/loop"

// tiling cuts a contraction into register tiles: panels of columns outside, blocks
// of rows within.
type tiling struct {
	panels []int // vectors of each panel; the last may end in a part of one
	rows   []int // rows of each block; at most two sizes
}

// shapes are the register tiles that are considered, rows by vectors, in order of
// preference.
var shapes = map[int][][2]int{
	32: {{8, 3}, {12, 2}, {14, 2}, {8, 2}, {6, 4}, {4, 6}, {3, 6}, {2, 8}, {1, 8}, {14, 1}, {8, 1}, {4, 4}, {4, 2}, {4, 1}, {1, 4}, {1, 2}, {1, 1}},
	16: {{6, 2}, {4, 3}, {4, 2}, {3, 3}, {2, 5}, {1, 6}, {8, 1}, {6, 1}, {4, 1}, {2, 4}, {1, 4}, {1, 2}, {1, 1}},
}

// tileFor picks the tile with the least estimated time.
func (t Target) tileFor(c *loop.Contraction) tiling {
	vectors := (c.N + t.Lanes - 1) / t.Lanes
	var best tiling
	least := 0
	for _, s := range shapes[t.Registers] {
		cut := tiling{panels: even(vectors, s[1], s[1]), rows: even(c.M, s[0], 1)}
		if cost := cut.cost(); least == 0 || cost < least {
			best, least = cut, cost
		}
	}
	return best
}

// cost estimates half cycles for each k: two multiply-adds or loads a cycle, and
// no less than the latency of one, four cycles.
func (t tiling) cost() int {
	sum := 0
	for _, nv := range t.panels {
		for _, mr := range t.rows {
			sum += max(mr*nv, mr+nv, 8)
		}
	}
	return sum
}

// even cuts n into the fewest parts of at most limit. With grain 1 they differ by
// at most one, else all but the last are whole.
func even(n, limit, grain int) []int {
	count := (n + limit - 1) / limit
	parts := make([]int, count)
	for i := range parts {
		switch {
		case grain > 1:
			parts[i] = min(limit, n-i*limit)
		default:
			parts[i] = n/count + min(1, max(0, n%count-i))
		}
	}
	return parts
}

// pack lays B out in the order in which the kernel reads it: panel by panel, all k
// of one together, columns beyond N as zeros.
func (t Target) pack(c *loop.Contraction, b []float32) []float32 {
	cut := t.tileFor(c)
	rank := len(c.B.Strides)
	sk, sn := c.B.Strides[rank-2], c.B.Strides[rank-1]
	packed := make([]float32, 0, c.K*((c.N+t.Lanes-1)/t.Lanes*t.Lanes))
	column := 0
	for _, nv := range cut.panels {
		width := nv * t.Lanes
		for k := range c.K {
			row := packed[len(packed) : len(packed)+width]
			for j := range min(width, c.N-column) {
				row[j] = b[k*sk+(column+j)*sn]
			}
			packed = packed[:len(packed)+width]
		}
		column += width
	}
	return packed
}
