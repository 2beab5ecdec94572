package op

import (
	"fmt"

	"forgekernel/forge/ir"
)

var cachedAttentions = []*ir.Op{
	attentionOp(
		ir.Op{
			Name: "cached_attention",
			Doc: "Attention as sdpa over caches k [B,G,S,D] and v [B,G,S,E] that hold the keys and values of the tokens q [B,H,T,D] and of all before them. " + sequenceDoc +
				"A token attends to the positions up to its own; the rest of the cache is not read. Padding gives zeros.",
			Operands: []string{"q", "k", "v", "pos", "length"},
			Types:    cacheTypes,
			Attrs:    []ir.AttrDecl{scaleAttr},
			Infer:    inferCached,
			Scratch:  attentionScratch,
		},
		func(c *ir.Call) error { return cachedAttention(c, arithmetic32) },
		func(c *ir.Call) error { return cachedAttention(c, arithmetic64) },
		"pair of query and position in the cache",
		func(n *ir.Node) int {
			d := headDims(n)
			return d.b * d.h * d.q * d.keys
		},
	),
	attentionOp(
		ir.Op{
			Name: "paged_attention",
			Doc: "cached_attention over pools of blocks k [N,G,S,D] and v [N,G,S,E]: position p of row b is at place p mod S of block table[b, p/S]. " + sequenceDoc +
				"Entries of the table beyond a row's tokens are not read.",
			Operands: []string{"q", "k", "v", "table", "pos", "length"},
			Types:    cacheTypes,
			Attrs:    []ir.AttrDecl{scaleAttr},
			Infer:    inferPaged,
			Scratch:  pagedAttentionScratch,
		},
		func(c *ir.Call) error { return pagedAttention(c, arithmetic32) },
		func(c *ir.Call) error { return pagedAttention(c, arithmetic64) },
		"pair of query and position in the blocks of its row",
		func(n *ir.Node) int {
			d := headDims(n)
			return d.b * d.h * d.q * d.keys * n.In[3].Spec.Shape[1]
		},
	),
}

func inferCached(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := inferHeads(n)
	if err != nil {
		return nil, err
	}
	d, k := headDims(n), n.In[1].Spec.Shape
	if k[0] != d.b {
		return nil, fmt.Errorf("q has %d batches, k and v have %d", d.b, k[0])
	}
	return []ir.Spec{{DType: dtype, Shape: d.result()}}, checkPositions(n, 3, d.b)
}

func inferPaged(n *ir.Node) ([]ir.Spec, error) {
	dtype, err := inferHeads(n)
	if err != nil {
		return nil, err
	}
	d := headDims(n)
	if err := checkTable(n, 3, d.b, n.In[1].Spec.Shape); err != nil {
		return nil, err
	}
	return []ir.Spec{{DType: dtype, Shape: d.result()}}, checkPositions(n, 4, d.b)
}

func cachedAttention[T float](c *ir.Call, a *attentionArithmetic[T]) error {
	d := headDims(c.Node)
	capacity := d.keys
	rows, err := sequences(c, 3, d.b, d.q, capacity)
	if err != nil {
		return err
	}
	d.keys = longest(rows)
	return attend(c, a, d, func(row *attentionRow[T], b, g, i int) ([]keyRun, int) {
		visible := rows[b].visible(i)
		return append(row.runs[:0], keyRun{0, visible, (b*d.g + g) * capacity}), visible
	})
}

func pagedAttention[T float](c *ir.Call, a *attentionArithmetic[T]) error {
	d, table := headDims(c.Node), tableOf(c, 3, 1)
	rows, err := sequences(c, 4, d.b, d.q, table.capacity())
	if err != nil {
		return err
	}
	for b, row := range rows {
		if err := table.check(b, row); err != nil {
			return err
		}
	}
	d.keys = longest(rows)
	return attend(c, a, d, func(row *attentionRow[T], b, g, i int) ([]keyRun, int) {
		visible, runs := rows[b].visible(i), row.runs[:0]
		for lo := 0; lo < visible; lo += table.size {
			at := table.block(b, lo/table.size)*d.g + g
			runs = append(runs, keyRun{lo, min(lo+table.size, visible), at * table.size})
		}
		return runs, visible
	})
}
