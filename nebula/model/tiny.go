package model

// tiny is the decoder of textbooks: learned positions, layer norms before
// attention and feed-forward layer, GELU in its tanh form, no biases in linear
// layers. It has no file format: its weights are always seeded.
var tiny = &family{name: "tiny", layerNorm: true, bias: noBias}

// TinyDecoder is a configuration of the tiny family that runs anywhere at once:
// with 6 heads of 8 channels on 3 KV heads, TP 1, 2, 3 and 6 are legal.
func TinyDecoder() Config {
	return Config{
		Family: "tiny", Vocab: 260, Hidden: 48, Layers: 4, Heads: 6, KVHeads: 3, HeadDim: 8,
		FF: 128, Context: 256, Eps: 1e-5,
	}
}
