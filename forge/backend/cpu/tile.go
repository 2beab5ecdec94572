package cpu

import (
	"fmt"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// form is how a contraction walks its second matrix.
type form string

const (
	// inTiles keeps a tile of results in registers over all of k.
	inTiles form = "tiles"
	// inSweeps adds several rows of B at a time to whole rows of results: B is read
	// in its own order, which memory serves fastest when few rows of A use it.
	inSweeps form = "sweeps"
	// inDots adds up along k in vectors, for a B whose columns are contiguous.
	inDots form = "dots"
)

// tiling is how a contraction is cut: the choices that change its speed and not
// its meaning.
type tiling struct {
	form   form
	rows   int  // of a register tile; they are cut evenly, so some tiles have one less
	vector int  // vectors of a register tile; columns of one in the form of dots
	chains int  // sums that each result is split into, to hide the latency of a multiply-add
	unroll int  // rounds of all chains in one of the loop over k
	block  int  // tiles of rows that run before the next panel of columns; 0 for all
	steps  int  // rows of B in a sweep
	spread bool // the vectors of a tile lie apart, so that each goes on through the matrix from tile to tile
	copied bool // panels of B are copied before they are used
	fold   fold // of the columns behind the last whole vector
}

const (
	// matrixBytes is how much of A may be read again for each panel of B; rows
	// beyond it form a block of their own, which has minBlock rows or more so that
	// B is not read too often.
	matrixBytes = 256 << 10
	minBlock    = 64
	// A panel of a matrix that is not constant, or of half precision, is copied when there are rows enough
	// to repay that and it fits the stack: neighbours in a column are else as far
	// apart as rows are, and fall into the same few lines of the caches.
	copiedRows  = 32
	copiedBytes = 512 << 10
	// Few rows by a matrix that is not constant, whose rows are far apart and which
	// the second cache does not hold, are computed in sweeps.
	sweptRows   = 4
	sweptBytes  = 512 << 10
	sweptStride = 1 << 10
	// A packed matrix is streamed for few rows unless it is small: one that would fit a
	// cache has mostly left it, since what has few rows multiplies them by many
	// matrices. The vectors of a tile lie far apart and go on where those of the tile
	// before ended, since the processor fetches ahead in long runs only. One row takes
	// so many at a time; more rows than fetchedRows keep the processor so busy that it
	// sees too little of what comes, and lines are asked for so many bytes ahead.
	streamedRows  = 16
	streamedBytes = 128 << 10
	rowVectors    = 4
	fetchedRows   = 2
	fetchedAhead  = 4 << 10
	// Rows that lie a multiple of pageBytes apart fall into the same few lines of the
	// first cache, which holds conflictRows of them.
	pageBytes    = 4 << 10
	conflictRows = 8
	// minChains is the number of independent multiply-adds that hide their latency:
	// two a cycle, four cycles each.
	minChains = 8
)

// shapes are the register tiles that are considered, rows by vectors, in order of
// preference.
var shapes = map[int][][2]int{
	32: {{8, 3}, {12, 2}, {14, 2}, {8, 2}, {6, 4}, {4, 4}, {3, 6}, {2, 8}, {1, 8}, {14, 1}, {8, 1}, {4, 2}, {4, 1}, {1, 4}, {1, 2}, {1, 1}},
	16: {{6, 2}, {4, 3}, {4, 2}, {3, 3}, {2, 5}, {1, 6}, {8, 1}, {6, 1}, {4, 1}, {2, 4}, {1, 4}, {1, 2}, {1, 1}},
}

// tileFor picks the form by the sizes, and the register tile with the least
// estimated time. B is packed, or stands where it is.
func (t Target) tileFor(c *loop.Contraction, packed bool) tiling {
	m, size := len(c.Batch), c.Weight.Size()
	stepK, stepN := c.B.Strides[m], c.B.Strides[m+1]
	switch {
	case packed || c.N == 1:
	case stepN != 1 && stepK == 1 && c.Elem != tensor.F64 && c.M < copiedRows && c.K >= 2*t.Lanes:
		return dotsFor(c)
	case stepN == 1 && c.M <= sweptRows && size*stepK >= sweptStride && size*c.K*c.N >= sweptBytes:
		return sweepsFor(c)
	}
	best, least := tiling{form: inTiles}, 0
	registers := t.Registers
	if c.Elem == tensor.F64 {
		registers = 16 // a vector of f64 takes two
	}
	for _, s := range shapes[registers] {
		if row := c.Elem.Size() * c.A.Strides[m]; s[0] > conflictRows && row%pageBytes == 0 && row > 0 {
			continue
		}
		cut := tiling{form: inTiles, rows: s[0], vector: s[1]}
		if cost := cut.cost(t, c); least == 0 || cost < least {
			best, least = cut, cost
		}
	}
	if c.M == 1 && streamed(c, packed) {
		best = tiling{form: inTiles, rows: 1, vector: rowVectors}
	}
	return t.fit(c, packed, best)
}

func dotsFor(c *loop.Contraction) tiling {
	return tiling{form: inDots, rows: min(c.M, 4), vector: min(c.N, 4), chains: 1, unroll: 1}
}

func sweepsFor(c *loop.Contraction) tiling {
	return tiling{form: inSweeps, rows: c.M, vector: 1, chains: 1, unroll: 1, steps: max(1, 8/max(1, c.M))}
}

// fit cuts a register tile down to a contraction, and decides the rest.
func (t Target) fit(c *loop.Contraction, packed bool, cut tiling) tiling {
	cut.rows = even(c.M, cut.rows).large
	cut.fold = t.foldFor(c, packed)
	cut.vector = min(cut.vector, t.vectors(c.N))
	if cut.fold != (fold{}) {
		cut.vector = min(cut.vector, max(1, c.N/t.Lanes))
	}
	cut.chains, cut.unroll = 1, 1
	for c.Elem != tensor.F64 && cut.rows*cut.vector*cut.chains < minChains && 4*cut.chains <= c.K {
		cut.chains *= 2
	}
	cut.spread = streamed(c, packed)
	half := c.Weight == tensor.F16 || c.Weight == tensor.BF16
	cut.copied = (!packed || half) && c.M >= copiedRows && max(4, c.Weight.Size())*c.K*cut.vector*t.Lanes <= copiedBytes
	if rows := max(minBlock, matrixBytes/(c.Elem.Size()*max(1, c.K))); rows < c.M && !cut.copied {
		cut.block = rows / cut.rows
	}
	return cut
}

// streamed reports whether the work waits for the packed matrix to come from far.
func streamed(c *loop.Contraction, packed bool) bool {
	return packed && c.M <= streamedRows && c.Weight.Size()*c.K*c.N >= streamedBytes
}

// vectors is the number of vectors that n columns need.
func (t Target) vectors(n int) int { return (n + t.Lanes - 1) / t.Lanes }

// cost estimates half cycles for each k: two multiply-adds or loads a cycle, and
// no less than the latency of one, four cycles. Each tile adds one, so that fewer
// ones win a tie.
func (cut tiling) cost(t Target, c *loop.Contraction) int {
	vectors, rows := t.vectors(c.N), even(c.M, cut.rows)
	sum := 0
	for ; vectors > 0; vectors -= cut.vector {
		nv := min(vectors, cut.vector)
		for _, part := range []struct{ count, mr int }{{rows.first, rows.large}, {rows.count - rows.first, rows.large - 1}} {
			sum += part.count * (1 + max(part.mr*nv, part.mr+nv, minChains))
		}
	}
	return sum
}

// cutting is a number of things in parts that differ by at most one: the first
// ones are large, the others one less.
type cutting struct{ count, first, large int }

// even cuts n into the fewest parts of at most limit.
func even(n, limit int) cutting {
	count := (n + limit - 1) / limit
	if count == 0 {
		return cutting{}
	}
	large := (n + count - 1) / count
	return cutting{count, n - count*(large-1), large}
}

// parts are the sizes one by one.
func (c cutting) parts() []int {
	list := make([]int, c.count)
	for i := range list {
		list[i] = c.large - min(1, max(0, i-c.first+1))
	}
	return list
}

// describe says what was chosen, for people.
func (cut tiling) describe(packed bool) string {
	switch {
	case cut.form == inSweeps:
		return fmt.Sprintf("%d rows of the matrix at a time are added to whole rows of results, since few rows use it and no cache holds it", cut.steps)
	case cut.form == inDots:
		return fmt.Sprintf("%d by %d results at a time, in vectors along the columns of the second operand, which are contiguous", cut.rows, cut.vector)
	}
	s := fmt.Sprintf("tiles of %d rows by %d vectors in registers, ", cut.rows, cut.vector)
	switch {
	case packed && cut.copied:
		s += "the matrix packed at compile time, its panels widened before use"
	case packed:
		s += "the matrix packed at compile time"
	case cut.copied:
		s += "panels of the matrix copied before use"
	default:
		s += "the matrix read where the second operand stands"
	}
	if cut.fold != (fold{}) {
		s += ", the last columns with lanes along k"
	}
	if cut.spread {
		s += ", which each vector of a tile goes through in a part of its own"
	}
	if cut.chains > 1 {
		s += fmt.Sprintf(", each sum in %d parts", cut.chains)
	}
	if cut.block > 0 {
		s += fmt.Sprintf(", %d rows before the next panel", cut.block*cut.rows)
	}
	return s
}
