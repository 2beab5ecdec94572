package op

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// scratchOf is the size of elements that a kernel keeps for itself. Arithmetic
// on 16-bit types is done in float32.
func scratchOf(dtype tensor.DType, elements int) int64 {
	return int64(max(dtype.Size(), tensor.F32.Size())) * int64(elements)
}

// attentionScratch is a row of scores, one per key.
func attentionScratch(n *ir.Node) int64 {
	return scratchOf(n.In[0].Spec.DType, headDims(n).keys)
}

// pagedAttentionScratch is a row of scores, one per position in the blocks of a
// row.
func pagedAttentionScratch(n *ir.Node) int64 {
	return scratchOf(n.In[0].Spec.DType, headDims(n).keys*n.In[3].Spec.Shape[1])
}

// convScratch is the pixels that a horizontal stride picks for one row of one
// output channel; without a stride they are read where they stand.
func convScratch(n *ir.Node) int64 {
	if strides := n.Ints("stride"); strides[1] == 1 {
		return 0
	}
	return scratchOf(n.In[0].Spec.DType, product(n.In[1].Spec.Shape[1:])*n.Out[0].Spec.Shape[3])
}
