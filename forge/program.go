package forge

import "forgekernel/forge/ir"

// Program is a function compiled for inputs of known shapes. It is safe for
// concurrent use.
type Program struct {
	fn    *function
	specs []ir.Spec
}
