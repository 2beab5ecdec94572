package suite

import (
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

const (
	vocabulary = 256
	positions  = tensor.I64
)

// visionTextFusion adds what a convolution sees in an image to what an embedding
// and a norm make of its text, and classifies the sum.
func visionTextFusion(b *builder) *ir.Value {
	const batch, side, channels, tokens, width, classes = 4, 32, 16, 16, 64, 10
	image := b.input("image", ir.F32(batch, 3, side, side))
	text := b.input("text", ir.Spec{DType: tensor.I64, Shape: []int{batch, tokens}})

	seen := b.named("conv", "conv2d", ir.Attrs{"padding": []int{1, 1, 1, 1}}, image,
		b.weight("conv_w", 0.2, channels, 3, 3, 3), b.weight("conv_b", 0.1, channels))
	seen = b.named("seen", "mean", ir.Attrs{"axes": []int{2, 3}}, b.node("relu", nil, seen))
	seen = b.linear("image_proj", seen, channels, width)

	read := b.named("embedded", "gather", nil, b.weight("embedding", 1, vocabulary, width), text)
	read = b.named("read", "mean", ir.Attrs{"axes": []int{1}}, b.layerNorm("text_norm", read, width))
	read = b.linear("text_proj", read, width, width)

	joined := b.geluTanh("act", b.linear("hidden", b.named("joined", "add", nil, seen, read), width, width))
	return b.linear("classes", joined, width, classes)
}
