package op

import (
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Operators on caches place the T new tokens of batch row b at positions
// pos[b], pos[b]+1, … of its sequence. With a length operand, tokens at position
// length[b] and beyond are padding: so a row with fewer tokens than T, or with
// none, can share a program with others.

// sequenceDoc says so in the documentation of these operators.
const sequenceDoc = "Token t of row b is at position pos[b]+t; it is padding when that is length[b] or more. pos and length are [] or [B]. "

// cacheTypes are the element types of operators with positions.
var cacheTypes = floats.String() + "; " + integers.String() + " for pos, length and table"

// span is the part of one batch row's sequence that a call works on.
type span struct{ start, count int }

// end is the position after the last token.
func (s span) end() int { return s.start + s.count }

// checkIndex checks that operand i, if it is there, holds integers of one of
// the given shapes.
func checkIndex(n *ir.Node, i int, shapes ...[]int) error {
	if i >= len(n.In) {
		return nil
	}
	name, spec := n.Op.Operands[min(i, len(n.Op.Operands)-1)], n.In[i].Spec
	if err := integers.check(n.In[i]); err != nil {
		return err
	}
	want := ""
	for k, s := range shapes {
		if tensor.ShapeEqual(s, spec.Shape) {
			return nil
		}
		if k > 0 {
			want += " or "
		}
		want += tensor.FormatShape(s)
	}
	return fmt.Errorf("%s has the shape %s; %s is needed", name, tensor.FormatShape(spec.Shape), want)
}

// checkPositions checks the operands pos, at index i, and length, which may
// follow it.
func checkPositions(n *ir.Node, i, batches int) error {
	if err := checkIndex(n, i, []int{}, []int{batches}); err != nil {
		return err
	}
	return checkIndex(n, i+1, []int{}, []int{batches})
}

// integerAt reads element i of an integer operand; an operand with one element
// for all rows repeats it.
func integerAt(t *tensor.Tensor, i int) int64 {
	if t.Rank() == 0 {
		i = 0
	}
	if t.DType() == tensor.I64 {
		return t.Int64()[i]
	}
	return int64(t.Int32()[i])
}

// sequences reads operands pos, at index i, and length for every batch row, each
// with up to t tokens, and checks them against the positions that a cache holds.
func sequences(c *ir.Call, i, batches, t, capacity int) ([]span, error) {
	rows := make([]span, batches)
	for b := range rows {
		start, count := integerAt(c.In[i], b), int64(t)
		if start < 0 || start > int64(capacity) {
			return nil, fmt.Errorf("pos %v of row %d is %d; the cache has positions 0 to %d", c.Node.In[i], b, start, capacity-1)
		}
		if i+1 < len(c.In) {
			length := integerAt(c.In[i+1], b)
			if length < 0 || length > int64(capacity) {
				return nil, fmt.Errorf("length %v of row %d is %d; the cache holds 0 to %d tokens", c.Node.In[i+1], b, length, capacity)
			}
			count = min(max(0, length-start), count)
		}
		rows[b] = span{int(start), int(count)}
		if end := rows[b].end(); end > capacity {
			return nil, fmt.Errorf("row %d has %d tokens from position %d on; the cache holds %d", b, count, start, capacity)
		}
	}
	return rows, nil
}

// visible is the number of positions that token i attends to; none for padding.
func (s span) visible(i int) int {
	if i >= s.count {
		return 0
	}
	return s.start + i + 1
}

// longest is the largest number of positions that a token attends to.
func longest(rows []span) int {
	n := 0
	for _, s := range rows {
		if s.count > 0 {
			n = max(n, s.end())
		}
	}
	return n
}

// blockTable reads the operand table of paged caches: the numbers of the blocks
// that hold a sequence, in order.
type blockTable struct {
	ids    *tensor.Tensor
	width  int // blocks per row
	size   int // positions per block
	blocks int // in the pool
}

// capacity is the number of positions of one sequence.
func (t *blockTable) capacity() int { return t.width * t.size }

// block is the number of the block that holds a row's positions from
// i*size on.
func (t *blockTable) block(row, i int) int { return int(integerAt(t.ids, row*t.width+i)) }

// check checks the blocks that hold a row's positions up to the end of its
// tokens.
func (t *blockTable) check(row int, s span) error {
	for i := 0; s.count > 0 && i*t.size < s.end(); i++ {
		if id := integerAt(t.ids, row*t.width+i); id < 0 || id >= int64(t.blocks) {
			return fmt.Errorf("entry %d of row %d of the block table is %d; the pool has blocks 0 to %d", i, row, id, t.blocks-1)
		}
	}
	return nil
}
