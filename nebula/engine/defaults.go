package engine

import (
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// Check says what is wrong with options for a model and a layout.
func (o Options) Check(l shard.Layout, c model.Config) error { return o.sizes(l, c).check(c) }

// WithDefaults is what an engine of a model makes of options.
func (o Options) WithDefaults(c model.Config) Options {
	s := o.sizes(shard.Layout{}, c)
	return Options{
		BlockSize: s.blockSize, Blocks: s.blocks, Context: s.context, MaxRows: s.maxRows, MaxTokens: s.maxTokens, DType: s.dtype, Regions: s.regions, Kernels: o.Kernels, Ready: o.Ready,
	}
}
