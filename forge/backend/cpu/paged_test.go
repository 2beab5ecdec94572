package cpu_test

import (
	"fmt"
	"testing"

	limits "forgekernel/forge/audit/bound"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestBlocksInPlace compares a few queries over caches in blocks of sizes that divide
// the keys of a kernel's own blocks, are multiples of them or neither, with float64;
// also where no block is full, and where queries do not see the last keys.
func TestBlocksInPlace(t *testing.T) {
	type decoding struct {
		name string
		in   []*tensor.Tensor
		want *tensor.Tensor
	}
	var list []decoding
	var graphs []*ir.Graph
	for i, block := range []int{0, 1, 5, 16, 24, 32, 64, 80, 128} {
		for j, pool := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
			s := attentionShape{2, 6, 2, 1 + (i+j)%3, 160, 20, 33}
			if block > 0 {
				s.keys = (160 + block - 1) / block * block
			}
			g, in := s.decode(t, pool, block)
			if block > 0 { // each block once
				for k := range in[3].Int32() {
					in[3].Int32()[k] = int32(in[3].Len() - 1 - k)
				}
			}
			in[len(in)-1].Int64()[0] = int64([]int{0, 15, 63, 130, 157}[(2*i+j)%5])
			list, graphs = append(list, decoding{fmt.Sprintf("%v in blocks of %d", pool, block), in, run(t, compile(t, interp.Reference(), g), in)[0]}), append(graphs, g)
		}
	}
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		programs, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			if err := limits.Check(graphs[i].Outputs[0], c.in, run(t, programs[i], c.in)[0], c.want); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	})
}
