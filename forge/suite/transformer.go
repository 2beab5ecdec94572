package suite

import "forgekernel/forge/ir"

// blockSize is the shape of a transformer block.
type blockSize struct{ batch, tokens, width, heads, hidden int }

// transformerBlock is x + attention(norm(x)), then y + feedForward(norm(y)). The
// projections to queries, keys and values are separate linear layers.
func transformerBlock(s blockSize) func(b *builder) *ir.Value {
	return func(b *builder) *ir.Value {
		x := b.input("x", ir.F32(s.batch, s.tokens, s.width))
		n := b.layerNorm("norm1", x, s.width)
		heads := func(name string) *ir.Value {
			return b.splitHeads(b.linear(name, n, s.width, s.width), s.batch, s.tokens, s.heads, s.width/s.heads)
		}
		a := b.named("attention", "sdpa", ir.Attrs{"causal": true}, heads("q"), heads("k"), heads("v"))
		y := b.named("y", "add", nil, x, b.linear("proj", b.joinHeads(a, s.batch, s.tokens, s.width), s.width, s.width))
		h := b.geluTanh("act", b.linear("up", b.layerNorm("norm2", y, s.width), s.width, s.hidden))
		return b.named("z", "add", nil, y, b.linear("down", h, s.hidden, s.width))
	}
}

// splitHeads turns [batch, tokens, heads*size] into [batch, heads, tokens, size].
func (b *builder) splitHeads(x *ir.Value, batch, tokens, heads, size int) *ir.Value {
	x = b.node("reshape", ir.Attrs{"shape": []int{batch, tokens, heads, size}}, x)
	return b.node("transpose", ir.Attrs{"perm": []int{0, 2, 1, 3}}, x)
}

// joinHeads is the inverse of splitHeads.
func (b *builder) joinHeads(x *ir.Value, batch, tokens, width int) *ir.Value {
	x = b.node("transpose", ir.Attrs{"perm": []int{0, 2, 1, 3}}, x)
	return b.node("reshape", ir.Attrs{"shape": []int{batch, tokens, width}}, x)
}

// llamaBlock normalises by the root mean square, turns queries and keys by their
// positions, shares each key head among four query heads, and gates the
// feed-forward layer with SiLU. No linear layer has a bias.
func llamaBlock(b *builder) *ir.Value {
	const batch, tokens, width, heads, keyHeads, size, hidden = 1, 32, 256, 8, 2, 32, 688
	linear := func(name string, x *ir.Value, in, out int) *ir.Value {
		return b.named(name, "linear", nil, x, b.weight(name+"_w", 0.06, in, out))
	}
	norm := func(name string, x *ir.Value) *ir.Value {
		return b.named(name, "rms_norm", nil, x, b.scale(name+"_scale", width))
	}
	x := b.input("x", ir.F32(batch, tokens, width))
	pos := b.input("pos", ir.Spec{DType: positions, Shape: []int{batch}})
	n := norm("norm1", x)
	turned := func(name string, count int) *ir.Value {
		h := b.splitHeads(linear(name, n, width, count*size), batch, tokens, count, size)
		return b.named(name+"_turned", "rope", nil, h, pos)
	}
	q, k := turned("q", heads), turned("k", keyHeads)
	v := b.splitHeads(linear("v", n, width, keyHeads*size), batch, tokens, keyHeads, size)
	a := b.named("attention", "sdpa", ir.Attrs{"causal": true}, q, k, v)
	y := b.named("y", "add", nil, x, linear("proj", b.joinHeads(a, batch, tokens, width), width, width))
	n = norm("norm2", y)
	gate := b.named("gated", "silu", nil, linear("gate", n, width, hidden))
	h := b.named("h", "mul", nil, gate, linear("up", n, width, hidden))
	return b.named("z", "add", nil, y, linear("down", h, hidden, width))
}
