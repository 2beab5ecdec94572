package model

// llama has rotary positions, RMS norms and a gated feed-forward layer. Llama,
// Mistral, Qwen2 and SmolLM are configurations of it.
var llama = &family{name: "llama", rotary: true, gated: true, bias: biasByConfig}
