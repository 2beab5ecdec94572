package conformance

import (
	"iter"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// Programs are the graphs of the operator cases that [Run] compiles, for backends
// that compile many at once faster than one by one.
func Programs() iter.Seq2[*ir.Graph, error] {
	return func(yield func(*ir.Graph, error) bool) {
		for _, o := range op.Registry.All() {
			if o.Class == ir.Transfer {
				continue
			}
			for c := range casesOf(o) {
				if !yield(c.graph()) {
					return
				}
			}
		}
	}
}
