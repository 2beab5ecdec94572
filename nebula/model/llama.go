package model

import (
	"errors"
	"fmt"
)

// llama has rotary positions, RMS norms and a gated feed-forward layer. Llama,
// Mistral, Qwen2 and SmolLM are configurations of it.
var llama = &family{name: "llama", rotary: true, gated: true, bias: biasByConfig}

var llamaHF = &naming{
	layer: "model.layers.%d.",
	parts: map[string]string{
		embedding: "model.embed_tokens", finalNorm: "model.norm", head: "lm_head",
		attentionNorm: "input_layernorm", attentionQ: "self_attn.q_proj", attentionK: "self_attn.k_proj",
		attentionV: "self_attn.v_proj", attentionOutput: "self_attn.o_proj",
		ffNorm: "post_attention_layernorm", ffGate: "mlp.gate_proj", ffUp: "mlp.up_proj", ffDown: "mlp.down_proj",
	},
	other: []string{".rotary_emb.inv_freq"},
}

var llamaGGUF = &naming{
	layer: "blk.%d.",
	parts: map[string]string{
		embedding: "token_embd", finalNorm: "output_norm", head: "output",
		attentionNorm: "attn_norm", attentionQ: "attn_q", attentionK: "attn_k", attentionV: "attn_v", attentionOutput: "attn_output",
		ffNorm: "ffn_norm", ffGate: "ffn_gate", ffUp: "ffn_up", ffDown: "ffn_down",
	},
	other: []string{ropeFactors},
}

// hfGated reads what Llama, Mistral and Qwen2 have in common.
func hfGated(h *hfConfig, kvHeads int) (Config, error) {
	switch act := or(h.Activation, "silu"); {
	case act != "silu":
		return Config{}, fmt.Errorf("hidden_act is %q; only silu is supported", act)
	case h.MLPBias:
		return Config{}, errors.New("mlp_bias is true: feed-forward layers with a bias are not supported")
	case h.Heads < 1:
		return Config{}, fmt.Errorf("num_attention_heads is %d", h.Heads)
	}
	r, err := h.rope()
	return Config{
		Family: llama.name, Vocab: h.Vocab, Hidden: h.Hidden, Layers: h.Layers,
		Heads: h.Heads, KVHeads: or(h.KVHeads, kvHeads), HeadDim: or(h.HeadDim, h.Hidden/h.Heads),
		FF: h.FF, Context: h.Context, Eps: or(h.RMSEps, 1e-6), Rope: r, Tied: or(h.Tied, false),
	}, err
}

func hfLlama(h *hfConfig) (Config, error) {
	c, err := hfGated(h, h.Heads)
	c.QKVBias, c.OutBias = h.AttentionBias, h.AttentionBias
	return c, err
}

// hfMistral ends the context at the window of its attention: up to there the
// window changes nothing.
func hfMistral(h *hfConfig) (Config, error) {
	c, err := hfGated(h, 8)
	c.Context = min(c.Context, or(h.Window, c.Context))
	return c, err
}

// hfQwen2 has a window only where it says that it uses it.
func hfQwen2(h *hfConfig) (Config, error) {
	c, err := hfGated(h, 32)
	c.QKVBias = true
	if h.UseWindow {
		c.Context = min(c.Context, or(h.Window, 4096))
	}
	return c, err
}
