package job

import (
	"fmt"
	"os"

	"forgekernel/display"
	"forgekernel/nebula/memory"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// FitsHere refuses ranks that together hold more than this host has: the system would
// end one of them, or another process, without a word.
func (s Spec) FitsHere(m *model.Model, ranks ...shard.Place) error {
	return s.fits(m, memory.Of(os.DirFS("/")).Most(), ranks)
}

// fits checks ranks against an amount of memory in bytes; 0 is unknown.
func (s Spec) fits(m *model.Model, most int64, ranks []shard.Place) error {
	e := s.Engine.WithDefaults(m.Config)
	var weights, cache int64
	for _, p := range ranks {
		weights += m.Config.WeightBytes(p, e.DType)
		if s.Backend != cudaBackend { // whose cache stands on the device
			cache += m.Config.CacheBytes(p, e.Blocks, e.BlockSize, e.DType)
		}
	}
	if most == 0 || weights+cache <= most {
		return nil
	}
	return fmt.Errorf("weights of %s and a cache of %s, in %v, are more than the memory of this host, %s: a smaller context, fewer requests at once and bf16 need less",
		display.FormatBytes(weights), display.FormatBytes(cache), e.DType, display.FormatBytes(most))
}
