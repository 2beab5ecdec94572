package script

import "forgekernel/forge/ir"

// scalars are the specs of n scalar inputs.
func scalars(n int) []ir.Spec {
	specs := make([]ir.Spec, n)
	for i := range specs {
		specs[i] = ir.F32()
	}
	return specs
}
