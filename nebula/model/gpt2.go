package model

// gpt2 has learned positions, layer norms, GELU in its tanh form, a bias in every
// linear layer, and a head that is the embedding.
var gpt2 = &family{name: "gpt2", layerNorm: true, bias: everyBias}
