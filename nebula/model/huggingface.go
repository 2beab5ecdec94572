package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"forgekernel/forge/textfile"
	"forgekernel/forge/weights"
)

// hfConfig is what a config.json of transformers says, of all architectures that
// are supported. What is absent is zero, which is no legal size; where absence has
// another meaning the field is a pointer.
type hfConfig struct {
	Architectures []string `json:"architectures"`
	Vocab         int      `json:"vocab_size"`
	Tied          *bool    `json:"tie_word_embeddings"`

	Hidden        int      `json:"hidden_size"`
	Layers        int      `json:"num_hidden_layers"`
	Heads         int      `json:"num_attention_heads"`
	KVHeads       *int     `json:"num_key_value_heads"`
	HeadDim       *int     `json:"head_dim"`
	FF            int      `json:"intermediate_size"`
	Context       int      `json:"max_position_embeddings"`
	RMSEps        *float64 `json:"rms_norm_eps"`
	Activation    *string  `json:"hidden_act"`
	AttentionBias bool     `json:"attention_bias"`
	MLPBias       bool     `json:"mlp_bias"`
	Window        *int     `json:"sliding_window"`
	UseWindow     bool     `json:"use_sliding_window"`
	Partial       *float64 `json:"partial_rotary_factor"`

	RopeTheta      *float64 `json:"rope_theta"`
	RopeScaling    *hfRope  `json:"rope_scaling"`
	RopeParameters *hfRope  `json:"rope_parameters"` // in place of these two, from version 5 on

	GPTHidden     int      `json:"n_embd"`
	GPTLayers     int      `json:"n_layer"`
	GPTHeads      int      `json:"n_head"`
	GPTContext    int      `json:"n_positions"`
	GPTFF         *int     `json:"n_inner"`
	GPTEps        *float64 `json:"layer_norm_epsilon"`
	GPTActivation *string  `json:"activation_function"`
	GPTScale      *bool    `json:"scale_attn_weights"`
	GPTByLayer    bool     `json:"scale_attn_by_inverse_layer_idx"`
}

// hfRope is rope_scaling or rope_parameters.
type hfRope struct {
	Type    string   `json:"rope_type"`
	OldType string   `json:"type"`
	Theta   *float64 `json:"rope_theta"`
	Factor  float64  `json:"factor"`
	Partial *float64 `json:"partial_rotary_factor"`

	Original   *int     `json:"original_max_position_embeddings"`
	LowFactor  float64  `json:"low_freq_factor"`
	HighFactor float64  `json:"high_freq_factor"`
	Attention  *float64 `json:"attention_factor"`
	BetaFast   *float64 `json:"beta_fast"`
	BetaSlow   *float64 `json:"beta_slow"`
	MScale     *float64 `json:"mscale"`
	MScaleAll  *float64 `json:"mscale_all_dim"`
	Truncate   *bool    `json:"truncate"`
}

// hfArchitectures are the architectures of a config.json that are supported.
var hfArchitectures = architectures[*hfConfig]{
	{"LlamaForCausalLM", hfLlama, llamaHF}, // also SmolLM
	{"MistralForCausalLM", hfMistral, llamaHF},
	{"Qwen2ForCausalLM", hfQwen2, llamaHF},
	{"GPT2LMHeadModel", hfGPT2, gpt2HF},
}

// openFolder opens a folder in the layout of Hugging Face.
func openFolder(path, ref string) (*Model, error) {
	raw, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	c, names, err := parseHF(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", path, err)
	}
	file, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	if names == gpt2HF {
		names = gpt2Names(file)
	}
	return openCheckpoint(path, ref, c, &checkpoint{file, names})
}

func readConfig(path string) ([]byte, error) {
	folder, err := weights.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Read("config.json", maxConfig)
}

// parseHF reads a config.json.
func parseHF(raw []byte) (Config, *naming, error) {
	var h hfConfig
	raw, err := textfile.Decode(raw)
	if err == nil {
		err = textfile.JSONError(raw, json.Unmarshal(raw, &h))
	}
	if err != nil {
		return Config{}, nil, err
	}
	if len(h.Architectures) != 1 {
		return Config{}, nil, fmt.Errorf("architectures is %q; it must name one", h.Architectures)
	}
	return hfArchitectures.read(h.Architectures[0], &h)
}

// or is the value of a field, or what its absence means.
func or[T any](field *T, absent T) T {
	if field == nil {
		return absent
	}
	return *field
}

// rope reads rotary positions in the forms of all versions.
func (h *hfConfig) rope() (*Rope, error) {
	s := h.RopeParameters
	if s == nil {
		s = h.RopeScaling
	}
	if s == nil {
		s = &hfRope{}
	}
	if or(h.Partial, 1) != 1 || or(s.Partial, 1) != 1 {
		return nil, errors.New("partial_rotary_factor is not 1: heads that turn in part are not supported")
	}
	r := &Rope{Base: or(s.Theta, or(h.RopeTheta, 10000))}
	kind := s.Type
	if kind == "" {
		kind = s.OldType
	}
	switch kind {
	case "", "default", "dynamic": // the last changes frequencies beyond the context only
		return r, nil
	case "linear":
		r.Scaling, r.Factor = Linear, s.Factor
		return r, nil
	case "llama3":
		r.Scaling, r.Factor, r.Original = Llama3, s.Factor, or(s.Original, 0)
		r.LowFactor, r.HighFactor = s.LowFactor, s.HighFactor
		return r, nil
	case "yarn":
		h.yarn(r, s)
		return r, nil
	}
	return nil, fmt.Errorf("rope type %q is not supported; these are: default, dynamic, linear, llama3, yarn", kind)
}

// yarn fills in what absence means.
func (h *hfConfig) yarn(r *Rope, s *hfRope) {
	r.Scaling, r.Factor, r.Original = YaRN, s.Factor, or(s.Original, h.Context)
	r.BetaFast, r.BetaSlow = or(s.BetaFast, 32), or(s.BetaSlow, 1)
	r.Untruncated = !or(s.Truncate, true)
	switch {
	case s.Attention != nil:
		r.Attention = *s.Attention
	case or(s.MScale, 0) != 0 && or(s.MScaleAll, 0) != 0:
		r.Attention = yarnScale(s.Factor, *s.MScale) / yarnScale(s.Factor, *s.MScaleAll)
	default:
		r.Attention = YaRNAttention(s.Factor)
	}
}

func yarnScale(factor, m float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 0.1*m*math.Log(factor) + 1
}
