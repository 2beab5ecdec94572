package pt2

import (
	"math"
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]func(*call){
	"aten.linear.default": linear, "aten.addmm.default": addmm, "aten.addmv.default": addmm, "aten.baddbmm.default": addmm,
	"aten.mm.default": product("self", "mat2"), "aten.bmm.default": product("self", "mat2"), "aten.mv.default": product("self", "vec"),
	"aten.matmul.default": product("self", "other"), "aten.dot.default": product("self", "tensor"), "aten.outer.default": outer,
	"aten.scaled_dot_product_attention.default": attention, "aten._scaled_dot_product_flash_attention_for_cpu.default": attention,
	"aten._scaled_dot_product_efficient_attention.default": attention, "aten._scaled_dot_product_flash_attention.default": attention,
})

// An einsum of one operand may only permute it.
var _ = registerViews(map[string]func(*call){"aten.einsum.default": einsum})

// linear has its weight as [out, in].
func linear(c *call) {
	x, w := c.tensor("input"), c.tensor("weight")
	var v *ir.Value
	if w.Spec.Rank() == 2 {
		v = c.matMul(x, c.Swap(w, 0, 1))
	} else {
		v = c.matMul(x, w)
	}
	if bias := c.optional("bias"); bias != nil {
		v = c.Add(v, bias)
	}
	c.set(0, v)
}

// addmm is beta self + alpha a b.
func addmm(c *call) {
	names := map[string][2]string{"aten.addmm.default": {"mat1", "mat2"}, "aten.addmv.default": {"mat", "vec"}, "aten.baddbmm.default": {"batch1", "batch2"}}
	name := names[c.target()]
	v := c.matMul(c.tensor(name[0]), c.tensor(name[1]))
	if alpha := c.float("alpha", 1); alpha != 1 {
		v = c.Scale(v, alpha)
	}
	bias := c.tensor("self")
	switch beta := c.float("beta", 1); beta {
	case 0:
		c.set(0, v)
		return
	case 1:
	default:
		bias = c.Scale(bias, beta)
	}
	c.set(0, c.Add(v, bias))
}

func product(a, b string) func(*call) {
	return func(c *call) { c.set(0, c.matMul(c.tensor(a), c.tensor(b))) }
}

// matMul multiplies as NumPy does: a vector is a row on the left and a column on the
// right, and its dimension is left out of the result.
func (c *call) matMul(a, b *ir.Value) *ir.Value {
	row, column := a.Spec.Rank() == 1, b.Spec.Rank() == 1
	if row {
		a = c.Reshape(a, 1, a.Spec.Shape[0])
	}
	if column {
		b = c.Reshape(b, b.Spec.Shape[0], 1)
	}
	if !a.Spec.DType.IsFloat() {
		c.Fail("products of %v are not supported", a.Spec.DType)
	}
	v := c.Op("matmul", nil, a, unrepeated(b, a))
	n := v.Spec.Rank()
	shape := slices.Clone(v.Spec.Shape[:n-2])
	if !row {
		shape = append(shape, v.Spec.Shape[n-2])
	}
	if !column {
		shape = append(shape, v.Spec.Shape[n-1])
	}
	return c.Reshape(v, shape...)
}

// unrepeated is the matrix that v repeats for each batch of the other operand, as a
// decomposed linear layer writes its weight; products repeat it themselves.
func unrepeated(v, other *ir.Value) *ir.Value {
	n := v.Spec.Rank()
	if v.Def == nil || v.Def.Op.Name != "expand" || !slices.Equal(v.Def.In[0].Spec.Shape, v.Spec.Shape[n-2:]) || other.Spec.Rank() != n || !slices.Equal(other.Spec.Shape[:n-2], v.Spec.Shape[:n-2]) {
		return v
	}
	return v.Def.In[0]
}

func outer(c *call) {
	a, b := c.tensor("self"), c.tensor("vec2")
	c.set(0, c.Mul(c.Reshape(a, a.Spec.Elements(), 1), c.Reshape(b, 1, b.Spec.Elements())))
}

func einsum(c *call) {
	c.argument("path") // the order of products, which changes roundings only
	c.set(0, c.Einsum(c.str("equation", ""), c.allTensors("tensors")...))
}

// attention takes heads in all dimensions before the last two.
func attention(c *call) {
	if c.float("dropout_p", 0) != 0 {
		c.refuse("dropout_p drops elements at random")
		return
	}
	if c.flag("return_debug_mask", false) || c.flag("compute_log_sumexp", false) {
		c.note("%s: only the first result is given", c.describe(c.node))
	}
	q, k, v := c.tensor("query"), c.tensor("key"), c.tensor("value")
	mask := c.optional("attn_mask")
	if mask == nil {
		mask = c.optional("attn_bias")
	}
	shape := q.Spec.Shape
	if len(shape) < 2 || k.Spec.Rank() != len(shape) || v.Spec.Rank() != len(shape) {
		c.Fail("the ranks of %v, %v and %v differ", q.Spec, k.Spec, v.Spec)
	}
	attrs := ir.Attrs{"causal": c.flag("is_causal", false), "scale": c.float("scale", 1/math.Sqrt(float64(shape[len(shape)-1])))}
	c.checkGroups(q, k)
	in := []*ir.Value{c.fourDims(q), c.fourDims(k), c.fourDims(v)}
	if mask != nil {
		in = append(in, c.mask(mask, q, k))
	}
	out := c.Op("sdpa", attrs, in...)
	result := slices.Clone(shape)
	result[len(result)-1] = v.Spec.Shape[len(shape)-1]
	c.set(0, c.Reshape(out, result...))
}

// checkGroups refuses fewer key heads than query heads unless that is asked for; the
// operator would broadcast otherwise.
func (c *call) checkGroups(q, k *ir.Value) {
	grouped := c.flag("enable_gqa", false)
	n := q.Spec.Rank()
	for i := range n - 2 {
		if a, b := q.Spec.Shape[i], k.Spec.Shape[i]; a != b && !(grouped && i == n-3) {
			c.Fail("queries %v and keys %v differ in dimension %d", q.Spec, k.Spec, i)
		}
	}
}

// fourDims gives v the form [batch, heads, rows, channels].
func (c *call) fourDims(v *ir.Value) *ir.Value {
	s := v.Spec.Shape
	n := len(s)
	switch {
	case n == 2:
		return c.Reshape(v, 1, 1, s[0], s[1])
	case n == 3:
		return c.Reshape(v, 1, s[0], s[1], s[2])
	case n > 4:
		return c.Reshape(v, formula.Product(s[:n-3]), s[n-3], s[n-2], s[n-1])
	}
	return v
}

// mask broadcasts to the scores; with more than two batch dimensions it is written
// out.
func (c *call) mask(m, q, k *ir.Value) *ir.Value {
	rank := q.Spec.Rank()
	if m.Spec.DType != tensor.Bool {
		m = c.Cast(m, q.Spec.DType)
	}
	if rank <= 4 && m.Spec.Rank() <= 4 {
		if rank == 3 && m.Spec.Rank() == 3 || m.Spec.Rank() <= 2 || rank == 4 {
			return m
		}
	}
	full := slices.Clone(q.Spec.Shape)
	full[rank-1] = k.Spec.Shape[rank-2]
	return c.fourDims(c.Expand(m, full...))
}
