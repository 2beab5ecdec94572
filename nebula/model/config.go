package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"forgekernel/forge/textfile"
	"forgekernel/nebula/shard"
)

// Limits of a configuration. They keep sizes that are computed from untrusted
// numbers within what an int holds.
const (
	maxConfig   = 4 << 20 // bytes of JSON; a vocabulary's worth of ids may stand in a config.json
	maxWidth    = 1 << 20 // of the hidden state, heads together and feed-forward layer
	maxLayers   = 1 << 12
	maxVocab    = 1 << 24
	maxContext  = 1 << 24
	maxRopeBase = 1e12
)

// Config is what determines a decoder's graph, apart from its weights.
type Config struct {
	// Family is "tiny", "gpt2" or "llama".
	Family  string `json:"family"`
	Vocab   int    `json:"vocab"`
	Hidden  int    `json:"hidden"` // channels of the hidden state
	Layers  int    `json:"layers"`
	Heads   int    `json:"heads"`
	KVHeads int    `json:"kv_heads"`
	HeadDim int    `json:"head_dim"`
	FF      int    `json:"ff"`
	// Context is the largest number of tokens of a sequence. A model with
	// sliding-window attention has its window here: up to that length the window
	// changes nothing, and longer sequences are refused.
	Context int `json:"context"`
	// Eps keeps the root in the norms from zero.
	Eps float64 `json:"eps"`
	// Rope is how positions turn queries and keys; nil for learned positions.
	Rope *Rope `json:"rope,omitempty"`
	// Tied says that the head is the embedding.
	Tied bool `json:"tied,omitempty"`
	// QKVBias and OutBias say that the projections of attention to and from heads
	// have a bias, in the llama family.
	QKVBias bool `json:"qkv_bias,omitempty"`
	OutBias bool `json:"out_bias,omitempty"`
}

// ParseConfig reads the JSON form of a configuration and checks it.
func ParseConfig(raw []byte) (Config, error) {
	var c Config
	if len(raw) > maxConfig {
		return c, fmt.Errorf("the configuration has %d bytes; it may have %d", len(raw), maxConfig)
	}
	raw, err := textfile.Decode(raw)
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", textfile.JSONError(raw, err))
	}
	if _, err := d.Token(); err != io.EOF {
		return Config{}, errors.New("configuration: there is more after its end")
	}
	return c, c.Check()
}

// Check says whether a decoder can have this configuration.
func (c Config) Check() error {
	f, err := familyOf(c.Family)
	if err != nil {
		return err
	}
	for _, n := range []struct {
		name       string
		have, most int
	}{
		{"vocab", c.Vocab, maxVocab}, {"hidden", c.Hidden, maxWidth}, {"layers", c.Layers, maxLayers},
		{"heads", c.Heads, maxWidth}, {"kv_heads", c.KVHeads, maxWidth}, {"head_dim", c.HeadDim, maxWidth},
		{"ff", c.FF, maxWidth}, {"context", c.Context, maxContext}, {"heads * head_dim", c.Heads * c.HeadDim, maxWidth},
	} {
		if n.have < 1 || n.have > n.most {
			return fmt.Errorf("configuration: %s is %d; it must be 1 to %d", n.name, n.have, n.most)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("configuration: %d heads cannot share %d kv_heads evenly", c.Heads, c.KVHeads)
	case !(c.Eps >= 0) || math.IsInf(c.Eps, 1):
		return fmt.Errorf("configuration: eps is %v; it must be finite and not negative", c.Eps)
	case f.rotary && c.Rope == nil:
		return fmt.Errorf("configuration: the %s family needs rope", c.Family)
	case !f.rotary && c.Rope != nil:
		return fmt.Errorf("configuration: the %s family has learned positions and no rope", c.Family)
	case f.bias != biasByConfig && (c.QKVBias || c.OutBias):
		return fmt.Errorf("configuration: qkv_bias and out_bias are for the llama family; the %s family has its biases or none", c.Family)
	}
	if c.Rope != nil {
		if err := c.Rope.check(c.HeadDim); err != nil {
			return fmt.Errorf("configuration: rope: %w", err)
		}
	}
	return nil
}

// Dims are the numbers that tensor and pipeline parallelism divide.
func (c Config) Dims() shard.Dims {
	return shard.Dims{Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads, FF: c.FF, Vocab: c.Vocab}
}
