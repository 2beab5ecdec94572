package op

import (
	"errors"
	"fmt"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var caches = []*ir.Op{
	{
		Name: "kv_append",
		Doc: "The cache [B,G,S,D] with the tokens of new [B,G,T,D] written to it. " + sequenceDoc +
			"Padding is not written. The result takes the storage of the cache.",
		Class:    ir.State,
		Operands: []string{"cache", "new", "pos", "length"},
		Types:    cacheTypes,
		Optional: 1,
		Donates:  true,
		Infer:    inferAppend,
		Eval:     func(c *ir.Call) error { return byStorage(c, append32, append64, append16) },
		FLOPs:    noFLOPs,
	},
	{
		Name: "paged_kv_append",
		Doc: "The pool of cache blocks [N,G,S,D] with the tokens of new [B,G,T,D] written to it: position p of row b is at place p mod S of block table[b, p/S]. " + sequenceDoc +
			"Padding is not written, and two tokens must not have one place. The result takes the storage of the pool.",
		Class:    ir.State,
		Operands: []string{"pool", "new", "table", "pos", "length"},
		Types:    cacheTypes,
		Optional: 1,
		Donates:  true,
		Infer:    inferPagedAppend,
		Eval:     func(c *ir.Call) error { return byStorage(c, pagedAppend32, pagedAppend64, pagedAppend16) },
		FLOPs:    noFLOPs,
	},
}

func inferAppend(n *ir.Node) ([]ir.Spec, error) {
	cache, err := inferNew(n)
	if err != nil {
		return nil, err
	}
	batches := n.In[1].Spec.Shape[0]
	if cache.Shape[0] != batches {
		return nil, fmt.Errorf("the cache has %d batches, new has %d", cache.Shape[0], batches)
	}
	return []ir.Spec{cache}, checkPositions(n, 2, batches)
}

func inferPagedAppend(n *ir.Node) ([]ir.Spec, error) {
	pool, err := inferNew(n)
	if err != nil {
		return nil, err
	}
	batches := n.In[1].Spec.Shape[0]
	if err := checkTable(n, 2, batches, pool.Shape); err != nil {
		return nil, err
	}
	return []ir.Spec{pool}, checkPositions(n, 3, batches)
}

// inferNew checks that operand new fits a cache or pool, operand 0, which is
// the spec of the result.
func inferNew(n *ir.Node) (ir.Spec, error) {
	if _, err := sameFloat(&ir.Node{Op: n.Op, In: n.In[:2]}); err != nil {
		return ir.Spec{}, err
	}
	cache, tokens := n.In[0].Spec, n.In[1].Spec
	for i, s := range []ir.Spec{cache, tokens} {
		if s.Rank() != 4 {
			return ir.Spec{}, fmt.Errorf("%s must have rank 4, not %d", n.Op.Operands[i], s.Rank())
		}
	}
	if cache.Shape[1] != tokens.Shape[1] || cache.Shape[3] != tokens.Shape[3] {
		return ir.Spec{}, fmt.Errorf("%s has %d heads of %d channels, new has %d of %d", n.Op.Operands[0],
			cache.Shape[1], cache.Shape[3], tokens.Shape[1], tokens.Shape[3])
	}
	return cache.Clone(), nil
}

// checkTable checks operand i, a block table for a pool of the given shape.
func checkTable(n *ir.Node, i, batches int, pool []int) error {
	spec := n.In[i].Spec
	if spec.Rank() != 2 {
		return fmt.Errorf("table must have the shape [B, blocks], not rank %d", spec.Rank())
	}
	if pool[2] == 0 {
		return errors.New("the blocks of the pool have no positions")
	}
	if most := tensor.MaxElements / pool[2]; spec.Shape[1] > most {
		return fmt.Errorf("the table has %d blocks per row; sequences have at most %d", spec.Shape[1], most)
	}
	return checkIndex(n, i, []int{batches, spec.Shape[1]})
}

// tableOf reads operand i as a block table for the pool, operand p.
func tableOf(c *ir.Call, i, p int) *blockTable {
	return &blockTable{ids: c.In[i], width: c.In[i].Dim(1), size: c.In[p].Dim(2), blocks: c.In[p].Dim(0)}
}

func append32(c *ir.Call) error { return kvAppend(c, (*tensor.Tensor).Float32) }
func append64(c *ir.Call) error { return kvAppend(c, (*tensor.Tensor).Float64) }
func append16(c *ir.Call) error { return kvAppend(c, (*tensor.Tensor).Bits16) }

func pagedAppend32(c *ir.Call) error { return pagedAppend(c, (*tensor.Tensor).Float32) }
func pagedAppend64(c *ir.Call) error { return pagedAppend(c, (*tensor.Tensor).Float64) }
func pagedAppend16(c *ir.Call) error { return pagedAppend(c, (*tensor.Tensor).Bits16) }

// byStorage picks the evaluation that moves elements of the result's size.
func byStorage(c *ir.Call, f32, f64, f16 func(*ir.Call) error) error {
	switch c.Out[0].DType() {
	case tensor.F32:
		return f32(c)
	case tensor.F64:
		return f64(c)
	}
	return f16(c)
}

// kvAppend checks all positions before it writes anything.
func kvAppend[T any](c *ir.Call, storage func(*tensor.Tensor) []T) error {
	cache, tokens := c.Out[0], c.In[1]
	batches, heads, t, d, s := tokens.Dim(0), tokens.Dim(1), tokens.Dim(2), tokens.Dim(3), cache.Dim(2)
	rows, err := sequences(c, 2, batches, t, s)
	if err != nil {
		return err
	}
	if err := keepState(c); err != nil {
		return err
	}
	src, dst := storage(tokens), storage(cache)
	for b, row := range rows {
		for h := b * heads; h < (b+1)*heads; h++ {
			copy(dst[(h*s+row.start)*d:], src[h*t*d:][:row.count*d])
		}
	}
	return nil
}

// pagedAppend checks all positions and blocks before it writes anything.
func pagedAppend[T any](c *ir.Call, storage func(*tensor.Tensor) []T) error {
	pool, tokens, table := c.Out[0], c.In[1], tableOf(c, 2, 0)
	batches, heads, t, d := tokens.Dim(0), tokens.Dim(1), tokens.Dim(2), tokens.Dim(3)
	rows, err := sequences(c, 3, batches, t, table.capacity())
	if err != nil {
		return err
	}
	if err := table.checkPlaces(rows); err != nil {
		return err
	}
	if err := keepState(c); err != nil {
		return err
	}
	src, dst := storage(tokens), storage(pool)
	for b, row := range rows {
		for i := range row.count {
			at, p := table.block(b, (row.start+i)/table.size), (row.start+i)%table.size
			for h := range heads {
				copy(dst[((at*heads+h)*table.size+p)*d:], src[((b*heads+h)*t+i)*d:][:d])
			}
		}
	}
	return nil
}

// checkPlaces checks the blocks of all rows, and that no two tokens go to one
// place.
func (t *blockTable) checkPlaces(rows []span) error {
	type place struct{ block, offset int }
	writer := make(map[place]int)
	for b, row := range rows {
		if err := t.check(b, row); err != nil {
			return err
		}
		for p := row.start; p < row.end(); p++ {
			at := place{t.block(b, p/t.size), p % t.size}
			if other, taken := writer[at]; taken {
				return fmt.Errorf("rows %d and %d both write place %d of block %d", other, b, at.offset, at.block)
			}
			writer[at] = b
		}
	}
	return nil
}

// keepState fills the result with the former state, unless it is the same
// tensor.
func keepState(c *ir.Call) error {
	if c.Out[0] == c.In[0] {
		return nil
	}
	return tensor.Copy(c.Out[0], c.In[0])
}
