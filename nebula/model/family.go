package model

import (
	"fmt"
	"strings"
)

// family is what a configuration's family fixes: which of the shared pieces of a
// decoder its layers are made of.
type family struct {
	name      string
	rotary    bool // rotary positions; else a learned table
	layerNorm bool // with bias; else RMS norms
	gated     bool // down(silu(gate(x)) * up(x)); else down(gelu(up(x)))
	bias      biasRule
}

// biasRule says which linear layers have a bias.
type biasRule int

const (
	noBias biasRule = iota
	everyBias
	biasByConfig // attention's as the configuration says
)

var families = []*family{tiny, gpt2, llama}

func familyOf(name string) (*family, error) {
	var names []string
	for _, f := range families {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
	return nil, fmt.Errorf("configuration: family %q is unknown; there are %s", name, strings.Join(names, ", "))
}

// biases says which linear layers of a layer have a bias.
func (f *family) biases(c Config) (qkv, out, ff bool) {
	if f.bias == biasByConfig {
		return c.QKVBias, c.OutBias, false
	}
	every := f.bias == everyBias
	return every, every, every
}
