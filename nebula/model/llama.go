package model

import "fmt"

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
func hfGated(h *hfConfig) (Config, error) {
	err := missing("vocab_size", h.Vocab, "hidden_size", h.Hidden, "num_hidden_layers", h.Layers, "num_attention_heads", h.Heads,
		"intermediate_size", h.FF, "max_position_embeddings", h.Context, "rms_norm_eps", h.RMSEps)
	if err != nil {
		return Config{}, err
	}
	if act := or(h.Activation, "silu"); act != "silu" {
		return Config{}, fmt.Errorf("hidden_act is %q; only silu is supported", act)
	}
	if or(h.MLPBias, false) {
		return Config{}, fmt.Errorf("mlp_bias is true: feed-forward layers with a bias are not supported")
	}
	if *h.Heads < 1 {
		return Config{}, fmt.Errorf("num_attention_heads is %d", *h.Heads)
	}
	r, err := h.rope()
	return Config{
		Family: llama.name, Vocab: *h.Vocab, Hidden: *h.Hidden, Layers: *h.Layers,
		Heads: *h.Heads, KVHeads: or(h.KVHeads, *h.Heads), HeadDim: or(h.HeadDim, *h.Hidden / *h.Heads),
		FF: *h.FF, Context: *h.Context, Eps: *h.RMSEps, Rope: r, Tied: or(h.Tied, false),
	}, err
}

func hfLlama(h *hfConfig) (Config, error) {
	c, err := hfGated(h)
	c.QKVBias, c.OutBias = or(h.AttentionBias, false), or(h.AttentionBias, false)
	return c, err
}

// hfMistral ends the context at the window of its attention: up to there the
// window changes nothing.
func hfMistral(h *hfConfig) (Config, error) {
	if err := missing("num_key_value_heads", h.KVHeads); err != nil {
		return Config{}, err
	}
	c, err := hfGated(h)
	c.Context = min(c.Context, or(h.Window, c.Context))
	return c, err
}

// hfQwen2 reads a configuration whose window is used only when it says so.
func hfQwen2(h *hfConfig) (Config, error) {
	if err := missing("num_key_value_heads", h.KVHeads); err != nil {
		return Config{}, err
	}
	c, err := hfGated(h)
	c.QKVBias = true
	if or(h.UseWindow, false) {
		c.Context = min(c.Context, or(h.Window, c.Context))
	}
	return c, err
}
