package conformance

import (
	"iter"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// Programs are the graphs of the operator cases that [Run] compiles, for backends
// that compile many at once faster than one by one: of the named operators, or of
// all when there are no names.
func Programs(names ...string) iter.Seq2[*ir.Graph, error] {
	return func(yield func(*ir.Graph, error) bool) {
		for _, o := range op.Registry.All() {
			if o.Class == ir.Transfer || len(names) > 0 && !slices.Contains(names, o.Name) {
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
