package engine

import (
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// WithDefaults is what an engine of a model makes of options.
func (o Options) WithDefaults(c model.Config) Options {
	s := o.sizes(shard.Layout{}, c)
	return Options{
		BlockSize: s.blockSize, Blocks: s.blocks, Context: s.context, MaxRows: s.maxRows, MaxTokens: s.maxTokens, DType: s.dtype, Regions: s.regions, Kernels: o.Kernels, Ready: o.Ready,
	}
}
