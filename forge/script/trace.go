package script

import (
	"errors"

	"forgekernel/forge/ir"
)

// Trace writes the function down as a graph for inputs of the given specs.
// Calls are replaced by the callee's body. The error is an [Errors] that
// points at the expression that does not fit.
func (f *Func) Trace(scope Scope, specs []ir.Spec) (*ir.Graph, error) {
	return nil, errors.New("tracing is not built yet")
}
