package model

import (
	"errors"
	"fmt"
	"maps"

	"forgekernel/forge/weights"
)

// gpt2 has learned positions, layer norms, GELU in its tanh form, a bias in every
// linear layer, and a head that is the embedding.
var gpt2 = &family{name: "gpt2", layerNorm: true, bias: everyBias}

// qkvThirds are the parts of GPT-2's one projection to queries, keys and values.
var qkvThirds = map[string]int{attentionQ: 0, attentionK: 1, attentionV: 2}

// gpt2HF stores linear layers as [in, out], which the library calls Conv1D.
var gpt2HF = &naming{
	layer: "transformer.h.%d.",
	parts: map[string]string{
		embedding: "transformer.wte", positions: "transformer.wpe", finalNorm: "transformer.ln_f", head: "lm_head",
		attentionNorm: "ln_1", attentionQ: "attn.c_attn", attentionK: "attn.c_attn", attentionV: "attn.c_attn",
		attentionOutput: "attn.c_proj", ffNorm: "ln_2", ffUp: "mlp.c_fc", ffDown: "mlp.c_proj",
	},
	fused: qkvThirds,
	rows:  true,
	other: []string{".attn.bias", ".attn.masked_bias"}, // the causal mask
}

var gpt2GGUF = &naming{
	layer: "blk.%d.",
	parts: map[string]string{
		embedding: "token_embd", positions: "position_embd", finalNorm: "output_norm", head: "output",
		attentionNorm: "attn_norm", attentionQ: "attn_qkv", attentionK: "attn_qkv", attentionV: "attn_qkv",
		attentionOutput: "attn_output", ffNorm: "ffn_norm", ffUp: "ffn_up", ffDown: "ffn_down",
	},
	fused: qkvThirds,
}

// gpt2Names are the names in a file: its first checkpoints lack the prefix.
func gpt2Names(f *weights.File) *naming {
	if _, err := f.Weight("wte.weight"); err != nil {
		return gpt2HF
	}
	n := *gpt2HF
	n.layer, n.parts = "h.%d.", maps.Clone(n.parts)
	n.parts[embedding], n.parts[positions], n.parts[finalNorm] = "wte", "wpe", "ln_f"
	return &n
}

func hfGPT2(h *hfConfig) (Config, error) {
	if act := or(h.GPTActivation, "gelu_new"); act != "gelu_new" && act != "gelu_pytorch_tanh" {
		return Config{}, fmt.Errorf("activation_function is %q; only gelu_new is supported", act)
	}
	if !or(h.GPTScale, true) || h.GPTByLayer {
		return Config{}, errors.New("scale_attn_weights is false or scale_attn_by_inverse_layer_idx true: only the usual scale is supported")
	}
	if h.GPTHeads < 1 || h.GPTHidden%h.GPTHeads != 0 {
		return Config{}, fmt.Errorf("n_head %d does not divide n_embd %d", h.GPTHeads, h.GPTHidden)
	}
	return Config{
		Family: gpt2.name, Vocab: h.Vocab, Hidden: h.GPTHidden, Layers: h.GPTLayers,
		Heads: h.GPTHeads, KVHeads: h.GPTHeads, HeadDim: h.GPTHidden / h.GPTHeads,
		FF: or(h.GPTFF, 4*h.GPTHidden), Context: h.GPTContext, Eps: or(h.GPTEps, 1e-5), Tied: or(h.Tied, true),
	}, nil
}
