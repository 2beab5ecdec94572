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
func (t Target) tileFor(c *loop.Contraction) (rows, vectors int) {
	least := 0
	for _, s := range shapes[t.Registers] {
		cost := t.cut(c, Schedule{Rows: s[0], Vectors: s[1]}).cost()
		if least == 0 || cost < least {
			rows, vectors, least = s[0], s[1], cost
		}
	}
	return rows, vectors
}

// cut divides a contraction into the tiles of a schedule.
func (t Target) cut(c *loop.Contraction, s Schedule) tiling {
	return tiling{panels: even((c.N+t.Lanes-1)/t.Lanes, s.Vectors, s.Vectors), rows: even(c.M, s.Rows, 1)}
}

// block counts the tiles, one at least, that together have at most so many rows.
func (t tiling) block(limit int) int {
	n := 0
	for rows := 0; n < len(t.rows) && (n == 0 || rows+t.rows[n] <= limit); n++ {
		rows += t.rows[n]
	}
	return n
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
func (t Target) pack(c *loop.Contraction, cut tiling, b []float32) []float32 {
	rank := len(c.B.Strides)
	sk, sn := c.B.Strides[rank-2], c.B.Strides[rank-1]
	var packed []float32
	column := 0
	for _, nv := range cut.panels {
		width := nv * t.Lanes
		for k := range c.K {
			row := make([]float32, width)
			for j := range min(width, c.N-column) {
				row[j] = b[k*sk+(column+j)*sn]
			}
			packed = append(packed, row...)
		}
		column += width
	}
	return packed
}
