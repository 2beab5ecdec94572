package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// bucket is the sizes that a program was compiled for. Rows and tokens that there
// are not are padding.
type bucket struct {
	rows   int
	tokens int // of each row
	logits bool
}

// String reads "8x1", or "2x128 without logits".
func (b bucket) String() string {
	text := fmt.Sprintf("%dx%d", b.rows, b.tokens)
	if !b.logits {
		text += " without logits"
	}
	return text
}

// deadlines is how many deadlines the program has for its computation: one for every
// leastChunk tokens of a row.
func (b bucket) deadlines() int { return max(1, b.tokens/leastChunk) }

// compare orders buckets by size.
func (b bucket) compare(c bucket) int {
	return cmp.Or(cmp.Compare(b.tokens, c.tokens), cmp.Compare(b.rows, c.rows), cmp.Compare(bit(b.logits), bit(c.logits)))
}

// Sizes of programs. A decode streams all weights, so that some rows of padding cost
// little, while a chunk of a prefill costs as much as it has tokens: it is padded to
// the next size of tokens, but never with rows. Long chunks stream weights for enough
// tokens to be alone in their program. They leave logits out where nobody asks; a short
// one is nearly always the end of a prompt, and has no program without.
const (
	leastChunk  = 16
	longChunk   = 64
	largestRows = 4 // of a short chunk
)

// pass is one run of a program: some rows of a step.
type pass struct {
	bucket
	of []int // indexes of the rows in the step
}

// cutter cuts steps into passes. Its memory is used again for the next step.
type cutter struct {
	maxRows, maxTokens int
	order              []int
	passes             []pass
}

// newCutter is the cutter for steps of some sizes.
func newCutter(s sizes) cutter {
	return cutter{maxRows: s.maxRows, maxTokens: s.maxTokens}
}

// cut groups the rows of a step by the programs that execute them: all rows of one
// token together, then chunks of equal size, so many rows at a time as there is a
// program without rows of padding.
func (c *cutter) cut(rows []Row) []pass {
	c.order, c.passes = c.order[:0], c.passes[:0]
	for i := range rows {
		c.order = append(c.order, i)
	}
	slices.SortStableFunc(c.order, func(a, b int) int {
		return cmp.Compare(c.size(len(rows[a].Tokens)), c.size(len(rows[b].Tokens)))
	})
	for at := 0; at < len(c.order); {
		size, end := c.size(len(rows[c.order[at]].Tokens)), at+1
		for end < len(c.order) && c.size(len(rows[c.order[end]].Tokens)) == size {
			end++
		}
		at += c.add(rows, size, c.order[at:end])
	}
	return c.passes
}

// add makes a pass of the first of some rows of one size, and tells how many.
func (c *cutter) add(rows []Row, size int, of []int) int {
	p := pass{bucket: bucket{tokens: size}}
	n := len(of)
	if size == 1 {
		p.rows = c.decodeRows(n)
	} else {
		n = c.chunkRows(n, size)
		p.rows = n
	}
	p.of = of[:n]
	p.logits = size < longChunk || slices.ContainsFunc(p.of, func(i int) bool { return rows[i].Logits })
	c.passes = append(c.passes, p)
	return n
}

// size is the tokens that a row of n tokens has room for in its program.
func (c *cutter) size(n int) int {
	if n == 1 {
		return 1
	}
	size := leastChunk
	for size < n {
		size *= 2
	}
	return min(size, max(c.maxTokens, n))
}

// decodeRows is the rows of the smallest decode program for n rows.
func (c *cutter) decodeRows(n int) int {
	rows := 1
	for rows < n {
		rows *= 2
	}
	return min(rows, c.maxRows)
}

// chunkRows is the rows of the largest program for chunks of a size that n rows fill.
func (c *cutter) chunkRows(n, size int) int {
	if size >= longChunk {
		return 1
	}
	rows := largestRows
	for rows > n {
		rows /= 2
	}
	return min(rows, c.maxRows)
}

// has reports whether a bucket is one that cut makes.
func (c *cutter) has(b bucket) bool {
	if b.rows < 1 || b.tokens < 1 || b.rows > c.maxRows || b.tokens > c.maxTokens {
		return false
	}
	if b.tokens < longChunk && !b.logits {
		return false
	}
	if b.tokens == 1 {
		return b.rows == c.decodeRows(b.rows)
	}
	return b.rows == c.chunkRows(b.rows, b.tokens) && b.tokens == c.size(b.tokens)
}
