package pt2

import (
	"math"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// casts are the targets that may change the element type of what they pass on.
var casts = map[string]bool{
	"aten.to.dtype": true, "aten.to.dtype_layout": true, "aten.to.device": true, "aten._to_copy.default": true, "aten.type_as.default": true, "prims.convert_element_type.default": true,
}

// wrapNarrow brings results of integer types that are held in a wider one back into
// their range, as arithmetic of so many bits does. Movements of elements need none.
func (c *call) wrapNarrow() {
	if views[c.target()] && !casts[c.target()] {
		return
	}
	for i, v := range c.out {
		meta := c.scope.graph.Tensors[c.results[i]]
		if v == nil || v.computed == nil || v.storage != nil || meta == nil || meta.DType.Exact() || !meta.DType.Supported() || v.computed.Spec.DType.IsFloat() {
			continue
		}
		if meta.DType.Width() == tensor.I64.Size() {
			c.refusef("arithmetic of %v is not supported", meta.DType)
			return
		}
		c.set(i, c.wrap(v.computed, meta.DType.Width()*8, meta.DType.Signed()))
	}
}

// wrap keeps the lowest bits of integers.
func (c *call) wrap(v *ir.Value, bits int, signed bool) *ir.Value {
	size := math.Ldexp(1, bits)
	if !signed {
		return c.modulo(v, c.Number(v, size))
	}
	half := size / 2
	return c.Shift(c.modulo(c.Shift(v, half), c.Number(v, size)), -half)
}
