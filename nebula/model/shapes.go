package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shapes are configurations of known models, to be seeded: for measurements, which
// depend on sizes and not on what weights say.
var shapes = map[string]Config{
	"tiny": TinyDecoder(),
	"smollm2-135m": {
		Family: "llama", Vocab: 49152, Hidden: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, FF: 1536,
		Context: 8192, Eps: 1e-5, Rope: &Rope{Base: 1e5}, Tied: true,
	},
	"gpt2": {
		Family: "gpt2", Vocab: 50257, Hidden: 768, Layers: 12, Heads: 12, KVHeads: 12, HeadDim: 64, FF: 3072,
		Context: 1024, Eps: 1e-5, Tied: true,
	},
	"llama-3.2-1b": {
		Family: "llama", Vocab: 128256, Hidden: 2048, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64, FF: 8192,
		Context: 131072, Eps: 1e-5, Rope: llama3Rope(32), Tied: true,
	},
	"llama-3.1-8b": {
		Family: "llama", Vocab: 128256, Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128, FF: 14336,
		Context: 131072, Eps: 1e-5, Rope: llama3Rope(8),
	},
}

func llama3Rope(factor float64) *Rope {
	return &Rope{Base: 5e5, Scaling: Llama3, Factor: factor, Original: 8192, LowFactor: 1, HighFactor: 4}
}

// Shape is the configuration of a known model by name, such as "llama-3.2-1b".
func Shape(name string) (Config, error) {
	c, ok := shapes[name]
	if !ok {
		return c, fmt.Errorf("no model is known as %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(shapes)), ", "))
	}
	if c.Rope != nil {
		rope := *c.Rope
		c.Rope = &rope
	}
	return c, nil
}
