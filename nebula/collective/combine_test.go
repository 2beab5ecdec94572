package collective

import (
	"testing"

	"forgekernel/forge/backend"
)

// BenchmarkCombine is what one rank computes in an all-reduce of 4096 elements
// among two.
func BenchmarkCombine(b *testing.B) {
	for _, dtype := range dtypes {
		b.Run(dtype.String(), func(b *testing.B) {
			x, y := memory(sample(dtype, 4096, 1, 1)), memory(sample(dtype, 4096, 1, 2))
			c := newCombiner()
			for range b.N {
				c.combine(backend.Sum, dtype, x, [][]byte{x, y})
			}
		})
	}
}
