package gemm

import (
	"fmt"
	"math"

	"forgekernel/forge/tensor"
)

// rowsCut is how the warps of a block share the columns and k of a product of few rows.
type rowsCut struct {
	function               string  // of the source
	columns, warps, unroll int     // columns of a warp, and of k so many units at once
	lanes, ahead           int     // of rows_across: side by side; steps of its ring
	clustered              bool    // slices of k are the blocks of a cluster
	perSM                  float64 // blocks that slices of k should make for each multiprocessor; 0 for one slice
	blocks                 int     // that should fit a multiprocessor
	rate                   float64 // of the bandwidth of memory
}

// maxCluster bounds the blocks of a cluster.
const maxCluster = 8

// maxHeld bounds the bytes of A that a block keeps.
const maxHeld = 32 << 10

// columnsOf is the columns of a block.
func (c rowsCut) columnsOf(s *Shape) int {
	if c.function == "rows_across" {
		return c.lanes * 16 / s.B.Elem.Size()
	}
	return c.columns
}

// slicesOf is the number of slices of k.
func (c rowsCut) slicesOf(s *Shape, sms int) int {
	blocks := ceil(s.N, c.columnsOf(s)) * s.batches()
	most := min(32, max(1, s.K/64))
	if c.clustered {
		most = min(most, maxCluster)
	}
	return min(most, max(1, int(c.perSM*float64(sms)/float64(blocks)+0.5)))
}

// shared is the bytes of shared memory of a block: its rings, and A where there is room for
// it, or the sums of its warps.
func (c rowsCut) shared(s *Shape, slice int) int {
	if c.function == "rows_mma" {
		return 0
	}
	bytes := c.ahead * max(c.unroll, c.columns) * c.warps * 32 * 16
	if a := s.M * slice * 4; a <= maxHeld {
		bytes += a
	}
	return max(bytes, c.warps*c.columnsOf(s)*s.M*4)
}

// rows is a kernel in which B streams through once.
func (s *Shape) rows(c rowsCut, sms int) Kernel {
	t := &text{shape: s}
	t.begin()
	t.walks(units{8, 8}, units{8, 8})
	bn, threads := c.columnsOf(s), c.warps*32
	slice, count := slicing(s.K, c.slicesOf(s, sms), 64)
	t.constant("BM", s.M)
	t.constant("BN", bn)
	t.constant("threads", threads)
	t.constant("columns", c.columns)
	t.constant("unroll", c.unroll)
	t.constant("slice", slice)
	t.constant("slices", count)
	clustered := c.clustered && count > 1
	t.constant("clustered", clustered)
	if clustered {
		t.cluster = count
	}
	bytes := c.shared(s, slice)
	name := fmt.Sprintf("%s of %d columns, %d warps, unroll %d", c.function, bn, c.warps, max(1, c.unroll))
	if c.function != "rows_mma" {
		t.constant("lanes", c.lanes)
		t.constant("ahead", c.ahead)
		t.constant("held", s.M*slice*4 <= maxHeld)
		t.constant("enters", s.Early)
		t.constant("begins", s.Begin.Body != nil)
		if s.Begin.Body != nil {
			t.line("  INLINE_MEMBER void begin_ahead(int k0, int k1) const {\n%s  }", s.Begin.Ahead)
			t.line("  INLINE_MEMBER void begin(float *to, int k0, int k1) const {\n%s  }", s.Begin.Body(threads))
		}
		name += fmt.Sprintf(", %d steps ahead", c.ahead-1)
	}
	args := withExtra(s, Out, A, B, Scratch, Counters)
	t.end(c.function, threads, c.blocks, args, bytes > 0)
	blocks := ceil(s.N, bn)
	k := Kernel{
		Name: name,
		Pieces: []Piece{{
			Shared: []string{shared(common), shared(mmaSource), shared(rowsSource)}, Text: t.String(),
			Grid:        [3]uint32{uint32(blocks), uint32(count), uint32(s.batches())},
			Threads:     [3]uint32{uint32(threads), 1, 1},
			SharedBytes: bytes, Args: args, Enters: s.Early && c.function != "rows_mma",
		}},
	}
	switch {
	case clustered:
		k.Name += fmt.Sprintf(", k in clusters of %d blocks", count)
	case count > 1:
		k.Name += fmt.Sprintf(", k in %d slices", count)
		k.Scratch = int64(count) * int64(s.batches()) * int64(s.M) * int64(s.N) * 4
		k.Counters = int64(s.batches()) * int64(blocks) * 4
	}
	return k
}

// rowsCuts are the candidates.
var rowsCuts = []rowsCut{
	{"rows_along", 4, 4, 0, 0, 3, false, 0, 4, 1.17},
	{"rows_along", 4, 8, 0, 0, 2, false, 0, 3, 1.67},
	{"rows_along", 4, 8, 0, 0, 3, false, 0, 3, 0.81},
	{"rows_along", 8, 4, 0, 0, 3, false, 0, 3, 1.26},
	{"rows_along", 2, 4, 0, 0, 5, false, 0, 4, 0.612},
	{"rows_across", 0, 4, 2, 8, 8, true, 2, 4, 0.935},
	{"rows_across", 0, 8, 2, 8, 8, true, 1, 2, 1.39},
	{"rows_across", 0, 8, 2, 8, 4, true, 4, 3, 0.988},
	{"rows_across", 0, 4, 2, 4, 8, true, 2, 4, 1.05},
	{"rows_across", 0, 8, 2, 4, 8, true, 1, 2, 0.724},
	{"rows_across", 0, 8, 2, 8, 8, true, 2, 2, 0.823},
	{"rows_across", 0, 8, 2, 8, 8, false, 2, 2, 1.34},
	{"rows_across", 0, 4, 2, 8, 8, false, 4, 4, 1.34},
	{"rows_across", 0, 8, 2, 32, 8, false, 2, 2, 1.48},
	{"rows_mma", 16, 8, 4, 0, 0, false, 0, 2, 1.3},
	{"rows_mma", 16, 4, 4, 0, 0, false, 0, 4, 1.1},
	{"rows_mma", 64, 8, 2, 0, 0, false, 2, 2, 1.86},
	{"rows_mma", 64, 8, 2, 0, 0, true, 2, 2, 0.49},
	{"rows_mma", 64, 4, 2, 0, 0, false, 4, 4, 0.937},
	{"rows_mma", 64, 4, 2, 0, 0, true, 4, 4, 0.708},
	{"rows_mma", 64, 4, 4, 0, 0, true, 2, 2, 0.426},
}

// The most rows that stream B past them: in f32, and by the tensor cores.
const (
	maxRows     = 8
	maxRowsHalf = 16
)

// rowsOf are the cuts that fit a product.
func (s *Shape) rowsOf(t Target) []rowsCut {
	if s.M > maxRowsHalf {
		return nil
	}
	unit := 16 / s.B.Elem.Size()
	alongA, wholeA := s.walkA(units{8, 8})
	alongB, wholeB := s.walkB(units{unit, unit})
	var list []rowsCut
	for _, c := range rowsCuts {
		ok := false
		if c.clustered && t.Capability < 90 {
			continue
		}
		switch c.function {
		case "rows_mma":
			terms := s.A.Elem == tensor.F32 && s.B.Elem == tensor.BF16 && t.Capability >= 80
			ok = (s.half(t) || terms && s.M > 1) && alongA && wholeA && s.K%8 == 0 && (alongB && !(terms && c.columns == 64) || !alongB && c.columns == 64)
		case "rows_along":
			ok = s.M <= maxRows && alongB && alongA && wholeA && c.shared(s, s.K) <= t.Shared
		case "rows_across":
			slice, _ := slicing(s.K, c.slicesOf(s, t.SMs), 64)
			ok = s.M <= maxRows && !alongB && c.shared(s, slice) <= t.Shared
		}
		if slice, _ := slicing(s.K, c.slicesOf(s, t.SMs), 64); s.Begin.Body != nil && (c.function == "rows_mma" || s.M*slice*4 > maxHeld) {
			continue // it keeps no A
		}
		if ok && wholeB {
			list = append(list, c)
		}
	}
	return list
}

// rowsPace is what kinds of kernels of few rows have in common.
type rowsPace struct {
	start float64 // from the launch to the first bytes, and from the last to the end
	flops float64 // millions of operations that a multiprocessor does in a microsecond
	warps float64 // of a multiprocessor, that ask for all that memory gives
	tail  float64 // how much of a last wave's empty places is lost
	soft  float64 // how sharply the time is the longer of memory's and that of the work
}

// busyWarps keep a multiprocessor busy.
const busyWarps = 16

var rowsPaces = map[string]rowsPace{
	"rows_along":  {2.79, 0.113, 10.7, 0.117, 2.56},
	"rows_across": {2.87, 0.13, 4.57, 0.175, 2.31},
	"rows_mma":    {1.46, 1.22, 4.92, 1.67, 1.68},
}

// rowsGuesses are the kernels of few rows. Memory gives what the cut has of its bandwidth,
// and less when there are too few warps to ask for it, or when blocks end at different times.
func (s *Shape) rowsGuesses(t Target) []guess {
	var list []guess
	for _, c := range s.rowsOf(t) {
		p := rowsPaces[c.function]
		slices := c.slicesOf(s, t.SMs)
		blocks, slots := ceil(s.N, c.columnsOf(s))*s.batches()*slices, t.SMs*c.blocks
		full := min(1, float64(min(blocks, slots)*c.warps)/(p.warps*float64(t.SMs)))
		if blocks > slots {
			full *= math.Pow(float64(blocks)/float64(ceil(blocks, slots)*slots), p.tail)
		}
		rows := s.M
		if c.function == "rows_mma" { // which multiplies eight rows in the time of one
			rows = ceil(s.M, 8) * 8
			if s.A.Elem == tensor.F32 {
				rows *= 4 // three terms, and taking numbers apart
			}
		}
		busy := min(1, float64(blocks*c.warps)/float64(busyWarps*t.SMs))
		if c.function == "rows_mma" {
			busy = 1
		}
		work := 2 * float64(rows*s.N*s.K*s.batches()) / (p.flops * 1e6 * float64(t.SMs) * busy)
		time := p.start + longer(s.bytes()/(bytesTime*c.rate*full), work, p.soft)
		switch {
		case slices > 1 && c.clustered:
			time += clusterTime
		case slices > 1:
			time += arriveTime
		}
		list = append(list, guess{time, func() Kernel { return s.rows(c, t.SMs) }})
	}
	return list
}
