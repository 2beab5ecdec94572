package gemm

import "fmt"

// rowsCut is how the warps of a block share the columns and k of a product of few rows.
type rowsCut struct {
	function                              string // of the source
	columns, warps, beside, unroll, lanes int
	slices                                int
	blocks                                int
}

// rows is a kernel in which B streams through once.
func (s *Shape) rows(c rowsCut) Kernel {
	t := &text{shape: s}
	t.begin()
	t.walks(units{8, 8}, units{8, 8})
	bn := c.columns
	unit := 64
	switch c.function {
	case "rows_along":
		bn = c.columns * c.beside
	case "rows_across":
		bn = c.lanes * 16 / s.B.Elem.Size()
	}
	slice, count := slicing(s.K, c.slices, unit)
	t.constant("BN", bn)
	t.constant("threads", c.warps*32)
	t.constant("WN", c.beside)
	t.constant("columns", c.columns)
	t.constant("lanes", c.lanes)
	t.constant("unroll", c.unroll)
	t.constant("slice", slice)
	t.constant("slices", count)
	t.constant("BM", s.M)
	t.end(c.function, c.warps*32, c.blocks, withExtra(s, Out, A, B, Scratch, Counters), false)
	blocks := ceil(s.N, bn)
	k := Kernel{
		Name: fmt.Sprintf("%s of %d columns, %d warps (%d beside), unroll %d, lanes %d, slices %d", c.function, bn, c.warps, c.beside, c.unroll, c.lanes, count),
		Pieces: []Piece{{
			Shared: []string{shared(common), shared(mmaSource), shared(rowsSource)}, Text: t.String(),
			Grid:    [3]uint32{uint32(blocks), uint32(count), uint32(s.batches())},
			Threads: [3]uint32{uint32(c.warps * 32), 1, 1},
			Args:    withExtra(s, Out, A, B, Scratch, Counters),
		}},
	}
	if count > 1 {
		k.Scratch = int64(count) * int64(s.batches()) * int64(s.M) * int64(s.N) * 4
		k.Counters = int64(s.batches()) * int64(blocks) * 4
	}
	return k
}

// rowsCuts are the candidates.
var rowsCuts = []rowsCut{
	{"rows_mma", 16, 8, 1, 4, 1, 1, 2},
	{"rows_mma", 16, 8, 1, 2, 1, 1, 3},
	{"rows_mma", 16, 4, 1, 4, 1, 1, 4},
	{"rows_mma", 32, 8, 1, 2, 1, 1, 2},
	{"rows_mma", 32, 8, 1, 4, 1, 1, 2},
	{"rows_mma", 64, 8, 1, 2, 1, 4, 2},
	{"rows_mma", 64, 8, 1, 4, 1, 4, 1},
	{"rows_along", 4, 8, 2, 2, 1, 1, 2},
	{"rows_along", 4, 8, 1, 2, 1, 1, 2},
	{"rows_along", 2, 8, 2, 4, 1, 1, 2},
	{"rows_along", 4, 4, 1, 2, 1, 1, 4},
	{"rows_along", 4, 4, 1, 4, 1, 1, 2},
	{"rows_along", 8, 8, 1, 1, 1, 1, 2},
	{"rows_across", 0, 8, 1, 8, 4, 1, 2},
	{"rows_across", 0, 8, 1, 8, 8, 4, 2},
	{"rows_across", 0, 8, 1, 8, 8, 2, 2},
	{"rows_across", 0, 8, 1, 4, 4, 2, 3},
	{"rows_across", 0, 4, 1, 8, 4, 2, 4},
	{"rows_across", 0, 8, 1, 8, 2, 1, 2},
}
